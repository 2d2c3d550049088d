"""Everything that is wrong with a request, told together (D3): the answer has the status of the most basic problem."""

from __future__ import annotations

from enum import IntEnum

from django.utils.translation import gettext as _

from repository_site.core.problems import Conflict, Forbidden, Invalid, NotFound, Problem, Unreadable


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


def no_element(id: str) -> str:
    return _("There is no element %(id)s.") % {"id": id}


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
        kinds, found = zip(*self._found, strict=True)
        texts = list(dict.fromkeys(found))
        many = _("The request has %(count)d problems; nothing was changed.") % {"count": len(texts)}
        raise PROBLEMS[min(kinds)](texts[0] if len(texts) == 1 else many, texts)
