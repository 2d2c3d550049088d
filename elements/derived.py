"""What the server derives of a version instead of storing it twice: the names, and the rules behind them.

Pure. Reading renders these, filters test them, writing and import refuse or ignore them.
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
# With reporting only (D14).
MAJOR, MINOR = "majorVersion", "minorVersion"
RELEASED_OR_OPEN = "isReleasedOrLastInProcess"
OPEN_OR_RELEASED = "isLastInProcessOrReleased"
# Who may edit an element that names them (D20).
AUTHOR_CONTEXTS = ("author", "secondaryAuthors")

_AUTHOR_NOTES = {
    "de": "Nur der Autor, weitere Autoren und Architekten dürfen dieses Element ändern.",
    "en": "Only the author, further authors and architects may change this element.",
}


def state1(type: ElementType, state: str) -> str | None:
    """The state of a version; types without versions may have one that never changes."""
    return (state if type.is_versioned else type.static_state) or None


def author_note(lcid: int) -> str | None:
    """What an element with authors says about who may edit it; None in languages without a translation."""
    return _AUTHOR_NOTES.get(language_of(lcid))


def page_prefix(storage_address: str, lcid: int, facet: str) -> str:
    """The page of a version for readers is at this address followed by the version's id."""
    return f"{storage_address}/{lcid}/{segment(facet)}/"
