"""A line of a transfer file as a value, checked by itself: identity, attributes, contexts, children, diagram."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from elements import states
from elements.values import read_date_time, value_problem
from facets.blueprint import ElementType
from facets.configuration import Configuration
from repository_site.problems import Unreadable
from repository_site.rest.strict_json import parse_json
from storage.cultures import INVARIANT_CULTURE

KEYS = (
    "facetName", "id", "versionId", "creationId", "type", "state", "stereotype",
    "attributes", "related", "children", "content",
)  # fmt: skip
# What the server keeps in columns of a version; every type may carry these in a transfer file.
STAMPS = ("createdOn", "changedOn", "relOn", "validFrom", "validUntil")
CALLERS = ("createdBy", "changedBy", "relBy")
DERIVED = frozenset({"state1", "isReleased", "gotoUrl", "authorNote", "stereotype"})
GUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})")

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ShapeLine:
    id: str
    element: str
    predecessors: tuple[str, ...]


@dataclass(slots=True)
class Line:
    """One element version as the file says it."""

    element: str
    version: str
    creation: str
    type: ElementType
    state: str = ""
    stereotype: str = ""
    major: int | None = None
    minor: int | None = None
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict)
    stamps: dict[str, datetime] = field(default_factory=dict)
    related: dict[str, list[str]] = field(default_factory=dict)
    children: list[str] = field(default_factory=list)
    content: list[ShapeLine] = field(default_factory=list)
    claims: dict[str, str] = field(default_factory=dict)
    """The type that the references of the line say their targets have."""


class LineReader:
    """Reads lines of one storage. `report` gets every problem; a line with any is of no use and answers None."""

    def __init__(self, configuration: Configuration, zone: ZoneInfo) -> None:
        self.configuration = configuration
        self.zone = zone
        self.cultures = {str(lcid) for lcid in configuration.cultures.data}

    def read(self, raw: bytes, report: Report) -> Line | None:
        problems: list[str] = []
        try:
            document = parse_json(raw, noun="The line")
        except Unreadable as problem:
            report(problem.message)
            return None
        line = self._line(document, problems.append)
        name = document.get("id") if isinstance(document, dict) else None
        for text in problems:
            report(f"{name}: {text}" if name else text)
        return None if problems else line

    def _line(self, document: Any, report: Report) -> Line | None:
        if not isinstance(document, dict):
            report("expected an object")
            return None
        for key in document:
            if key not in KEYS:
                report(f"unknown key {key!r}")
        type = self._type(document, report)
        identity = self._identity(document, type, report)
        if type is None or identity is None:
            return None
        line = Line(*identity, type)
        self._state(document, line, report)
        self._attributes(document.get("attributes", {}), line, report)
        self._related(document.get("related", {}), line, report)
        line.children = list(self._ids(document.get("children", []), "children", line, report))
        self._content(document.get("content", []), line, report)
        return line

    def _type(self, document: dict[str, Any], report: Report) -> ElementType | None:
        type = self.configuration.types.get(str(document.get("type")))
        if type is None:
            report(f"unknown type {document.get('type')!r}")
        elif document.get("facetName") != type.facet:
            report(f"the type {type.key} is in the facet {type.facet}, not {document.get('facetName')!r}")
        return type

    def _identity(
        self, document: dict[str, Any], type: ElementType | None, report: Report
    ) -> tuple[str, str, str] | None:
        """Element, version and creation id; the one row of an unversioned element has the element's own id."""
        element = _guid(document.get("id"), "id", report)
        if type is None or element is None:
            return None
        wanted, other = ("versionId", "creationId") if type.is_versioned else ("creationId", "versionId")
        if other in document:
            report(f"{other} is not possible for {type.key}")
        second = _guid(document.get(wanted), wanted, report)
        if second is None:
            return None
        return (element, second, element) if type.is_versioned else (element, element, second)

    def _state(self, document: dict[str, Any], line: Line, report: Report) -> None:
        state, stereotype = document.get("state", ""), document.get("stereotype", "")
        if line.type.is_versioned and state not in states.KNOWN:
            report(f"unknown state {state!r}; states are {', '.join(sorted(states.KNOWN))}")
        if not line.type.is_versioned and "state" in document:
            report(f"state is not possible for {line.type.key}, which has no versions")
        if not isinstance(stereotype, str) or len(stereotype) > 200:
            report("stereotype must be a text of up to 200 characters")
            return
        line.state, line.stereotype = str(state), stereotype

    def _attributes(self, attributes: Any, line: Line, report: Report) -> None:
        if not isinstance(attributes, dict):
            report("attributes must be an object")
            return
        known = {each.key: each.attribute for each in line.type.properties if each.attribute}
        for name, values in attributes.items():
            if not isinstance(values, dict):
                report(f"{name}: expected values by culture id")
            elif name in STAMPS or name == "version":
                self._column(name, values, line, report)
            elif name in DERIVED:
                report(f"{name}: is derived and cannot be imported")
            elif name not in known:
                report(f"{name}: the type {line.type.key} has no such attribute")
            else:
                attribute = known[name]
                for culture, value in values.items():
                    allowed = {str(INVARIANT_CULTURE)} if attribute.is_invariant_culture else self.cultures
                    if culture not in allowed:
                        report(
                            f"{name}[{culture}]: the culture is not possible; possible: {', '.join(sorted(allowed))}"
                        )
                    elif problem := value_problem(attribute, value):
                        report(f"{name}[{culture}]: {problem}")
                line.attributes[name] = values
        if line.type.is_versioned and line.major is None:
            report("version: a versioned element needs a version such as 1.0")

    def _column(self, name: str, values: dict[str, Any], line: Line, report: Report) -> None:
        if set(values) != {str(INVARIANT_CULTURE)}:
            report(f"{name}: expected one value, for the culture {INVARIANT_CULTURE}")
            return
        value = values[str(INVARIANT_CULTURE)]
        if name != "version":
            moment = read_date_time(value)
            if moment is None:
                report(f"{name}: must be a date-time such as 2026-12-31T13:45:00")
            else:
                line.stamps[name] = moment.replace(tzinfo=self.zone)
            return
        parts = VERSION.fullmatch(value) if isinstance(value, str) and line.type.is_versioned else None
        if parts is None:
            report("version: must be <major>.<minor>, on a versioned element")
        else:
            line.major, line.minor = int(parts[1]), int(parts[2])

    def _related(self, related: Any, line: Line, report: Report) -> None:
        if not isinstance(related, dict):
            report("related must be an object")
            return
        known = {each.key: each.related for each in line.type.properties if each.related}
        for name, references in related.items():
            if name == "releaseHistory" or (name not in known and name not in CALLERS):
                report(f"{name}: {'is derived' if name == 'releaseHistory' else 'no such context'}")
                continue
            found = list(self._ids(references, name, line, report))
            limit = 1 if name in CALLERS else known[name].max_occurrence
            if len(found) > limit:
                report(f"{name}: {len(found)} references, at most {limit} are possible")
            if found:
                line.related[name] = found

    def _content(self, content: Any, line: Line, report: Report) -> None:
        if content and not line.type.has_diagram:
            report(f"content: the type {line.type.key} has no diagram")
        if not isinstance(content, list):
            report("content must be a list")
            return
        for index, item in enumerate(content):
            properties = item.get("properties") if isinstance(item, dict) else None
            if not isinstance(properties, dict):
                report(f"content[{index}]: expected an element with properties")
                continue
            shape = _guid(properties.get("shapeId"), f"content[{index}].shapeId", report)
            element = _guid(item.get("id"), f"content[{index}].id", report)
            before = [
                _guid(each.get("properties", {}).get("shapeId"), f"content[{index}].predecessors", report)
                for each in properties.get("predecessors", [])
                if isinstance(each, dict)
            ]
            if shape and element:
                self._claim(item, element, f"content[{index}]", line, report)
                line.content.append(ShapeLine(shape, element, tuple(each for each in before if each)))
        shapes = [each.id for each in line.content]
        if len(set(shapes)) != len(shapes):
            report("content: a shape stands twice")
        for each in line.content:
            for missing in set(each.predecessors) - set(shapes):
                report(f"content: the predecessor {missing} is no shape of this diagram")

    def _ids(self, references: Any, place: str, line: Line, report: Report) -> Iterator[str]:
        if not isinstance(references, list):
            report(f"{place} must be a list of references")
            return
        for index, reference in enumerate(references):
            if not isinstance(reference, dict):
                report(f"{place}[{index}]: expected a reference")
            elif (found := _guid(reference.get("id"), f"{place}[{index}].id", report)) is not None:
                self._claim(reference, found, f"{place}[{index}]", line, report)
                yield found

    def _claim(self, reference: dict[str, Any], target: str, place: str, line: Line, report: Report) -> None:
        type = self.configuration.types.get(str(reference.get("type")))
        if type is None or reference.get("facetName") != type.facet:
            report(f"{place}: there is no type {reference.get('type')!r} in the facet {reference.get('facetName')!r}")
        elif line.claims.setdefault(target, type.key) != type.key:
            report(f"{place}: {target} is said to be a {line.claims[target]} and a {type.key}")


def _guid(value: Any, place: str, report: Report) -> str | None:
    """In lower case (D1). Ids stay texts here: as objects they would cost more than all else that is done to a line."""
    if isinstance(value, str) and GUID.fullmatch(value):
        return value.lower()
    report(f"{place}: {str(value)[:80]!r} is no GUID")
    return None
