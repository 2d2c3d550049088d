"""Programs of others that judge exported BPMN documents: bpmn-moddle, bpmnlint and bpmn-js. `make node` installs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
MODULES = FOLDER / "node_modules"
VIEWER = MODULES / "bpmn-js/dist/bpmn-viewer.production.min.js"


def require_judges() -> None:
    """Skip the test if the programs are missing, or fail where they are required."""
    if shutil.which("node") is None or not VIEWER.exists():
        if os.environ.get("REPOSITORY_NODE_REQUIRED"):
            pytest.fail("bpmn-moddle, bpmnlint or bpmn-js is missing; `make node` installs them.")
        pytest.skip("NO JUDGES: bpmn-moddle, bpmnlint or bpmn-js is missing; `make node` installs them.")


def judge(folder: Path) -> dict[str, dict[str, list[str]]]:
    """Return warnings of bpmn-moddle and findings of bpmnlint for each file of a folder."""
    done = subprocess.run(
        ["node", FOLDER / "judge.mjs", folder], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found: Any = json.loads(done.stdout)
    return dict(found)


def placeless(warning: str) -> str:
    """Return a warning without its place, so that it is the same for two documents."""
    return re.sub(r"\s+(line|column): \d+", "", warning)
