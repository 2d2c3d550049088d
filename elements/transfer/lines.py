"""Line of a transfer file as a value, checked on its own: identity, attributes, contexts, children, diagram."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from sys import intern
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings

from elements.sizes.limits import line_problems
from elements.transfer.diagram_lines import DiagramReader, Report, TransferDiagram, TransferReference, read_guid, short
from elements.values.checking import Check, NoInstant, instant_of, read_date_time, value_check
from elements.values.files import files_in, imported_files, stored_file_problem
from facets.blueprint.cycles import Category
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute, ElementType
from facets.configuration import Configuration
from repository_site.core.problems import TooLarge, Unreadable
from repository_site.core.rest.strict_json import parse_json
from repository_site.core.wording import listed
from storage.localisation.cultures import INVARIANT_CULTURE

KEYS = frozenset(
    {"facetName", "id", "versionId", "creationId", "type", "state", "stereotype"}
    | {"attributes", "related", "children", "content", "lanes", "bpmn"}
)
# Columns of a version. Lines of every type may contain them.
STAMPS = frozenset({"createdOn", "changedOn", "relOn", "validFrom", "validUntil"})
CALLERS = ("createdBy", "changedBy", "relBy")
DERIVED = frozenset({"state1", "isReleased", "gotoUrl", "authorNote", "stereotype"})
FILES = DataType.FILES
INVARIANT = str(INVARIANT_CULTURE)
VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})")
# Many lines refer to the same elements (users, tags, systems) and times. So many of them are cached as valid.
REMEMBERED = 50_000


@dataclass(slots=True)
class TransferLine:
    element: str
    version: str
    creation: str
    type: ElementType
    state: str = ""
    category: Category = Category.STATIC
    stereotype: str = ""
    major: int | None = None
    minor: int | None = None
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict)
    stamps: dict[str, str] = field(default_factory=dict)
    """Times in UTC."""
    files: set[tuple[str, str]] = field(default_factory=set)
    """Attributes and ids of files of the storage."""
    related: dict[str, list[TransferReference]] = field(default_factory=dict)
    children: list[TransferReference] = field(default_factory=list)
    diagram: TransferDiagram = field(default_factory=TransferDiagram)


@dataclass(frozen=True, slots=True)
class TypeRules:
    """Possible attributes of a type with their cultures, and contexts with their maximum number of references."""

    attributes: dict[str, tuple[Attribute, Check, frozenset[str]]]
    contexts: dict[str, int]


class LineReader:
    """Reads lines for one storage. `read` returns None for a line with problems, and reports each of them."""

    def __init__(self, configuration: Configuration, zone: ZoneInfo) -> None:
        self.configuration = configuration
        self.zone = zone
        self.cultures = frozenset(str(lcid) for lcid in configuration.cultures.data)
        self.rules = {key: _type_rules(type, self.cultures) for key, type in configuration.types.items()}
        self._targets: dict[tuple[str, str, str], TransferReference] = {}
        self._instants: dict[str, str] = {}

    def read(self, raw: bytes, report: Report) -> TransferLine | None:
        problems: list[str] = []
        try:
            document = parse_json(raw, noun="The line", most_values=settings.MAX_VALUES)
        except (Unreadable, TooLarge) as problem:
            report(problem.message)
            return None
        line = self._line(document, len(raw), problems.append)
        if not problems:
            return line
        name = document.get("id") if isinstance(document, dict) else None
        for text in problems:
            report(f"{name[:80]}: {text}" if isinstance(name, str) and name else text)
        return None

    def _line(self, document: Any, length: int, report: Report) -> TransferLine | None:
        if not isinstance(document, dict):
            report("expected a JSON object")
            return None
        for key in document:
            if key not in KEYS:
                report(f"unknown key {short(key)}; allowed: {', '.join(sorted(KEYS))}")
        type = self._type(document, report)
        identity = self._identity(document, type, report)
        if type is None or identity is None:
            return None
        line = TransferLine(*identity, type)
        self._state(document, line, report)
        self._attributes(document.get("attributes", {}), line, report)
        self._related(document.get("related", {}), line, report)
        line.children = list(self._references(document.get("children", []), "children", report))
        self._diagram(document, line, report)
        for problem in line_problems(length, line.attributes, line.related, len(line.children)):
            report(problem)
        return line

    def _type(self, document: dict[str, Any], report: Report) -> ElementType | None:
        type = self.configuration.types.get(str(document.get("type")))
        if type is None:
            report(f"unknown type {short(document.get('type'))}; the storage has no such type")
        elif document.get("facetName") != type.facet:
            report(f"the type {type.key} is in the facet {type.facet}, not {short(document.get('facetName'))}")
        return type

    def _identity(
        self, document: dict[str, Any], type: ElementType | None, report: Report
    ) -> tuple[str, str, str] | None:
        """Return element, version and creation id. The only row of an unversioned element has the element's id."""
        element = read_guid(document.get("id"), "id", report)
        if type is None or element is None:
            return None
        wanted, other = ("versionId", "creationId") if type.is_versioned else ("creationId", "versionId")
        if other in document:
            report(f"{other} is not allowed for {type.key}")
        second = read_guid(document.get(wanted), wanted, report)
        if second is None:
            return None
        return (element, second, element) if type.is_versioned else (element, element, second)

    def _state(self, document: dict[str, Any], line: TransferLine, report: Report) -> None:
        state, stereotype = document.get("state", ""), document.get("stereotype", "")
        if line.type.is_versioned:
            categories = self.configuration.cycles[line.type.key].categories
            if isinstance(state, str) and state in categories:
                line.category = categories[state]
            else:
                report(f"unknown state {short(state)}; allowed: {', '.join(sorted(categories))}")
        if not line.type.is_versioned and "state" in document:
            report(f"state is not allowed for {line.type.key}, which has no versions")
        if not isinstance(stereotype, str) or len(stereotype) > 200:
            report("stereotype must be text of up to 200 characters")
            return
        # Few states, which the survey keeps for each element.
        line.state, line.stereotype = intern(str(state)), stereotype

    def _attributes(self, attributes: Any, line: TransferLine, report: Report) -> None:
        if not isinstance(attributes, dict):
            report("attributes must be an object")
            return
        known = self.rules[line.type.key].attributes
        for name, values in attributes.items():
            if not isinstance(values, dict):
                report(f'{name[:80]}: expected values by culture, such as {{"1033": "Order parts"}}')
            elif name in STAMPS:
                self._stamp(name, values, line, report)
            elif name == "version":
                _version(values, line, report)
            elif name in DERIVED:
                report(f"{name}: is derived and cannot be imported; leave it out")
            elif name not in known:
                report(f"{name[:80]}: the type {line.type.key} has no such attribute")
            elif values:
                attribute, check, cultures = known[name]
                for culture, value in values.items():
                    if culture not in cultures:
                        allowed = listed(sorted(cultures), "or")
                        report(f"{name}[{culture[:20]}]: this culture is not allowed here; use {allowed}")
                    elif problem := check(attribute, value):
                        report(f"{name}[{culture}]: {problem}")
                if attribute.data_type is FILES:
                    self._files(name, values, line, report)
                else:
                    line.attributes[name] = values
        if line.type.is_versioned and line.major is None:
            report('version: a versioned element needs a version, such as {"127": "1.0"}')

    def _files(self, name: str, values: dict[str, Any], line: TransferLine, report: Report) -> None:
        """Take the values of an attribute with files in their stored form, and note the files of the storage."""
        line.attributes[name] = {culture: imported_files(value) for culture, value in values.items()}
        for file in files_in(line.attributes[name]):
            # Files with other problems were reported by the check of the value.
            if not stored_file_problem(file):
                line.files.add((name, file["address"]))
                if not file.keys() >= {"mimeType", "size"}:
                    report(f"{name}: the file {file['address']} needs mimeType and size, as export_storage writes them")

    def _stamp(self, name: str, values: dict[str, Any], line: TransferLine, report: Report) -> None:
        if len(values) != 1 or INVARIANT not in values:
            report(f"{name}: expected one value, for the culture {INVARIANT}")
            return
        text = values[INVARIANT]
        try:
            line.stamps[name] = self._instants[text]
        except (KeyError, TypeError):
            try:
                line.stamps[name] = self._new_instant(text)
            except NoInstant as problem:
                report(f"{name}: {problem}")

    def _new_instant(self, text: Any) -> str:
        local = read_date_time(text)
        if local is None:
            raise NoInstant("must be a date-time such as 2026-12-31T13:45:00")
        instant = instant_of(local, self.zone).isoformat()
        if len(self._instants) >= REMEMBERED:
            self._instants.clear()
        self._instants[text] = instant
        return instant

    def _related(self, related: Any, line: TransferLine, report: Report) -> None:
        if not isinstance(related, dict):
            report("related must be an object")
            return
        known = self.rules[line.type.key].contexts
        for name, references in related.items():
            limit = 1 if name in CALLERS else known.get(name)
            if limit is None or name == "releaseHistory":
                unknown = f"the type {line.type.key} has no such related context"
                report(f"{name[:80]}: {'is derived; leave it out' if name == 'releaseHistory' else unknown}")
                continue
            found = list(self._references(references, name, report))
            if len(found) > limit:
                report(f"{name}: {len(found)} references; at most {limit} are allowed")
            if found:
                line.related[name] = found

    def _diagram(self, document: dict[str, Any], line: TransferLine, report: Report) -> None:
        parts = document.get("content", []), document.get("lanes", []), document.get("bpmn", "")
        if not line.type.has_diagram:
            for name, part in zip(("content", "lanes", "bpmn"), parts, strict=True):
                if part:
                    report(f"{name}: the type {line.type.key} has no diagram")
        if any(each != none for each, none in zip(parts, ([], [], ""), strict=True)):
            line.diagram = DiagramReader(self._reference, self.cultures, report).read(*parts)

    def _references(self, references: Any, place: str, report: Report) -> Iterator[TransferReference]:
        if not isinstance(references, list):
            report(f"{place} must be a list of references")
            return
        for index, reference in enumerate(references):
            if not isinstance(reference, dict):
                report(f"{place}[{index}]: expected a reference")
            elif (found := self._reference(reference, f"{place}[{index}]", report)) is not None:
                yield found

    def _reference(self, reference: dict[str, Any], place: str, report: Report) -> TransferReference | None:
        words = (reference.get("id"), reference.get("type"), reference.get("facetName"))
        try:
            return self._targets[words]  # type: ignore[index]  # keys are texts; others are not found
        except (KeyError, TypeError):
            return self._new_target(*words, place, report)

    def _new_target(self, id: Any, key: Any, facet: Any, place: str, report: Report) -> TransferReference | None:
        element = read_guid(id, f"{place}.id", report)
        type = self.configuration.types.get(str(key))
        if type is None or facet != type.facet:
            report(f"{place}: there is no type {short(key)} in the facet {short(facet)}")
            return None
        if element is None:
            return None
        if len(self._targets) >= REMEMBERED:
            self._targets.clear()
        target = self._targets[id, type.key, type.facet] = TransferReference(element, type.key)
        return target


def _type_rules(type: ElementType, cultures: frozenset[str]) -> TypeRules:
    invariant = frozenset({INVARIANT})
    return TypeRules(
        {
            each.key: (
                each.attribute,
                value_check(each.attribute),
                invariant if each.attribute.is_invariant_culture else cultures,
            )
            for each in type.properties
            if each.attribute
        },
        {each.key: each.related.max_occurrence for each in type.properties if each.related},
    )


def _version(values: dict[str, Any], line: TransferLine, report: Report) -> None:
    value = values.get(INVARIANT)
    parts = VERSION.fullmatch(value) if isinstance(value, str) and line.type.is_versioned else None
    if len(values) != 1 or parts is None:
        report('version: must be <major>.<minor> on a versioned element, such as {"127": "1.0"}')
    else:
        line.major, line.minor = int(parts[1]), int(parts[2])
