"""One version of an element as text: values, references, the steps of its process, children and versions (D586).

The number of statements is the same for every element. What the caller must not see is left out by the reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import cached_property

from elements import derived
from elements.naming import NAME
from elements.presentation.labels import Named, version_number
from elements.presentation.values import plain_value
from elements.reading import rows
from elements.reading.assembly.assembler import Assembler, Gathered, ancestors
from elements.reading.assembly.attributes import read_exactly
from elements.reading.assembly.links import NO_LINKS, ReferenceLinks, read_links
from elements.reading.assembly.projection import ATTRIBUTES, RELATED, ROOT_PATH, Wanted
from elements.reading.bounds import TooHeavy, most_text
from elements.reading.diagrams.drawings import StoredDiagram, read_diagram
from elements.reading.lists import selection as selecting
from elements.reading.names import ByCulture, choose, read_version_names
from elements.reading.rows import Identity, VersionRow
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import ElementType, Property
from release.agents.texts import PAGE, AgentLabels, keyed, section, some

# Steps and versions that a text has.
MOST_STEPS, MOST_VERSIONS = 300, 20
# Agents read these better in the form of the API than in that of a language.
AS_STORED = frozenset({DataType.BOOLEAN, DataType.INTEGER, DataType.DECIMAL, DataType.DATE, DataType.DATE_TIME})
# Texts of a step, which say how to do it.
TEXTS = frozenset({DataType.SINGLE_LINE_TEXT, DataType.MULTI_LINE_TEXT, DataType.HTML})
# The text shows these in its first lines, or as its list of versions.
NOT_SHOWN = frozenset({NAME, derived.PAGE_ADDRESS, derived.STATE, derived.VERSION, derived.RELEASE_HISTORY})


@dataclass(frozen=True, slots=True)
class Steps:
    """The diagram of a version, with the elements that the caller sees in it."""

    diagram: StoredDiagram
    identities: Mapping[str, Identity]
    rows: Mapping[str, VersionRow]
    links: ReferenceLinks


NO_STEPS = Steps(StoredDiagram(), {}, {}, NO_LINKS)


class ElementText:
    def __init__(self, labels: AgentLabels, row: VersionRow) -> None:
        reader = labels.reader
        self.labels, self.type = labels, reader.types[row.type]
        view = reader.addresses.detail_view(self.type)
        self.assembler = Assembler(reader, view, Wanted(frozenset({ATTRIBUTES, RELATED, ROOT_PATH})))
        self.row = row
        if row.attributes is None:
            # They are too long to be read with the id.
            self.row = rows.read_versions([row.version], most=most_text(1))[row.version]
        self.gathered: Gathered = self.assembler.gather([self.row])
        self.steps = self._read_steps() if self.type.has_diagram else NO_STEPS
        below = selecting.children_of(reader.audience, row.element, self.assembler.child_types)
        self.children = selecting.read_page(below, PAGE + 1)
        self.versions = selecting.read_page(selecting.versions_of(reader.audience, row.element), None)
        self.names = self._read_names()

    def _read_steps(self) -> Steps:
        reader = self.labels.reader
        diagram = read_diagram(self.row.version)
        named = {each.element for each in diagram.shapes}
        named |= {each.element for each in diagram.lanes if each.element}
        identities = reader.identities.read(named)
        versions = [identities[each.element].version for each in diagram.shapes if each.element in identities]
        try:
            found = rows.read_versions(versions[:MOST_STEPS], most=most_text(len(versions)))
        except TooHeavy:
            # Then the steps have no texts; each can be read alone.
            found = rows.read_versions(versions[:MOST_STEPS], with_attributes=False)
        links = read_links(reader.identities, list(found.values()), self.assembler.projection)
        return Steps(diagram, identities, found, links)

    def _read_names(self) -> Mapping[str, ByCulture]:
        known = (self.gathered.links.identities, self.steps.links.identities, self.steps.identities)
        versions = {each.version for identities in known for each in identities.values()}
        return read_version_names(versions | {each.version for each in self.children})

    def lines(self) -> Iterator[str]:
        yield from self._head()
        yield from section("Attributes", self._attributes())
        yield from section("References", self._references())
        yield from section("Process steps", self._steps())
        yield from section("Children", self._children())
        yield from section("Versions", self._versions())

    def _head(self) -> Iterator[str]:
        labels, row = self.labels, self.row
        yield f"# {labels.name(read_exactly(row.attributes).get(NAME, {})).in_one_line}"
        yield f"Type: {labels.typed(self.type)} in the facet {self.type.facet}"
        if self.type.is_versioned:
            state = keyed(labels.state(self.type, row.state), row.state)
            yield f"Version: {version_number(row.major, row.minor)}, state {state}, versionId={row.version}"
        yield f"id={row.element}"
        if not labels.reader.hides_changes(row.type):
            yield f"entityTag={row.entity_tag.strip(chr(34))}"
        yield f"Page: {labels.address(row)}"
        known = self.gathered.links.identities
        above = [known[each] for each in ancestors(row.parent, self.gathered.parents) if each in known][::-1]
        if above:
            yield f"Path: {' > '.join(self._lines(above))}"

    @cached_property
    def _properties(self) -> Mapping[str, Property]:
        shown = self.assembler.view.types.get(self.type.key)
        return shown.properties if shown else {}

    def _attributes(self) -> Iterator[str]:
        has_authors = self.gathered.links.has_authors(self.row)
        shown = self.assembler.projection.types[self.row.type]
        values = self.labels.reader.writer.attributes(self.row, shown, has_authors=has_authors)
        for key, property in self._properties.items():
            if property.attribute and key not in NOT_SHOWN:
                label = keyed(self.labels.property(property), key)
                lines = self._value(property, values.get(key, {})).splitlines()
                if lines:
                    # Indented, so that content cannot imitate the lines of this text.
                    yield f"{label}: {lines[0]}" if len(lines) == 1 else "\n  ".join([f"{label}:", *lines])

    def _value(self, property: Property, values: Mapping[str, Any]) -> str:
        chosen = choose(values, self.labels.lcid, self.labels.configuration.cultures)
        return "" if chosen is None else agent_value(self.labels, property, chosen.value)

    def _references(self) -> Iterator[str]:
        contexts = [key for key, each in self._properties.items() if each.related and key not in NOT_SHOWN]
        for key, targets in self.gathered.links.related(self.row, contexts).items():
            label = keyed(self.labels.property(self._properties[key]), key)
            hint = f'follow_references with "context": "{key}"'
            yield f"{label}: {'; '.join(some(self._lines(targets[:PAGE]), len(targets), hint))}"

    def _steps(self) -> Iterator[str]:
        """Number the steps in the order of the diagram, and say what comes before each."""
        found = self.steps
        shown = [each for each in found.diagram.shapes if each.element in found.identities][:MOST_STEPS]
        numbers = {each.shape: number for number, each in enumerate(shown, 1)}
        lanes = {each.lane: self._lane(each.name, each.element) for each in found.diagram.lanes}
        before: dict[str, list[str]] = {}
        for flow in found.diagram.flows:
            if flow.predecessor in numbers:
                label = self.labels.chosen(flow.label).in_one_line
                text = f"{numbers[flow.predecessor]}" + (f" ({label})" if label else "")
                before.setdefault(flow.shape, []).append(text)
        for each in shown:
            identity = found.identities[each.element]
            parts = [self._lines([identity])[0]]
            if each.lane and lanes.get(each.lane):
                parts.append(f"lane: {lanes[each.lane]}")
            if each.shape in before:
                parts.append(f"after {', '.join(before[each.shape])}")
            yield f"{numbers[each.shape]}. {'; '.join([*parts, *self._of_step(identity)])}"
        left = len(found.diagram.shapes) - len(shown)
        if left and len(shown) == MOST_STEPS:
            yield f"… and more: these are the first {MOST_STEPS} of {len(found.diagram.shapes)} shapes of the diagram."

    def _lane(self, name: Mapping[str, Any], element: str | None) -> str:
        identity = self.steps.identities.get(element or "")
        own = self.labels.chosen(name).in_one_line
        return own or (self._lines([identity])[0] if identity else "")

    def _of_step(self, identity: Identity) -> Iterator[str]:
        """Return the texts and references of a step. Another element in the diagram, such as a called process, has a
        text of its own."""
        row = self.steps.rows.get(identity.version)
        type: ElementType = self.labels.reader.types[identity.type]
        shown = self.assembler.view.types.get(type.key)
        if row is None or shown is None or not type.lives_in_diagrams:
            return
        values = read_exactly(row.attributes or "{}")
        for key, each in shown.properties.items():
            if key != NAME and each.attribute and each.attribute.data_type in TEXTS:
                text = " ".join(self._value(each, values.get(key, {})).split())
                if text:
                    yield f"{keyed(self.labels.property(each), key)}: {text}"
        contexts = [key for key, each in shown.properties.items() if each.related and key not in _CALLERS]
        for key, targets in self.steps.links.related(row, contexts).items():
            names = [f"{each.name.in_one_line} id={each.element}" for each in self._links(targets[:PAGE])]
            yield f"{keyed(self.labels.property(shown.properties[key]), key)}: {', '.join(names)}"

    def _children(self) -> list[str]:
        shown = self._lines([each.identity for each in self.children[:PAGE]])
        lines = [f"- {each}" for each in shown]
        more = ['… and more: follow_references with "direction": "children".'] if len(self.children) > PAGE else []
        return lines + more

    def _versions(self) -> Iterator[str]:
        if not self.type.is_versioned:
            return
        for row in [*reversed(self.versions)][:MOST_VERSIONS]:
            mark = " (this one)" if row.version == self.row.version else ""
            state = keyed(self.labels.state(self.type, row.state), row.state)
            yield f"- {version_number(row.major, row.minor)}, state {state}, versionId={row.version}{mark}"
        if len(self.versions) > MOST_VERSIONS:
            yield f"… and {len(self.versions) - MOST_VERSIONS} older versions."

    def _lines(self, targets: Iterable[Identity]) -> Sequence[str]:
        return [self.labels.line(each) for each in self._links(targets)]

    def _links(self, targets: Iterable[Identity]) -> Sequence[Named]:
        return self.labels.links(targets, self.names)


_CALLERS = frozenset({*derived.CALLERS, derived.RELEASE_HISTORY})


def agent_value(labels: AgentLabels, property: Property, value: Any) -> str:
    """Return a value as agents read it; empty for None."""
    if property.attribute is None or value is None:
        return ""
    if property.attribute.data_type in AS_STORED:
        return str(value).lower() if isinstance(value, bool) else str(value)
    return plain_value(labels, property.attribute, value)


def element_text(labels: AgentLabels, row: VersionRow) -> str:
    return "\n".join(ElementText(labels, row).lines())
