"""Import directions, the folders that can contain code, and names of classes."""

from __future__ import annotations

import re
from collections import defaultdict
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


def modules() -> list[Path]:
    return [path for path in PROJECT_DIR.glob("*/**/*.py") if not hidden(path)]


def hidden(path: Path) -> bool:
    first = path.relative_to(PROJECT_DIR).parts[0]
    return first.startswith(".") or first == "var"
