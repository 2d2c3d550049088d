"""Everything that is wrong with a request, told together (D3): the answer has the status of the most basic problem."""

from __future__ import annotations

from enum import IntEnum

from repository_site.problems import Conflict, Forbidden, Invalid, NotFound, Problem, Unreadable


class Kind(IntEnum):
    """From the most basic on: what cannot be read, what is not there, what is not allowed, not now, and not right."""

    UNREADABLE = 0
    NOT_FOUND = 1
    FORBIDDEN = 2
    CONFLICT = 3
    INVALID = 4


PROBLEMS: dict[Kind, type[Problem]] = {
    Kind.UNREADABLE: Unreadable,
    Kind.NOT_FOUND: NotFound,
    Kind.FORBIDDEN: Forbidden,
    Kind.CONFLICT: Conflict,
    Kind.INVALID: Invalid,
}


class Findings:
    def __init__(self) -> None:
        self._found: list[tuple[Kind, str]] = []

    def add(self, kind: Kind, place: str, text: str) -> None:
        self._found.append((kind, f"{place}: {text}."))

    def __bool__(self) -> bool:
        return bool(self._found)

    def raise_any(self) -> None:
        """One problem is the message itself; of several the message says how many."""
        if not self._found:
            return
        worst = min(kind for kind, _ in self._found)
        texts = list(dict.fromkeys(text for _, text in self._found))
        message = texts[0] if len(texts) == 1 else f"The request has {len(texts)} problems; nothing was changed."
        raise PROBLEMS[worst](message, texts)
