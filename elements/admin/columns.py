"""Columns of the element list that people choose: attributes, and orders in which missing values come last (D478)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import orjson
from django.db.models import OrderBy, OuterRef, Subquery
from django.db.models.expressions import RawSQL
from django.http import HttpRequest
from django.utils.text import Truncator

from elements.admin.labels import OfficeLabels, labels_of
from elements.admin.listing.type_filters import ElementFacetFilter, TypeFilter
from elements.admin.saved_lists import COLUMNS
from elements.models import Element, ElementVersion, Reference
from elements.naming import NAME
from elements.presentation.values import plain_value
from elements.reading.assembly.projection import DERIVED
from elements.reading.lists.ordering import UNSORTED_TYPES, attribute_key
from elements.reading.names import choose
from elements.reading.rows import VersionRow
from facets.blueprint.definitions import ElementType, Property, SelectableValue
from repository_site.core.database.prepared import Row
from repository_site.core.database.statements import Question, id_array, text_array
from storage.localisation.cultures import fallback_order

PREFIX = "a."
# Columns with attributes in one list, characters of a value that is read, and of one that is shown.
MOST_ATTRIBUTES, LONGEST_READ, LONGEST_SHOWN = 10, 20_000, 100
TABLES = {"e": Element._meta.db_table, "v": ElementVersion._meta.db_table}


class _MissingLast:
    """An order in which missing values come last in both directions, as for `$orderBy`."""

    def asc(self: Any, **options: Any) -> OrderBy:
        return OrderBy(self, nulls_last=True)

    def desc(self: Any, **options: Any) -> OrderBy:
        return OrderBy(self, descending=True, nulls_last=True)


class PersonName(_MissingLast, Subquery):
    """The name of the first person in some contexts of the newest version."""

    def __init__(self, contexts: Collection[str]) -> None:
        named = Reference.objects.filter(version_id=OuterRef("newest_id"), context__in=sorted(contexts))
        # `author` comes before `secondaryAuthors`.
        super().__init__(named.order_by("context", "position").values("target__newest__sort_name")[:1])


class _AttributeOrder(_MissingLast, RawSQL):
    """The value of an attribute in the culture of the page, or that which stands in for it."""


class AttributeColumn:
    """A column of the list, as Django's admin calls it."""

    def __init__(self, labels: OfficeLabels, key: str) -> None:
        self.key = key
        # Names of style classes contain no dots.
        self.__name__ = f"attribute-{key}"
        self.short_description = labels.titles[key]
        cultures = fallback_order(labels.lcid, labels.configuration.cultures)
        found = attribute_key(labels.configuration, key, cultures, partial(_label, labels))
        # `listed_elements` has the tables under their own names.
        sql = re.sub(r"\b([ev])\.(?=type_id|attributes)", lambda table: f"{TABLES[table[1]]}.", found.sql)
        self.admin_order_field = _AttributeOrder(sql, found.parameters)

    def __call__(self, element: Element) -> str:
        values: Mapping[str, str] = element.listed.values  # type: ignore[attr-defined]  # set by list_rows
        return values.get(self.key, "")


def _label(labels: OfficeLabels, value: SelectableValue) -> str:
    return labels.text(value.display_names, value.key or "")


def attribute_columns(request: HttpRequest) -> list[AttributeColumn]:
    """Return the columns that the address of the list names, in the order of their titles."""
    given = {each.removeprefix(PREFIX) for each in request.GET.get(COLUMNS, "").split(",") if each.startswith(PREFIX)}
    if not given:
        return []
    labels = labels_of(request)
    known = given & _attributes(labels.configuration.types.values())
    ordered = sorted(known, key=lambda key: (labels.titles[key].casefold(), key))
    return [AttributeColumn(labels, key) for key in ordered[:MOST_ATTRIBUTES]]


def offered_attributes(request: HttpRequest, shown: Collection[str]) -> list[tuple[str, str, bool]]:
    """Return value and title of each attribute of the types that the list shows, and whether it is a column."""
    labels = labels_of(request)
    facet, key = (request.GET.get(each.parameter_name) for each in (ElementFacetFilter, TypeFilter))
    types = labels.configuration.types.values()
    listed = [each for each in types if key in (None, each.key) and facet in (None, each.facet)]
    found = sorted((labels.titles[key], key) for key in _attributes(listed) | {*shown})
    return [(f"{PREFIX}{key}", title, key in shown) for title, key in found]


def values_of(
    labels: OfficeLabels, rows: Sequence[VersionRow], keys: Sequence[str]
) -> Question[dict[str, dict[str, str]]]:
    """Return the texts of attributes by version. The text of a very long value is an ellipsis."""
    sql = """SELECT v.id::text, n.name, CASE WHEN length(a.stored) <= %s THEN a.stored END
        FROM elements_elementversion v CROSS JOIN unnest(%s::text[]) AS n(name)
        CROSS JOIN LATERAL (SELECT (v.attributes -> n.name)::text AS stored OFFSET 0) a
        WHERE v.id = ANY(%s::uuid[]) AND a.stored IS NOT NULL"""
    types = {row.version: labels.reader.types[row.type] for row in rows}

    def understand(stored_rows: list[Row]) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for version, name, stored in stored_rows:
            property = _property(types[version], name)
            if property is not None:
                found.setdefault(version, {})[name] = _shown(labels, property, stored)
        return found

    return Question(sql if keys and rows else "", [LONGEST_READ, text_array(keys), id_array(types)], understand)


def _shown(labels: OfficeLabels, property: Property, stored: str | None) -> str:
    values = None if stored is None else orjson.loads(stored)
    if values is None:
        return "…"
    chosen = choose(values, labels.lcid, labels.configuration.cultures) if isinstance(values, dict) else None
    if chosen is None or property.attribute is None:
        return ""
    return Truncator(plain_value(labels, property.attribute, chosen.value)).chars(LONGEST_SHOWN)


def _property(type: ElementType, key: str) -> Property | None:
    return next((each for each in type.properties if each.key == key and _is_column(each)), None)


def _attributes(types: Iterable[ElementType]) -> set[str]:
    """Return the attributes that can be columns: those that the caller sees, and that lists can be sorted by."""
    return {each.key for type in types for each in type.properties if _is_column(each)}


def _is_column(property: Property) -> bool:
    attribute = property.attribute
    return (
        attribute is not None
        and property.key not in DERIVED
        and property.key != NAME
        and attribute.data_type not in UNSORTED_TYPES
    )
