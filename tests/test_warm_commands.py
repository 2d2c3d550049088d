"""Commands that start at once (`tests/warm_commands.py`) run as `manage.py` does, or not at all."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from django import get_version

from tests.server_process import Server
from tests.warm_commands import WarmCommands


@pytest.mark.long
def test_a_command_with_other_variables_is_refused(tmp_path: Path) -> None:
    """It would run with the settings of the process, and a page with a wrong variable would seem right."""
    environ = Server(tmp_path / "var", 0).environ
    commands = WarmCommands(tmp_path / "commands", environ)

    def run(*words: str, **variables: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [commands.program, *words],
            env={**environ, **variables},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    try:
        assert run("version") == run("version", PAGER="cat") == (0, f"{get_version()}\n", "")
        text = "This command has other variables than the process that runs it; start manage.py itself.\n"
        assert run("version", REPOSITORY_JOBS="1") == (1, "", text)
    finally:
        commands.end()
