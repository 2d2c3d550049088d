"""The type configuration in the back office of a storage."""

from facets.admin import (  # noqa: I001  the order of the navigation
    facets,
    facet_views,
    element_types,
    properties,
    release_cycles,
    validation_rules,
    template_pages,
)

__all__ = [
    "element_types",
    "facet_views",
    "facets",
    "properties",
    "release_cycles",
    "template_pages",
    "validation_rules",
]
