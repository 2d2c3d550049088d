"""Targets that a related context accepts."""

from __future__ import annotations

from facets.blueprint.definitions import ElementType, Related
from facets.blueprint.private_content import TOKEN_TYPE

# These contexts also accept the element of a token, because a token without a user calls as its own element.
CALLER_CONTEXTS = frozenset({"author", "createdBy", "changedBy", "relBy"})


def accepts(context: str, related: Related, type: ElementType) -> bool:
    if context in CALLER_CONTEXTS and type.key == TOKEN_TYPE:
        return True
    return type.facet == related.facet and (not related.types or type.key in related.types)
