"""The type configuration in the back office of a storage."""

from facets.admin import facets, views, types, properties, cycles, rules, pages  # noqa: I001  the order of the navigation

__all__ = ["cycles", "facets", "pages", "properties", "rules", "types", "views"]
