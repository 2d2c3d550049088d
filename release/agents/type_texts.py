"""Facets and types as text for agents, with everything that a change of an element can contain."""

from __future__ import annotations

from collections.abc import Iterator

from elements.writing.inputs import SERVER_ATTRIBUTES, SERVER_CONTEXTS
from facets.blueprint.definitions import ElementType, Property
from release.agents.texts import AgentLabels, keyed, section
from repository_site.core.problems import NotFound
from repository_site.core.wording import listed, printable, similar_hint

# Values of a selection that are listed.
MOST_VALUES = 50
# Templates write this number for a context without a limit.
UNLIMITED = 2**31 - 1


def facets_text(labels: AgentLabels) -> str:
    """Return the facets with their types, as far as the caller sees them."""
    lines = []
    for facet in labels.configuration.blueprint.facets:
        types = [each for each in labels.configuration.types.values() if each.facet == facet.name]
        if not types:
            continue
        lines.append(f"## {keyed(labels.facet(facet.name), facet.name)}")
        lines += [f"- {labels.typed(each)}: {_traits(each)}" for each in types]
    return "\n".join(lines)


def find_type(labels: AgentLabels, key: str) -> ElementType:
    types = labels.configuration.types
    found = next((each for each in types.values() if each.key.casefold() == key.casefold()), None)
    if found is None:
        raise NotFound(f"There is no type {printable(key, 60)}{similar_hint(key, types)}.")
    return found


def type_text(labels: AgentLabels, key: str) -> str:
    type = find_type(labels, key)
    lines = [f"# {labels.typed(type)}", f"Facet: {type.facet}", f"Traits: {_traits(type)}"]
    if type.parents:
        lines.append(f"Types of parents: {', '.join(type.parents)}")
    if type.is_versioned:
        cycle = labels.configuration.cycles[type.key].cycle
        lines.append(f"States: {', '.join(keyed(labels.state(type, each.key), each.key) for each in cycle.states)}")
        steps = [
            f"{labels.transition(each)} ({each.key}): {each.source} to {each.target}" for each in cycle.transitions
        ]
        lines += section("Transitions", steps)
    lines += section("Attributes", (_attribute(labels, each) for each in type.properties if each.attribute))
    lines += section("Related contexts", (_context(labels, each) for each in type.properties if each.related))
    return "\n".join(lines)


def _traits(type: ElementType) -> str:
    if type.lives_in_diagrams:
        return "exists only in diagrams"
    found = "with versions and release" if type.is_versioned else "without versions: changes are visible at once"
    return f"{found}, has a diagram with process steps" if type.has_diagram else found


def _attribute(labels: AgentLabels, property: Property) -> str:
    attribute = property.attribute
    if attribute is None:
        return ""
    parts = [attribute.data_type.value]
    if property.key in SERVER_ATTRIBUTES:
        parts.append("read-only")
    elif not attribute.is_invariant_culture:
        parts.append("by culture")
    return "; ".join(
        [f"{keyed(labels.property(property), property.key)}: {', '.join(parts)}", *_values(labels, property)]
    )


def _values(labels: AgentLabels, property: Property) -> Iterator[str]:
    values = property.attribute.selectable_values if property.attribute else ()
    shown = [keyed(labels.text(each.display_names, each.key), each.key) for each in values[:MOST_VALUES] if each.key]
    if shown:
        yield f"values {', '.join(shown)}" + (", …" if len(values) > MOST_VALUES else "")


def _context(labels: AgentLabels, property: Property) -> str:
    related = property.related
    if related is None:
        return ""
    word = "type" if len(related.types) == 1 else "types"
    kinds = f"of the {word} {listed(related.types, 'or')}" if related.types else "of any type"
    number = f", at most {related.max_occurrence}" if related.max_occurrence < UNLIMITED else ""
    fixed = ", read-only" if related.read_only or property.key in SERVER_CONTEXTS else ""
    label = keyed(labels.property(property), property.key)
    return f"{label}: elements of the facet {related.facet}, {kinds}{number}{fixed}"
