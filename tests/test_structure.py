"""The folders that can contain code, their size, the length of files, and names of classes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

from repository_site.core.environment import PROJECT_DIR

TOP_LEVEL = {"repository_site", "facets", "elements", "release", "storage", "templates", "tests", "docs", "benchmarks"}

CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
# Django finds these classes by their names.
NAMED_BY_DJANGO = {"Command", "Migration"}
# A part of the type configuration as value and as row: `facets.blueprint` and `facets.models`.
VALUES_AND_ROWS = {
    "ElementType",
    "Facet",
    "Property",
    "ReleaseCycle",
    "SelectableValue",
    "Transition",
    "ValidationRule",
    "ViewType",
}
# "About a dozen" (D167).
MOST_MODULES = 15
MOST_LINES, MOST_TEST_LINES = 450, 500
IMPORTED_TESTS = re.compile(r"^\s*(?:from|import) (tests[\w.]*\.test_\w+)", re.MULTILINE)


def test_code_is_in_known_folders() -> None:
    assert {path.relative_to(PROJECT_DIR).parts[0] for path in modules()} - TOP_LEVEL == set()


def test_a_class_name_has_one_meaning() -> None:
    """Nested classes and test classes are not counted: their surroundings name them (D174)."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in modules():
        for name in CLASS.findall(path.read_text(encoding="utf-8")):
            found[name].append(str(path.relative_to(PROJECT_DIR)))
    repeated = {name: places for name, places in found.items() if len(places) > 1 and not name.startswith("Test")}
    assert {name: sorted(repeated[name]) for name in repeated.keys() - NAMED_BY_DJANGO - VALUES_AND_ROWS} == {}
    for name in VALUES_AND_ROWS:
        assert [str(Path(place).parent) for place in sorted(repeated[name])] == ["facets/blueprint", "facets/models"]


def test_a_folder_has_about_a_dozen_modules() -> None:
    """Tests are not counted: they mirror the source. Django prescribes the folders of migrations and commands."""
    sizes = Counter(
        str(path.parent.relative_to(PROJECT_DIR))
        for path in application()
        if path.name != "__init__.py" and path.parent.name != "commands"
    )
    assert {folder: size for folder, size in sizes.items() if size > MOST_MODULES} == {}


def test_files_are_short() -> None:
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in [*application(), *files_of_tests()]}
    too_long = {path for path, length in lines.items() if length > (MOST_TEST_LINES if is_test(path) else MOST_LINES)}
    assert {str(path.relative_to(PROJECT_DIR)): lines[path] for path in too_long} == {}


def test_tests_import_helpers_from_helper_modules() -> None:
    """Otherwise, moving or splitting a test module breaks others."""
    found = {str(path.relative_to(PROJECT_DIR)): IMPORTED_TESTS.findall(path.read_text()) for path in files_of_tests()}
    assert {path: imported for path, imported in found.items() if imported} == {}


def application() -> list[Path]:
    return [path for path in modules() if not is_test(path) and path.parent.name != "migrations"]


def files_of_tests() -> list[Path]:
    return [path for path in modules() if is_test(path)]


def is_test(path: Path) -> bool:
    return path.relative_to(PROJECT_DIR).parts[0] == "tests"


@cache
def modules() -> list[Path]:
    """Return all modules. Environments and data, with many more files, are not searched."""
    folders = [path for path in PROJECT_DIR.iterdir() if path.is_dir() and path.name[0] != "." and path.name != "var"]
    return [path for folder in folders for path in folder.rglob("*.py")]
