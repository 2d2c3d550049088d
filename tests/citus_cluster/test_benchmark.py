"""The benchmark of a cluster runs to its end, with few storages and requests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repository_site.core.environment import PROJECT_DIR
from tests.scale import only_at_full_scale

pytestmark = [
    only_at_full_scale,
    pytest.mark.server,
    pytest.mark.own_cluster,
    pytest.mark.skipif(shutil.which("wrk") is None, reason="needs wrk; `make bench` installs it"),
    pytest.mark.skipif(not os.environ.get("REPOSITORY_TEST_CITUS"), reason="needs REPOSITORY_TEST_CITUS=1"),
]


def test_the_benchmark_of_a_cluster_runs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--cluster-smoke", "--folder", str(tmp_path / "data")],
        cwd=PROJECT_DIR,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert "\n## Moving shards\n" in done.stdout, done.stderr
    assert "| Requests that failed while shards moved | at most 0 | 0.00 | yes |" in done.stdout
