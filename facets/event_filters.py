"""Names by which events can be filtered, in the change feed and in webhooks."""

from __future__ import annotations

from collections.abc import Collection

from facets.configuration import Configuration, configuration_of
from storage.models import Storage

FACET, ELEMENT_TYPE, STATE = "facet", "elementType", "state"


def filter_names(storage: Storage) -> dict[str, Collection[str]]:
    return names_in(configuration_of(storage))


def names_in(configuration: Configuration) -> dict[str, Collection[str]]:
    """Return the names of facets, the keys of types, and the states of a configuration."""
    types = configuration.blueprint.types
    states = {state for cycle in configuration.cycles.values() for state in cycle.categories}
    return {
        FACET: [each.name for each in configuration.blueprint.facets],
        ELEMENT_TYPE: [each.key for each in types],
        STATE: states | {each.static_state for each in types if each.static_state},
    }
