"""Differences between two versions of an element as text (D586), written from the comparison that the API returns as
data (D568)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.functional import cached_property

from elements.comparing.comparison import FROM, TO, ElementComparison
from elements.comparing.differences import Mark
from elements.comparing.sides import Side, keyed_diagram, read_sides, read_step_sides
from elements.naming import NAME
from elements.presentation.labels import version_number
from elements.reading.assembly.assembler import Wire
from elements.reading.assembly.attributes import INVARIANT, read_exactly
from elements.reading.bounds import TooHeavy, most_text
from elements.reading.rows import Identity, VersionRow, read_versions
from facets.blueprint.definitions import ElementType, Property
from release.agents.element_texts import MOST_STEPS, agent_value
from release.agents.texts import AgentLabels, keyed, section
from repository_site.core.matching import Effort
from repository_site.core.rest.rendering import to_json
from repository_site.core.wording import listed
from storage.localisation.culture_names import language_names

# In the order of the text.
SIGNS = {Mark.REMOVED: "-", Mark.ADDED: "+", Mark.CHANGED: "~", Mark.MOVED: "~"}
# A passage that both sides share loses its middle if it is longer than the first number of characters. The second
# number of characters stays at each end.
LONGEST_SAME, KEPT_SAME = 200, 80
UNSHOWN = "only spaces, line breaks, formatting or hidden details differ"


@dataclass(frozen=True)
class ComparedVersions:
    """Two versions of an element, and the steps that both diagrams have, with everything that was read of them."""

    labels: AgentLabels
    old: Side
    new: Side
    steps: list[tuple[Side, Side]]
    has_all_steps: bool

    def text(self) -> str:
        effort = Effort(settings.COMPARISON_EFFORT)
        found = self._data(self.old, self.new, effort)
        type = self._type_of(self.new)
        lines = [
            *section("Attributes", self._attributes(type, found)),
            *section("References", self._references(type, found)),
            *section("Process steps", [*self._shapes(found), *self._steps(effort)]),
            *section("Flows", self._flows(found)),
        ]
        head = [f"From {self._version(self.old)} to {self._version(self.new)}."] if type.is_versioned else []
        return "\n".join([*head, *(lines or ["No differences."])])

    def _data(self, old: Side, new: Side, effort: Effort, select: Iterable[str] | None = None) -> Wire:
        named = None if select is None else frozenset(select)
        return read_exactly(to_json(ElementComparison(self.labels.reader, old, new, named, effort).wire()).decode())

    def _type_of(self, side: Side) -> ElementType:
        return self.labels.reader.types[side.row.type]

    def _version(self, side: Side) -> str:
        row, type = side.row, self._type_of(side)
        state = keyed(self.labels.state(type, row.state), row.state)
        return f"version {version_number(row.major, row.minor)}, state {state}"

    def _attributes(self, type: ElementType, found: Wire) -> Iterator[str]:
        properties = {each.key: each for each in type.properties}
        for key, by_culture in found.get("attributes", {}).items():
            label = keyed(self.labels.property(properties[key]), key)
            shown = [each for culture, each in by_culture.items() if culture in self._cultures]
            for each in shown:
                yield from self._value(label, properties[key], each)
            others = [int(culture) for culture in by_culture if culture not in self._cultures]
            if others:
                names = language_names(self.labels.configuration.cultures.data)
                also = "also " if shown else ""
                culture = listed([f"{lcid} {names.get(lcid, '')}".strip() for lcid in others])
                yield f'~ {label}: {also}differs in {culture}; call again with that "culture" to see it'

    @cached_property
    def _cultures(self) -> frozenset[str]:
        return frozenset({str(self.labels.lcid), INVARIANT})

    def _value(self, label: str, property: Property, each: Mapping[str, Any]) -> Iterator[str]:
        words = each.get("words")
        if words:
            old, new = (changed_lines(words[side]) for side in (FROM, TO))
        else:
            old, new = (agent_value(self.labels, property, each[side]).splitlines() for side in (FROM, TO))
        if [*old] == [*new]:
            yield f"~ {label}: {UNSHOWN}"
        else:
            yield from (f"- {label}: {line}" for line in old)
            yield from (f"+ {label}: {line}" for line in new)

    def _references(self, type: ElementType, found: Wire, sides: tuple[Side, Side] | None = None) -> Iterator[str]:
        old, new = sides or (self.old, self.new)
        properties = {each.key: each for each in type.properties}
        for context, marked in found.get("references", {}).items():
            label = keyed(self.labels.property(properties[context]), context)
            for mark, references in _in_order(marked):
                side = old if mark == Mark.REMOVED else new
                note = " (moved)" if mark == Mark.MOVED else ""
                for each in references:
                    yield f"{SIGNS[mark]} {label}: {self._line(side, each['id'])}{note}"

    def _shapes(self, found: Wire) -> Iterator[str]:
        for mark, shapes in _in_order(found.get("shapes", {})):
            for each in shapes:
                if mark != Mark.CHANGED:
                    side = self.old if mark == Mark.REMOVED else self.new
                    yield f"{SIGNS[mark]} {self._line(side, each['id'])}"
                    continue
                before, after = each[FROM], each[TO]
                old_name, new_name = self._name(self.old, before["id"]), self._name(self.new, after["id"])
                parts = [f"was {old_name}"] if old_name != new_name else []
                if before.get("attributes") != after.get("attributes") and not parts:
                    parts.append("has another name in other languages")
                old_place, new_place = self._place(self.old, before), self._place(self.new, after)
                if old_place != new_place:
                    parts.append(f"{new_place or 'in no other shape'}, before {old_place or 'in no other shape'}")
                yield f"~ {self._line(self.new, after['id'])}: {'; '.join(parts)}"

    def _place(self, side: Side, shape: Mapping[str, Any]) -> str:
        known = {each.shape: each.element for each in side.shapes}
        named = (("container", "in"), ("attachedTo", "at"))
        places = [(word, known.get(shape["properties"].get(key, ""), "")) for key, word in named]
        return " and ".join(f"{word} {self._name(side, element)}" for word, element in places if element)

    def _steps(self, effort: Effort) -> Iterator[str]:
        """Compare everything that steps have besides their name. A new version has copies of the steps (D18)."""
        for old, new in self.steps:
            type = self._type_of(new)
            found = self._data(old, new, effort, {each.key for each in type.properties} - {NAME})
            lines = [*self._attributes(type, found), *self._references(type, found, (old, new))]
            if lines:
                yield f"~ {self._line(self.new, new.row.element)}:"
                yield from (f"  {line}" for line in lines)
        if not self.has_all_steps:
            yield "… the texts and references of all other steps are too many to compare here; read_element shows them"

    def _flows(self, found: Wire) -> Iterator[str]:
        for mark, flows in _in_order(found.get("flows", {})):
            side = self.old if mark == Mark.REMOVED else self.new
            for each in flows:
                ends = " → ".join(self._name(side, each[end]["id"]) for end in ("predecessor", "shape"))
                label = self._label(each.get("label", {}), is_changed=mark == Mark.CHANGED)
                yield f"{SIGNS[mark]} {ends}{label}"

    def _label(self, label: Mapping[str, Any], *, is_changed: bool) -> str:
        if is_changed:
            old, new = (
                self.labels.chosen({culture: each[side] for culture, each in label.items() if each[side] is not None})
                for side in (FROM, TO)
            )
            return f": label {new.in_one_line or 'removed'}, before {old.in_one_line or 'none'}"
        text = self.labels.chosen(label).in_one_line
        return f" ({text})" if text else ""

    def _name(self, side: Side, element: str) -> str:
        identity = side.identities.get(element)
        return self.labels.link(identity, side.name(identity)).name.in_one_line if identity else ""

    def _line(self, side: Side, element: str) -> str:
        identity = side.identities[element]
        return self.labels.line(self.labels.link(identity, side.name(identity)))


def read_differences(labels: AgentLabels, old: VersionRow, new: VersionRow) -> Callable[[], str]:
    """Read both versions, and return the function that compares them, which takes time and needs no database."""
    reader = labels.reader
    rows = read_versions({old.version, new.version}, most=most_text(2))
    before, after = read_sides(reader, [rows[each.version] for each in (old, new)], with_names=True)
    pairs = _pairs(labels, before, after)
    try:
        found = read_step_sides(reader, {each.version for pair in pairs[:MOST_STEPS] for each in pair})
    except TooHeavy:
        found = {}
    steps = [(found[a.version], found[b.version]) for a, b in pairs if a.version in found and b.version in found]
    return ComparedVersions(labels, before, after, steps, len(steps) == len(pairs)).text


def _pairs(labels: AgentLabels, old: Side, new: Side) -> list[tuple[Identity, Identity]]:
    """Return the steps that both diagrams have, in the order of the new one."""
    before, after = (keyed_diagram(side, lambda identity: ("", identity.type), dict) for side in (old, new))
    pairs = [
        (old.identities[before.by_key[each.key].element], new.identities[each.element])
        for each in after.shapes
        if each.key in before.by_key
    ]
    return [(a, b) for a, b in pairs if a.version != b.version and labels.reader.types[b.type].lives_in_diagrams]


def _in_order(marked: Mapping[str, list[Wire]]) -> list[tuple[Mark, list[Wire]]]:
    return [(mark, marked[mark]) for mark in SIGNS if mark in marked]


def changed_lines(pieces: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the lines of a text with a piece that is only on this side."""
    found: list[str] = []
    line, is_changed = "", False
    for piece in pieces:
        is_same = piece["mark"] == Mark.SAME
        for number, part in enumerate(piece["text"].split("\n")):
            if number:
                found += [line.strip()] if is_changed else []
                line, is_changed = "", False
            line += _shortened(part) if is_same else part
            is_changed = is_changed or (not is_same and bool(part.strip()))
    return [*found, line.strip()] if is_changed else found


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_SAME else f"{text[:KEPT_SAME]} … {text[-KEPT_SAME:]}"
