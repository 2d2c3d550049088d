"""Filters of a request as conditions: the names that a filter can use, and its SQL for one reader (D13)."""

from __future__ import annotations

from collections.abc import Iterable

from elements.filters import read_filter
from elements.filters.binding import Vocabulary
from elements.filters.compiling import FilterCompiler
from elements.filters.conditions import Condition
from elements.reading.assembly.assembler import Reader
from facets.blueprint.definitions import ElementType
from facets.configuration import CompiledView, Configuration


def view_vocabulary(configuration: Configuration, view: CompiledView) -> Vocabulary:
    key = ("vocabulary", view.facet.name, view.view.name)
    types = [each.type for each in view.types.values()]
    return configuration.keep(key, lambda: vocabulary_of(configuration, types))


def facet_vocabulary(configuration: Configuration, facet: str) -> Vocabulary:
    """Return the names for filters on all types of a facet."""
    types = [each for each in configuration.types.values() if each.facet == facet]
    return configuration.keep(("vocabulary", facet), lambda: vocabulary_of(configuration, types))


def vocabulary_of(configuration: Configuration, types: Iterable[ElementType]) -> Vocabulary:
    return Vocabulary.of(types, configuration.cultures.data)


def compile_filter(reader: Reader, text: str, vocabulary: Vocabulary) -> Condition:
    """Return the condition of a filter; raise Unreadable for a mistake in it."""
    compiler = FilterCompiler(
        reader.configuration,
        reader.zone,
        reader.storage_address,
        sees_drafts=reader.audience.sees_drafts,
        closed=reader.audience.closed,
        hidden=reader.audience.hidden,
    )
    return compiler.compile(read_filter(text, vocabulary, reader.cultures))
