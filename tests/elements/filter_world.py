"""Elements for testing filters against the database: a template with everything in it, rows as plain values, and the
wire form of a row, implemented a second time so that neither the reader nor the compiler is tested against itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5
from zoneinfo import ZoneInfo

from django.db import connection, transaction
from django.utils.functional import cached_property

from elements.filters import read_filter
from elements.filters.binding import BoundExpression, Vocabulary
from elements.filters.compiling import FilterCompiler
from elements.filters.conditions import Condition
from elements.models import Element
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute, ElementType, Property
from facets.configuration import Configuration, configuration_of
from repository_site.core.rest.rendering import to_json
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.cycles import STANDARD_CYCLES, category
from tests.elements.filter_evaluation import WireElement, matches
from tests.factories import StorageFactory

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
ZONES = (BERLIN, NEW_YORK, ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Pacific/Apia"))
SELECT = "SELECT v.id FROM elements_element e JOIN elements_elementversion v ON v.element_id = e.id WHERE "
ADDRESS = "https://repo.example/acme/handbook"
SOME_DAY = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NAMESPACE = UUID("7e570000-0000-4000-8000-000000000000")
CULTURES = ("1031", "1033")
NOTES = {
    "1031": "Nur der Autor, weitere Autoren und Architekten dürfen dieses Element ändern.",
    "1033": "Only the author, further authors and architects may change this element.",
}
OPEN = {"inProcess", "inReview", "readyForQa", "readyForRelease"}
PUBLISHED = {"released", "inEffect", "requestToExpire"}
STATES = (*sorted(OPEN), *sorted(PUBLISHED), "expired")
KEYS = ("s", "m", "Größe L")
STAMPS = ("changedOn", "createdOn", "relOn", "validFrom", "validUntil")
REPORTING = {
    "majorVersion": DataType.INTEGER,
    "minorVersion": DataType.INTEGER,
    "isReleasedOrLastInProcess": DataType.BOOLEAN,
    "isLastInProcessOrReleased": DataType.BOOLEAN,
}


def identity(name: object) -> UUID:
    return uuid5(NAMESPACE, str(name))


def attribute(key: str, data_type: str, by_culture: bool = False) -> dict[str, Any]:
    values = {"selectableValues": [{"key": each, "displayNames": {"1033": each}} for each in KEYS]}
    return {
        "key": key,
        "displayNames": {"1033": key},
        "attribute": {
            "dataType": data_type,
            "isInvariantCulture": not by_culture,
            **(values if "Selection" in data_type else {}),
        },
    }


def context(key: str, facet: str = "people") -> dict[str, Any]:
    return {"key": key, "displayNames": {"1033": key}, "related": {"facet": facet}}


def type_of(facet: str, properties: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    names = {"displayNames": {"1033": "X"}, "color": "#007ACC", "elementTypeName": "X", "entityTypeName": "X"}
    return {"facet": facet, **names, "properties": properties, **fields}


NAME = attribute("name", "MultiLineText", by_culture=True)
RECORD = [attribute("changedOn", "DateTime"), attribute("createdOn", "DateTime"), context("changedBy")]
RELEASE = [
    *(attribute(key, "SingleLineText") for key in ("version", "state1", "stereotype")),
    *(attribute(key, "DateTime") for key in ("relOn", "validFrom", "validUntil")),
    attribute("isReleased", "Boolean"),
    context("createdBy"),
    context("relBy"),
]
LINKS = [attribute("gotoUrl", "Url", by_culture=True), attribute("authorNote", "SingleLineText", by_culture=True)]
# One attribute of each data type, with its name. The types define size, note and held differently.
TEMPLATE = {
    "name": "filters",
    "releaseCycles": STANDARD_CYCLES,
    "title": "Filters",
    "cultures": {"data": [1031, 1033], "default": 1033, "mandatory": [1033]},
    "facets": {
        "things, étc.": {"displayNames": {"1033": "Things"}, "typeName": "Things", "views": "plain"},
        "people": {"displayNames": {"1033": "People"}, "typeName": "People", "views": "plain"},
    },
    "viewSets": {"plain": {"detail": {"displayNames": {"1033": "All"}, "key": "All", "properties": "all"}}},
    "types": {
        "box": type_of(
            "things, étc.",
            [
                *(attribute(each.value, each.value) for each in DataType),
                *(attribute(f"local{each}", each, by_culture=True) for each in ("Files", "Date", "Decimal")),
                *(NAME, *RECORD, *RELEASE, *LINKS),
                *(attribute("size", "Integer"), attribute("note", "SingleLineText")),
                *(context("owner"), context("author"), context("secondaryAuthors"), context("held")),
                context("releaseHistory", "things, étc."),
            ],
            isVersioned=True,
        ),
        "bag": type_of(
            "things, étc.",
            [
                *(NAME, *RECORD, *LINKS, attribute("state1", "SingleLineText"), attribute("isReleased", "Boolean")),
                *(attribute("size", "SelectionValue"), attribute("note", "SingleLineText", by_culture=True)),
                *(attribute("held", "Date"), attribute("id", "Integer"), context("author")),
                context("releaseHistory", "things, étc."),
            ],
            staticState="show",
        ),
        "dot": type_of(
            "things, étc.", [NAME, *LINKS, attribute("state1", "SingleLineText"), attribute("version", "SingleLineText"), context("owner")]
        ),
        "person": type_of("people", [NAME, *RECORD, LINKS[0], context("secondaryAuthors")], isVersioned=True),
    },
}  # fmt: skip


@dataclass
class FilteredVersion:
    id: UUID
    state: str = ""
    major: int | None = None
    minor: int | None = None
    stereotype: str = ""
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict)
    stamps: dict[str, datetime] = field(default_factory=dict)
    callers: dict[str, UUID] = field(default_factory=dict)
    references: dict[str, list[UUID]] = field(default_factory=dict)

    @property
    def times(self) -> dict[str, datetime]:
        return {"changedOn": SOME_DAY, "createdOn": SOME_DAY, **self.stamps}


@dataclass
class Thing:
    """An element; `newest` and `published` are positions in its list of versions."""

    id: UUID
    type: str
    versions: list[FilteredVersion]
    newest: int = -1
    published: int | None = None
    creation_id: UUID | None = None

    @property
    def creation(self) -> UUID:
        return self.creation_id or self.id

    @property
    def newest_version(self) -> FilteredVersion:
        return self.versions[self.newest]

    @property
    def published_version(self) -> FilteredVersion | None:
        return None if self.published is None else self.versions[self.published]


def store(storage: Storage, configuration: Configuration, things: Sequence[Thing]) -> None:
    """Set the pointers last, because an element and its versions point to each other."""
    elements = [(each.id, each.creation, configuration.type_ids[each.type], 0) for each in things]
    versions = [version_row(each, own) for each in things for own in each.versions]
    references = [
        (identity(("reference", own.id, name, place)), own.id, name, place, target)
        for each in things
        for own in each.versions
        for name, targets in own.references.items()
        for place, target in enumerate(targets)
    ]
    with tenant_scope(storage):
        insert("elements_element", "id, creation_id, type_id, position", elements)
        insert("elements_elementversion", VERSION_COLUMNS, versions)
        insert("elements_reference", "id, version_id, context, position, target_id", references)
        for each in things:
            published = each.published_version
            Element.objects.filter(id=each.id).update(
                newest_id=each.newest_version.id, published_id=published and published.id
            )


def insert(table: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
    places = ", ".join("%s" for _ in columns.split(","))
    with connection.cursor() as cursor:
        for row in rows:
            cursor.execute(f"INSERT INTO {table} ({columns}) VALUES ({places})", row)


VERSION_COLUMNS = (
    "id, element_id, state, category, major, minor, stereotype, attributes, sort_name, changed_on, created_on,"
    " released_on, valid_from, valid_until, changed_by_id, created_by_id, released_by_id"
)


def version_row(thing: Thing, own: FilteredVersion) -> list[Any]:
    return [
        own.id, thing.id, own.state, category(own.state), own.major, own.minor, own.stereotype,
        to_json(own.attributes).decode(), "",
        *(own.times.get(name) for name in STAMPS),
        *(own.callers.get(name) for name in ("changedBy", "createdBy", "relBy")),
    ]  # fmt: skip


def with_reporting(type: ElementType) -> ElementType:
    """Return a type with the attributes that reporting adds (D14)."""
    extra = (Property(key, (), attribute=Attribute(data_type, True)) for key, data_type in REPORTING.items())
    return replace(type, properties=(*type.properties, *extra))


@dataclass(frozen=True)
class FilterReader:
    """Builds wire forms for one audience."""

    types: dict[str, ElementType]
    zone: ZoneInfo
    sees_drafts: bool
    things: dict[UUID, Thing]

    def wire(self, thing: Thing, own: FilteredVersion) -> dict[str, Any]:
        type = self.types[thing.type]
        attributes = {
            each.key: self.attribute(each.key, type, thing, own) for each in type.properties if each.attribute
        }
        related = {each.key: self.targets(each.key, type, thing, own) for each in type.properties if each.related}
        fields = {
            "id": str(thing.id),
            "versionId": str(own.id) if type.is_versioned else None,
            "creationId": None if type.is_versioned else str(thing.creation),
            "type": type.key,
            "facetName": type.facet,
            "state": own.state if type.is_versioned else None,
            "stereotype": own.stereotype,
            "attributes": {key: values for key, values in attributes.items() if values},
            "related": {key: [{"id": str(each)} for each in targets] for key, targets in related.items() if targets},
        }
        return {key: value for key, value in fields.items() if value}

    def attribute(self, key: str, type: ElementType, thing: Thing, own: FilteredVersion) -> dict[str, Any]:
        if key == "gotoUrl":
            facet = {"people": "people", "things, étc.": "things%2C%20%C3%A9tc."}[type.facet]
            return {lcid: f"{ADDRESS}/{lcid}/{facet}/{own.id}" for lcid in CULTURES}
        if key == "authorNote":
            contexts = {each.key for each in type.properties if each.related} & {"author", "secondaryAuthors"}
            return NOTES if any(own.references.get(each) for each in contexts) else {}
        if key in STAMPS:
            return {"127": self.local(own.times[key])} if key in own.times else {}
        if key not in {"version", "state1", "stereotype", "isReleased", *REPORTING}:
            return own.attributes.get(key, {})
        value = self.derived(key, type, thing, own)
        return {} if value is None else {"127": value}

    def derived(self, key: str, type: ElementType, thing: Thing, own: FilteredVersion) -> Any:
        newest, published = thing.newest_version, thing.published_version
        match key:
            case "version":
                return None if own.major is None else f"{own.major}.{own.minor}"
            case "state1":
                return (own.state if type.is_versioned else type.static_state) or None
            case "stereotype":
                return own.stereotype or None
            case "majorVersion":
                return own.major
            case "minorVersion":
                return own.minor
        if not type.is_versioned:
            return None
        if key == "isReleased":
            return own.state in PUBLISHED
        if key == "isReleasedOrLastInProcess":
            return own is (published or (newest if newest.state in OPEN else None))
        return own is (newest if newest.state in OPEN else published)

    def local(self, instant: datetime) -> str:
        return instant.astimezone(self.zone).replace(tzinfo=None).isoformat()

    def targets(self, key: str, type: ElementType, thing: Thing, own: FilteredVersion) -> list[UUID]:
        if key == "releaseHistory":
            seen = (
                thing.versions
                if self.sees_drafts
                else [each for each in thing.versions if each is thing.published_version]
            )
            released = [each for each in seen if "relOn" in each.times or each.state in PUBLISHED | {"expired"}]
            return [thing.id for _ in released] if type.is_versioned else []
        if key in ("changedBy", "createdBy", "relBy"):
            named = [own.callers[key]] if key in own.callers else []
        else:
            named = own.references.get(key, [])
        return [each for each in named if self.sees_drafts or self.things[each].published is not None]


@dataclass
class FilterWorld:
    """Elements in a storage. A rival storage has the same rows with the same ids, so a leak finds them twice."""

    storage: Storage
    configuration: Configuration
    things: dict[str, Thing]

    @cached_property
    def types(self) -> dict[str, Any]:
        return {key: with_reporting(type) for key, type in self.configuration.types.items()}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of(self.types.values(), self.configuration.cultures.data)

    @cached_property
    def wires(self) -> dict[tuple[ZoneInfo, bool], dict[str, WireElement]]:
        by_id = {each.id: each for each in self.things.values()}
        readers = [FilterReader(self.types, zone, sees, by_id) for zone in ZONES for sees in (True, False)]
        return {
            (reader.zone, reader.sees_drafts): {
                str(own.id): reader.wire(each, own) for each in by_id.values() for own in each.versions
            }
            for reader in readers
        }

    def read(self, filter: str, cultures: tuple[int, ...] = ()) -> BoundExpression:
        return read_filter(filter, self.vocabulary, cultures)

    def compiled(self, expression: BoundExpression, zone: ZoneInfo = BERLIN, sees_drafts: bool = True) -> Condition:
        return FilterCompiler(self.configuration, zone, ADDRESS, sees_drafts).compile(expression)

    def found(self, expression: BoundExpression, zone: ZoneInfo = BERLIN, sees_drafts: bool = True) -> list[str]:
        """Return the ids that a filter finds, in the scope of the storage."""
        return self.selected(self.compiled(expression, zone, sees_drafts))

    def selected(self, condition: Condition) -> list[str]:
        with connection.cursor() as cursor:
            cursor.execute(SELECT + condition.sql, condition.parameters)
            return sorted(str(row[0]) for row in cursor.fetchall())

    def expected(self, expression: BoundExpression, zone: ZoneInfo = BERLIN, sees_drafts: bool = True) -> list[str]:
        return sorted(id for id, wire in self.wires[zone, sees_drafts].items() if matches(expression, wire))


@contextmanager
def filter_world(name: str, things: dict[str, Thing], folder: Path) -> Iterator[FilterWorld]:
    """One transaction for a whole module of tests, none of which writes."""
    template = folder / "filters.json"
    template.write_text(json.dumps(TEMPLATE), encoding="utf-8")
    with transaction.atomic():
        for collection in ("rival", "acme"):
            storage = StorageFactory.create(collection=collection, key=name, template=str(template))
            store(storage, configuration_of(storage), list(things.values()))
        yield FilterWorld(storage, configuration_of(storage), things)
        transaction.set_rollback(True)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
