"""Values in messages for people: lists of names, untrusted text, similar names, and GUIDs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from django.utils.translation import gettext as _

GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
# Problems of a request that are reported with similar names; finding them takes some milliseconds each.
HINTED = 20


def printable(text: str, limit: int = 100) -> str:
    """Return untrusted text for one line of a message: shortened, without control characters and lone surrogates."""
    shown = "".join(each if each.isprintable() else " " for each in text[:limit])
    return shown + "…" if len(text) > limit else shown


def clean_text(given: str, limit: int = 200) -> str:
    """Return the beginning of a text that somebody typed, on one line and without characters that cannot be stored."""
    return " ".join("".join(each if each.isprintable() else " " for each in given[:limit]).split())


def listed(names: Sequence[object], joint: str = "and") -> str:
    """Return names as an enumeration: `a, b and c`."""
    *others, last = map(str, names)
    return f"{', '.join(others)} {joint} {last}" if others else last


def similar_names(name: str, known: Iterable[str]) -> list[str]:
    """Return known names that a misspelt name resembles, ignoring letter case, best match first."""
    by_lower: dict[str, list[str]] = {}
    for each in sorted(known):
        by_lower.setdefault(each.lower(), []).append(each)
    return [each for lower in difflib.get_close_matches(name[:100].lower(), by_lower) for each in by_lower[lower]]


def similar_hint(name: str, known: Iterable[str], problems: int = 0) -> str:
    """Return `; similar: a, b` for the end of a message, or nothing.

    Only the first problems of a request get a hint: it takes longer than everything else about a name.
    """
    if problems >= HINTED:
        return ""
    found = similar_names(name, known)
    return _("; similar: %(names)s") % {"names": ", ".join(found)} if found else ""
