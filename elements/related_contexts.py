"""Which elements a related context may point to."""

from __future__ import annotations

from facets.blueprint.definitions import ElementType, Related

# A token that is not a user's calls as an element of its own, and so may be what these contexts name.
CALLER_CONTEXTS = frozenset({"author", "createdBy", "changedBy", "relBy"})
TOKEN_TYPE = "authToken"


def accepts(context: str, related: Related, type: ElementType) -> bool:
    if context in CALLER_CONTEXTS and type.key == TOKEN_TYPE:
        return True
    return type.facet == related.facet and (not related.types or type.key in related.types)
