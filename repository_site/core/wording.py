"""Values in messages for people: lists of names and untrusted text, and the GUID that most of them ask for."""

from __future__ import annotations

import re
from collections.abc import Sequence

GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)


def printable(text: str, limit: int = 100) -> str:
    """Return untrusted text for one line of a message: shortened, without control characters and lone surrogates."""
    shown = "".join(each if each.isprintable() else " " for each in text[:limit])
    return shown + "…" if len(text) > limit else shown


def listed(names: Sequence[object], joint: str = "and") -> str:
    """Return names as an enumeration: `a, b and c`."""
    *others, last = map(str, names)
    return f"{', '.join(others)} {joint} {last}" if others else last
