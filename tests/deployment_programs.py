"""The example files of docs/how-to/deploy.md, and the programs that check them."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from repository_site.core.environment import PROJECT_DIR

FILES = PROJECT_DIR / "docs/how-to/files"
REQUIRED = "REPOSITORY_WEB_SERVER_REQUIRED"


def program(name: str, required: str = REQUIRED, installer: str = "make web-server") -> str:
    """Return the path of a program. Without it the test is skipped, or fails if the environment requires it."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        missing = f"There is no {name} on this machine; `{installer}` installs it."
        if os.environ.get(required):
            pytest.fail(missing)
        pytest.skip(missing)
    return found


def run(*command: str, **environ: str) -> str:
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **environ}
    )
    output = result.stdout + result.stderr
    assert result.returncode == 0, output
    return output
