"""The meaning of a search text, for the reader pages and the back office (D104): an id, or words of a name.

A search is a list of SQL conditions to read one after another, without overlap. Each page has its own order and paging.
"""

from __future__ import annotations

from elements.filters.conditions import Condition, all_of, any_of, negation
from elements.filters.syntax import fold_case
from elements.reading.rows import Audience
from repository_site.core.wording import GUID

MAX_LENGTH, MAX_WORDS = 200, 10


def clean_text(given: str) -> str:
    """Drop characters that cannot be part of a name or of a statement."""
    printable = "".join(character if character.isprintable() else " " for character in given[:MAX_LENGTH])
    return " ".join(printable.split())


def words_of(text: str) -> list[str]:
    return text.split()[:MAX_WORDS]


def search_conditions(audience: Audience, text: str, element: str = "e", version: str = "v") -> list[Condition]:
    """Names that begin with the text come first, then names that contain all its words, in any culture. A text that
    is an id has one condition. `element` and `version`, the one that the audience sees, are names of tables."""
    if GUID.fullmatch(text):
        return [_has_id(audience, text, element, version)]
    begins = begins_with(text, version)
    return [begins, all_of([negation(begins), _has_words(words_of(text), version)])]


def begins_with(text: str, version: str = "v") -> Condition:
    """Return a condition on the name in the default culture; `starts_with` is leakproof and can use the index."""
    return Condition(f"starts_with({version}.sort_name, %s)", (text.casefold(),))


def _has_words(words: list[str], version: str) -> Condition:
    """One name contains all the words. The names of other cultures are read once, and only if some row needs them."""
    default = all_of(Condition(f"strpos({version}.sort_name, %s) > 0", (word.casefold(),)) for word in words)
    other = all_of(Condition("strpos(n.folded, %s) > 0", (fold_case(word),)) for word in words)
    found = f"{version}.id IN (SELECT n.version_id FROM elements_versionname n WHERE {other.sql})"  # noqa: S608  constants
    return any_of([default, Condition(found, other.parameters)])


def _has_id(audience: Audience, identity: str, element: str, version: str) -> Condition:
    """The id of an element, of its first copy (D11), or of a version. Readers who see no drafts find published versions
    only: they must not learn to which element another version belongs."""
    owner = "(SELECT element_id FROM elements_elementversion WHERE id = %s::uuid)"
    found = f"{element}.id = {owner}" if audience.sees_drafts else f"{version}.id = %s::uuid"
    return Condition(f"%s::uuid IN ({element}.id, {element}.creation_id) OR {found}", (identity, identity))
