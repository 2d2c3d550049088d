"""A vocabulary with one attribute of each data type, and filters that are bound to it."""

from __future__ import annotations

import pytest

from elements.filters import read_filter
from elements.filters.binding import (
    BoundExpression,
    Vocabulary,
)
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute, ElementType, Property, Related
from repository_site.core.problems import Unreadable

CULTURES = (1031, 1033)


def attribute(key: str, data_type: DataType, *, by_culture: bool = False) -> Property:
    return Property(key, ((1033, key),), attribute=Attribute(data_type, not by_culture))


def context(key: str) -> Property:
    return Property(key, ((1033, key),), related=Related("users", 5))


def element_type(key: str, *properties: Property) -> ElementType:
    return ElementType(key, "things", ((1033, key),), "#007ACC", key, key, properties=properties)


# One attribute of each data type, with its name; two types define `size`, `held` and `note` differently.
BOX = element_type(
    "box",
    *(attribute(each.value, each) for each in DataType),
    attribute("name", DataType.MULTI_LINE_TEXT, by_culture=True),
    attribute("size", DataType.INTEGER),
    attribute("note", DataType.SINGLE_LINE_TEXT),
    context("owner"),
    context("held"),
)
BAG = element_type(
    "bag",
    attribute("name", DataType.SINGLE_LINE_TEXT, by_culture=True),
    attribute("size", DataType.SELECTION_VALUE),
    attribute("note", DataType.SINGLE_LINE_TEXT, by_culture=True),
    attribute("held", DataType.DATE),
    attribute("id", DataType.INTEGER),
)
VOCABULARY = Vocabulary.of([BOX, BAG], CULTURES)


def bind(text: str) -> BoundExpression:
    return read_filter(text, VOCABULARY)


def message(text: str, vocabulary: Vocabulary = VOCABULARY) -> str:
    with pytest.raises(Unreadable) as caught:
        read_filter(text, vocabulary)
    return caught.value.message
