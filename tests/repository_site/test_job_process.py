"""The keeper of the worker process beside a server."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from repository_site.operations import job_process
from repository_site.operations.job_process import JobProcess

pytestmark = pytest.mark.long


def test_no_fork_inherits_the_pipe_of_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), threading.Event()

    def slow(*_words: Any, **_options: Any) -> subprocess.Popen[bytes]:
        begun.set()
        time.sleep(0.3)
        ended.set()
        return subprocess.Popen([sys.executable, "-c", ""])

    monkeypatch.setattr(job_process, "subprocess", type("Slow", (), {"Popen": staticmethod(slow)}))
    monkeypatch.setattr(job_process, "RESTART_SECONDS", 60.0)
    keeper = JobProcess(1)
    keeper.forbid_forks_during_launches()
    keeper.start()
    assert begun.wait(60)
    child = os.fork()
    if child == 0:
        os._exit(0 if ended.is_set() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    keeper._stopping.set()
    keeper.join(60)
