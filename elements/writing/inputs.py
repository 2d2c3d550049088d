"""Elements of a request as values, checked for their form only (D15).

Read-only fields are accepted and ignored here, so that clients can post back what they have read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from elements import derived
from elements.reading.assembly.projection import REPORTING_ATTRIBUTES
from elements.writing.findings import Findings, invalid
from repository_site.core.problems import Unreadable
from repository_site.core.wording import GUID, printable

TEXTS = ("type", "facetName", "state", "stereotype")
# Read-only fields, ignored on write.
SERVER_FIELDS = frozenset(
    {"creationId", "displayNames", "expandUri", "children", "content", "versions", "properties", "setReadOnly"}
)
FIELDS = frozenset({"id", "versionId", *TEXTS, "attributes", "related", "rootPath"}) | SERVER_FIELDS
POSITION = "position"
# A position after all children.
LAST = 2**31 - 1
# Fields that an element does not have although clients expect them, with the field to use instead.
_PARENT = 'rootPath, such as "rootPath": [{"id": "…"}]'
INSTEAD = {
    "name": 'attributes, such as "attributes": {"name": {"1033": "Order parts"}}',
    "parent": _PARENT,
    "parentId": _PARENT,
}
# Read-only attributes, ignored on write. validFrom and validUntil are columns as well, but clients may set them.
SERVER_ATTRIBUTES = frozenset(
    {
        "changedOn", "createdOn", "relOn", derived.VERSION, derived.STATE, derived.IS_RELEASED, derived.PAGE_ADDRESS,
        derived.AUTHOR_NOTE, *REPORTING_ATTRIBUTES,
    }
)  # fmt: skip
SERVER_CONTEXTS = frozenset({*derived.CALLERS, derived.RELEASE_HISTORY})


@dataclass(slots=True)
class IdentifiedInput:
    place: str
    id: str | None = None
    version: str | None = None
    type: str | None = None
    facet: str | None = None
    stereotype: str | None = None
    related: dict[str, list[ReferenceInput]] = field(default_factory=dict)
    """New elements in a reference have none, except those that are drawn."""

    @property
    def names_something(self) -> bool:
        return self.id is not None or self.version is not None

    @property
    def makes(self) -> int:
        """Number of elements to create for references."""
        return sum(not each.names_something for held in self.related.values() for each in held)


@dataclass(slots=True)
class ReferenceInput(IdentifiedInput):
    """A reference to an element by its id or by the id of a version, or the description of an element to create."""

    attributes: dict[str, dict[str, Any]] | None = None
    has_attributes: bool = False
    """True also for attributes beside an id, which are ignored because a client may post back what it has read."""

    @property
    def says(self) -> tuple[Any, ...]:
        """Everything that the request says, wherever it says so."""
        related = {name: [each.says for each in held] for name, held in self.related.items()}
        return self.id, self.version, self.type, self.stereotype, self.attributes, related


@dataclass(frozen=True, slots=True)
class PositionInput:
    """A place among the children of a parent: a number from 0 on, or the sibling before or after it (D480)."""

    number: int | None = None
    before: str | None = None
    after: str | None = None


@dataclass(slots=True)
class ElementInput(IdentifiedInput):
    """One element to update or create. `root_path` is None when the request is silent about the place in the tree, and
    `position` when it is silent about the order of siblings."""

    state: str | None = None
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict)
    root_path: list[ReferenceInput] | None = None
    position: PositionInput | None = None


class InputReader:
    def __init__(self, findings: Findings) -> None:
        self.findings = findings

    def elements(self, document: Any) -> list[ElementInput]:
        """Read the body of an update: `elements` (`values` before 4.0) and an optional `count`."""
        if not isinstance(document, dict):
            self.wrong("body", 'expected an object with elements, such as {"elements": [{"type": "system"}]}')
            return []
        for key in document.keys() - {"count", "elements", "values"}:
            self.wrong("body", f"unknown field {printable(key, 40)!r}; allowed: count and elements")
        names = [name for name in ("elements", "values") if name in document]
        if len(names) != 1 or not isinstance(document[names[0]], list):
            self.wrong("body", 'expected a list of elements, such as {"elements": [{"type": "system"}]}')
            return []
        found = document[names[0]]
        count = document.get("count")
        if count is not None and (isinstance(count, bool) or count != len(found)):
            self.wrong(
                "count",
                f"is {printable(str(count), 40)}, but the list has {len(found)} elements; correct it or leave it out",
            )
        return [self.element(each, f"{names[0]}[{index}]") for index, each in enumerate(found)]

    def element(self, document: Any, place: str) -> ElementInput:
        found = ElementInput(place)
        if not isinstance(document, dict):
            self.wrong(place, 'expected an element, such as {"id": "…", "attributes": {…}}')
            return found
        self.identity(document, found, place)
        if found.version or found.id:
            place = found.place = f"{place} {found.version or found.id}"
        self.refuse_unknown(document, place, FIELDS | {POSITION})
        found.state = self.text(document, "state", place)
        found.attributes = self.attributes(document.get("attributes"), place)
        found.related = self.related(document.get("related"), place)
        if document.get("rootPath") is not None:
            found.root_path = list(self.references(document["rootPath"], f"{place}: rootPath"))
        found.position = self.position(document.get(POSITION), f"{place}: {POSITION}")
        return found

    def position(self, document: Any, place: str) -> PositionInput | None:
        """Read the place among siblings: a number, or one sibling."""
        if document is None:
            return None
        if isinstance(document, int) and not isinstance(document, bool) and document >= 0:
            return PositionInput(document)
        if isinstance(document, dict) and len(document) == 1 and (key := next(iter(document))) in ("before", "after"):
            sibling = self.guid(document, key, place)
            return PositionInput(before=sibling if key == "before" else None, after=sibling if key == "after" else None)
        self.wrong(place, 'expected a number from 0 on, {"before": "…"} or {"after": "…"} with the id of a sibling')
        return None

    def identity(self, document: dict[str, Any], found: IdentifiedInput, place: str) -> None:
        found.id = self.guid(document, "id", place)
        found.version = self.guid(document, "versionId", place)
        found.type = self.text(document, "type", place)
        found.facet = self.text(document, "facetName", place)
        found.stereotype = self.text(document, "stereotype", place)

    def attributes(self, document: Any, place: str) -> dict[str, dict[str, Any]]:
        if document is None:
            return {}
        if not isinstance(document, dict):
            self.wrong(
                f"{place}: attributes", 'expected values by name and culture, such as {"name": {"1033": "Order parts"}}'
            )
            return {}
        found = {}
        for name, values in document.items():
            if name in SERVER_ATTRIBUTES:
                continue
            if not isinstance(values, dict):
                self.wrong(
                    f"{place}: {printable(name, 100)}", 'expected values by culture, such as {"1033": "Order parts"}'
                )
            else:
                found[name] = values
        return found

    def related(self, document: Any, place: str) -> dict[str, list[ReferenceInput]]:
        if document is None:
            return {}
        if not isinstance(document, dict):
            self.wrong(
                f"{place}: related", 'expected lists of references by context, such as {"systems": [{"id": "…"}]}'
            )
            return {}
        return {
            name: list(self.references(values, f"{place}: {printable(name, 100)}"))
            for name, values in document.items()
            if name not in SERVER_CONTEXTS
        }

    def references(self, document: Any, place: str) -> Iterator[ReferenceInput]:
        if not isinstance(document, list):
            self.wrong(place, 'expected a list of references, such as [{"id": "…"}]')
            return
        for index, each in enumerate(document):
            found = self.reference(each, f"{place}[{index}]")
            if found is not None:
                yield found

    def reference(self, document: Any, place: str) -> ReferenceInput | None:
        """Read a reference: the id of an element, or type and attributes of an element to create."""
        if not isinstance(document, dict):
            self.wrong(place, 'expected a reference, such as {"id": "…"}')
            return None
        found = ReferenceInput(place)
        self.identity(document, found, place)
        self.refuse_unknown(document, place)
        attributes = self.attributes(document.get("attributes"), place)
        found.has_attributes = bool(attributes)
        if not found.names_something and document.get("attributes") is not None:
            found.attributes = attributes
            for key in ("related", "rootPath", "state"):
                if document.get(key):
                    text = "is not allowed for a new element in a reference; create the element in a separate update"
                    self.findings.note(invalid(f"{place}: {key}", text))
        return found

    def drawn(self, document: Any, place: str) -> ReferenceInput | None:
        """Read an element to draw: the id of an existing one, or type, attributes and references of a new one."""
        if not isinstance(document, dict):
            return self.reference(document, place)
        found = self.reference({**document, "related": None}, place)
        if found is not None and not found.names_something:
            found.related = self.related(document.get("related"), place)
        return found

    def guid(self, document: dict[str, Any], name: str, place: str) -> str | None:
        """Return a GUID in lower case (D1)."""
        value = document.get(name)
        if value is None:
            return None
        if isinstance(value, str) and GUID.fullmatch(value):
            return value.lower()
        self.wrong(f"{place}: {name}", f"{printable(str(value), 80)!r} is not a GUID")
        return None

    def text(self, document: dict[str, Any], name: str, place: str) -> str | None:
        value = document.get(name)
        if value is None or isinstance(value, str):
            return value
        self.wrong(f"{place}: {name}", "expected text")
        return None

    def refuse_unknown(self, document: dict[str, Any], place: str, known: frozenset[str] = FIELDS) -> None:
        for key in document.keys() - known:
            hint = f"; use {INSTEAD[key]}" if key in INSTEAD else self.findings.hint(key, known - SERVER_FIELDS)
            self.wrong(place, f"an element has no field {printable(key, 40)!r}{hint}")

    def wrong(self, place: str, text: str) -> None:
        self.findings.add(Unreadable, place, text)
