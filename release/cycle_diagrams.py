"""A release cycle as a Mermaid state diagram, drawn from the configuration."""

from __future__ import annotations

from collections.abc import Iterator

from facets.blueprint.cycles import OPEN, Category, ReleaseCycle
from facets.rendering import display_names
from storage.localisation.cultures import CultureSet

COLORS = {
    Category.DRAFT: "fill:#cfe2ff,stroke:#084298,color:#000",
    Category.REVIEW: "fill:#fff3cd,stroke:#8a6d00,color:#000",
    Category.PUBLISHED: "fill:#d1e7dd,stroke:#0a5c36,color:#000",
    Category.RETIRED: "fill:#e2e3e5,stroke:#41464b,color:#000",
}


def draw_cycle(cycle: ReleaseCycle) -> str:
    return "\n".join(_lines(cycle)) + "\n"


def _lines(cycle: ReleaseCycle) -> Iterator[str]:
    ids = _ids(cycle)
    yield "stateDiagram-v2"
    for category, color in COLORS.items():
        yield f"    classDef {category} {color}"
    for state in cycle.states:
        yield f'    state "{state.key}" as {ids[state.key]}'
    first = next(each.key for each in cycle.states if each.category is Category.DRAFT)
    retired = next(each.key for each in cycle.states if each.category is Category.RETIRED)
    yield f"    [*] --> {ids[first]}: new element, or createversion"
    ways: dict[tuple[str, str], list[str]] = {}
    for each in cycle.transitions:
        label = f"{each.key} (by task {each.task})" if each.task else each.key
        ways.setdefault((each.source, each.target), []).append(label)
    if cycle.takes_effect:
        published = next(each.key for each in cycle.states if each.category is Category.PUBLISHED)
        ways.setdefault((published, cycle.takes_effect), []).append("validFrom is reached")
    for state in cycle.states:
        if state.category is Category.PUBLISHED:
            text = "validUntil is reached, or a newer version is released"
            ways.setdefault((state.key, retired), []).append(text)
    for (source, target), labels in ways.items():
        yield f"    {ids[source]} --> {ids[target]}: {'<br>'.join(labels)}"
    for state in cycle.states:
        yield f"    class {ids[state.key]} {state.category}"


def describe_states(cycle: ReleaseCycle, culture: int) -> str:
    """Describe the states in a Markdown table: name in a culture, category, readers, and editable content."""
    rows = ["| state | name | category | who sees it | content |", "|---|---|---|---|---|"]
    for state in cycle.states:
        seen = "everybody" if state.category is Category.PUBLISHED else "every role above viewer"
        content = {
            Category.DRAFT: "can be changed",
            Category.PUBLISHED: "only properties that are editable in released versions",
        }.get(state.category, "cannot be changed")
        name = display_names(state.display_names, CultureSet((culture,), culture, ()), state.key)[culture]
        rows.append(f"| `{state.key}` | {name} | {state.category} | {seen} | {content} |")
    one = " and ".join(sorted(OPEN))
    rows += ["", f"An element has at most one version in {one} together, and at most one published version."]
    return "\n".join(rows) + "\n"


def _ids(cycle: ReleaseCycle) -> dict[str, str]:
    """Return an id for each state. Mermaid accepts letters, digits and underscores only, so other keys get a number."""
    return {
        each.key: each.key if each.key.isalnum() else f"state_{place}" for place, each in enumerate(cycle.states, 1)
    }
