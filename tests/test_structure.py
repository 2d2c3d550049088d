"""Import directions, and the folders that can contain code."""

from __future__ import annotations

from pathlib import Path

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

from repository_site.core.environment import PROJECT_DIR

TOP_LEVEL = {"repository_site", "facets", "elements", "release", "storage", "templates", "tests", "docs", "benchmarks"}


def test_imports_point_down_and_left() -> None:
    assert lint_imports(config_filename=str(PROJECT_DIR / "pyproject.toml"), no_cache=True) == EXIT_STATUS_SUCCESS


def test_code_is_in_known_folders() -> None:
    found = {path.relative_to(PROJECT_DIR).parts[0] for path in PROJECT_DIR.glob("*/**/*.py") if not hidden(path)}
    assert found - TOP_LEVEL == set()


def hidden(path: Path) -> bool:
    first = path.relative_to(PROJECT_DIR).parts[0]
    return first.startswith(".") or first == "var"
