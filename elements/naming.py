"""Names of elements, and the sort key of lists (D9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAME = "name"
# Maximum length of a sort key: an index entry has to fit into a third of a page.
SORT_LENGTH = 500
# Maximum length of a name in `VersionName`, for filters; the database cuts it there, too.
FOLDED_LENGTH = 200


def sort_name(attributes: Mapping[str, Mapping[str, Any]], default_culture: str) -> str:
    """Return the name in the default culture or else in any, in one letter case."""
    names = attributes.get(NAME, {})
    name = names.get(default_culture) or next((names[culture] for culture in sorted(names) if names[culture]), "")
    return str(name).casefold()[:SORT_LENGTH]
