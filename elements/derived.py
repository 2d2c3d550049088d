"""Names of properties that the server derives from a version instead of storing them, and the rules behind them.

Pure. Reading renders these properties, filters test them, writing and import refuse or ignore them.
"""

from __future__ import annotations

from types import MappingProxyType

from facets.blueprint.definitions import ElementType
from facets.rendering import segment
from storage.localisation.cultures import language_of

# Date-times in columns of a version: attribute name to column.
STAMPS = MappingProxyType(
    {
        "changedOn": "changed_on",
        "createdOn": "created_on",
        "relOn": "released_on",
        "validFrom": "valid_from",
        "validUntil": "valid_until",
    }
)
# Contexts in columns of a version: context name to column.
CALLERS = MappingProxyType({"changedBy": "changed_by_id", "createdBy": "created_by_id", "relBy": "released_by_id"})
VERSION = "version"
STATE = "state1"
IS_RELEASED = "isReleased"
STEREOTYPE = "stereotype"
PAGE_ADDRESS = "gotoUrl"
AUTHOR_NOTE = "authorNote"
RELEASE_HISTORY = "releaseHistory"
# Only in reporting (D14).
MAJOR, MINOR = "majorVersion", "minorVersion"
RELEASED_OR_OPEN = "isReleasedOrLastInProcess"
OPEN_OR_RELEASED = "isLastInProcessOrReleased"
# Contexts whose targets may edit the element (D20).
AUTHOR_CONTEXTS = ("author", "secondaryAuthors")

_AUTHOR_NOTES = {
    "de": "Nur der Autor, weitere Autoren und Architekten dürfen dieses Element ändern.",
    "en": "Only the author, further authors and architects may change this element.",
}


def state1(type: ElementType, state: str) -> str | None:
    """Return the state of a version; types without versions may have one that never changes."""
    return (state if type.is_versioned else type.static_state) or None


def author_note(lcid: int) -> str | None:
    """Return the note on who may edit an element with authors; None in languages without a translation."""
    return _AUTHOR_NOTES.get(language_of(lcid))


def page_prefix(storage_address: str, lcid: int, facet: str) -> str:
    """Return the prefix of the addresses of reader pages; the id of the version follows."""
    return f"{storage_address}/{lcid}/{segment(facet)}/"
