"""The types and attributes that a caller can search (D384). Every query of the search gets them from here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from elements.naming import NAME
from elements.reading.assembly.projection import DERIVED
from elements.reading.files import file_attributes_of_types
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import ElementType
from facets.configuration import Configuration
from repository_site.core.database.statements import id_array, text_array

TEXTS = frozenset({DataType.SINGLE_LINE_TEXT, DataType.MULTI_LINE_TEXT, DataType.HTML})


@dataclass(frozen=True, slots=True)
class Searchable:
    """Types by the ids of their rows."""

    types: Mapping[str, ElementType]
    names_only: frozenset[str]
    """Types with texts that the audience must not see; only their names are searched."""
    excerpts: Mapping[str, frozenset[str]]
    """Attributes of which excerpts are shown, by type."""
    file_arrays: tuple[str, str]
    """Attributes with files that the audience sees, as arrays of types and of names (D448)."""


def searchable(configuration: Configuration) -> Searchable:
    """Return what can be found by a caller who sees this part of the configuration."""
    return configuration.keep("searchable", lambda: _searchable(configuration))


def _searchable(configuration: Configuration) -> Searchable:
    # Colleagues see the names of closed types in references, but cannot find their elements.
    types = {row: type for row, type in configuration.types_by_id.items() if row not in configuration.closed}
    names_only = configuration.hidden_texts & types.keys()
    excerpts = {row: frozenset({NAME}) if row in names_only else _text_attributes(type) for row, type in types.items()}
    files = file_attributes_of_types(configuration)
    pairs = id_array(type for type, _ in files), text_array(name for _, name in files)
    return Searchable(types, names_only, excerpts, pairs)


def _text_attributes(type: ElementType) -> frozenset[str]:
    texts = {each.key for each in type.properties if each.attribute and each.attribute.data_type in TEXTS}
    return frozenset(texts | {NAME}) - DERIVED
