"""The elements of a request as values: what a client wrote, checked for its form and not yet for its sense (D15).

What the server owns is accepted and passed over here, so that what was read can be posted back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from elements import derived
from elements.reading.assembly.projection import REPORTING_ATTRIBUTES
from elements.writing.findings import Findings, Kind
from repository_site.core.wording import GUID, printable

TEXTS = ("type", "facetName", "state", "stereotype")
# Accepted in an element and passed over.
SERVER_FIELDS = frozenset(
    {"creationId", "displayNames", "expandUri", "children", "content", "versions", "properties", "setReadOnly"}
)
FIELDS = frozenset({"id", "versionId", *TEXTS, "attributes", "related", "rootPath"}) | SERVER_FIELDS
# Attributes that no client sets. validFrom and validUntil are columns as well, but the client's to set.
SERVER_ATTRIBUTES = frozenset(
    {
        "changedOn", "createdOn", "relOn", derived.VERSION, derived.STATE, derived.IS_RELEASED, derived.PAGE_ADDRESS,
        derived.AUTHOR_NOTE, *REPORTING_ATTRIBUTES,
    }
)  # fmt: skip
SERVER_CONTEXTS = frozenset({*derived.CALLERS, derived.RELEASE_HISTORY})


@dataclass(slots=True)
class ReferenceInput:
    """An element that is named by its id or by that of one of its versions, or that is to be made."""

    place: str
    id: str | None = None
    version: str | None = None
    type: str | None = None
    facet: str | None = None
    stereotype: str | None = None
    attributes: dict[str, dict[str, Any]] | None = None
    has_attributes: bool = False
    """Also beside an id, where they are passed over: what was read may hold them."""

    @property
    def names_something(self) -> bool:
        return self.id is not None or self.version is not None


@dataclass(slots=True)
class ElementInput:
    """`root_path` None means that the request says nothing about the place in the tree."""

    place: str
    id: str | None = None
    version: str | None = None
    type: str | None = None
    facet: str | None = None
    state: str | None = None
    stereotype: str | None = None
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict)
    related: dict[str, list[ReferenceInput]] = field(default_factory=dict)
    root_path: list[ReferenceInput] | None = None

    @property
    def is_new(self) -> bool:
        return self.id is None and self.version is None

    @property
    def makes(self) -> int:
        """How many elements its references describe instead of naming them."""
        return sum(not each.names_something for held in self.related.values() for each in held)


class InputReader:
    """Reads one request; what has not the right form joins the findings."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings

    def elements(self, document: Any) -> list[ElementInput]:
        """The body of an update: `elements` (or `values`, as they are called below 4.0) and perhaps `count`."""
        if not isinstance(document, dict):
            self.wrong("body", "expected an object with elements")
            return []
        for key in document.keys() - {"count", "elements", "values"}:
            self.wrong("body", f"unknown field {printable(key, 40)!r}; there are count and elements")
        names = [name for name in ("elements", "values") if name in document]
        if len(names) != 1 or not isinstance(document[names[0]], list):
            self.wrong("body", "expected a list of elements")
            return []
        found = document[names[0]]
        count = document.get("count")
        if count is not None and (isinstance(count, bool) or count != len(found)):
            self.wrong("count", f"is {printable(str(count), 40)}, but there are {len(found)} elements")
        return [self.element(each, f"{names[0]}[{index}]") for index, each in enumerate(found)]

    def element(self, document: Any, place: str) -> ElementInput:
        found = ElementInput(place)
        if not isinstance(document, dict):
            self.wrong(place, "expected an element")
            return found
        self.identity(document, found, place)
        if found.version or found.id:
            place = found.place = f"{place} {found.version or found.id}"
        for key in document.keys() - FIELDS:
            self.wrong(place, f"an element has no field {printable(key, 40)!r}")
        found.state = self.text(document, "state", place)
        found.attributes = self.attributes(document.get("attributes"), place)
        found.related = self.related(document.get("related"), place)
        if document.get("rootPath") is not None:
            found.root_path = list(self.references(document["rootPath"], f"{place}: rootPath"))
        return found

    def identity(self, document: dict[str, Any], found: ElementInput | ReferenceInput, place: str) -> None:
        found.id = self.guid(document, "id", place)
        found.version = self.guid(document, "versionId", place)
        found.type = self.text(document, "type", place)
        found.facet = self.text(document, "facetName", place)
        found.stereotype = self.text(document, "stereotype", place)

    def attributes(self, document: Any, place: str) -> dict[str, dict[str, Any]]:
        """Without those of the server."""
        if document is None:
            return {}
        if not isinstance(document, dict):
            self.wrong(f"{place}: attributes", "expected values by name and culture")
            return {}
        found = {}
        for name, values in document.items():
            if name in SERVER_ATTRIBUTES:
                continue
            if not isinstance(values, dict):
                self.wrong(f"{place}: {printable(name, 100)}", "expected values by culture id")
            else:
                found[name] = values
        return found

    def related(self, document: Any, place: str) -> dict[str, list[ReferenceInput]]:
        if document is None:
            return {}
        if not isinstance(document, dict):
            self.wrong(f"{place}: related", "expected lists of references by context")
            return {}
        return {
            name: list(self.references(values, f"{place}: {printable(name, 100)}"))
            for name, values in document.items()
            if name not in SERVER_CONTEXTS
        }

    def references(self, document: Any, place: str) -> Iterator[ReferenceInput]:
        if not isinstance(document, list):
            self.wrong(place, "expected a list of references")
            return
        for index, each in enumerate(document):
            found = self.reference(each, f"{place}[{index}]")
            if found is not None:
                yield found

    def reference(self, document: Any, place: str) -> ReferenceInput | None:
        """An element by its id; or, without one, its type and attributes, to be made."""
        if not isinstance(document, dict):
            self.wrong(place, "expected a reference")
            return None
        found = ReferenceInput(place)
        self.identity(document, found, place)
        for key in document.keys() - FIELDS:
            self.wrong(place, f"an element has no field {printable(key, 40)!r}")
        attributes = self.attributes(document.get("attributes"), place)
        found.has_attributes = bool(attributes)
        if not found.names_something and document.get("attributes") is not None:
            found.attributes = attributes
            for key in ("related", "rootPath", "state"):
                if document.get(key):
                    self.findings.add(Kind.INVALID, f"{place}: {key}", "is not possible for what is made here")
        return found

    def guid(self, document: dict[str, Any], name: str, place: str) -> str | None:
        """In lower case (D1)."""
        value = document.get(name)
        if value is None:
            return None
        if isinstance(value, str) and GUID.fullmatch(value):
            return value.lower()
        self.wrong(f"{place}: {name}", f"{printable(str(value), 80)!r} is no GUID")
        return None

    def text(self, document: dict[str, Any], name: str, place: str) -> str | None:
        value = document.get(name)
        if value is None or isinstance(value, str):
            return value
        self.wrong(f"{place}: {name}", "expected a text")
        return None

    def wrong(self, place: str, text: str) -> None:
        self.findings.add(Kind.UNREADABLE, place, text)
