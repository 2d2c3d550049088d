"""What an element is called, and what lists are ordered by (D9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAME = "name"
# What a sort key may be long at most: an entry of an index has to fit into a third of a page.
SORT_LENGTH = 500
# Of a name, as `VersionName` keeps it for filters; the database cuts there, too.
FOLDED_LENGTH = 200


def sort_name(attributes: Mapping[str, Mapping[str, Any]], default_culture: str) -> str:
    """The name in the default culture, else in any, ignoring case."""
    names = attributes.get(NAME, {})
    name = names.get(default_culture) or next((names[culture] for culture in sorted(names) if names[culture]), "")
    return str(name).casefold()[:SORT_LENGTH]
