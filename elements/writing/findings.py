"""Problems of one request, reported together (D3): the response has the status of the most basic problem."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import ParamSpec, TypeVar

from django.utils.translation import gettext as _

from repository_site.core.problems import Conflict, Forbidden, Invalid, NotFound, Problem, Unreadable

P = ParamSpec("P")
T = TypeVar("T")


class FindingKind(IntEnum):
    """Kinds of problems, the most basic first."""

    UNREADABLE = 0
    NOT_FOUND = 1
    FORBIDDEN = 2
    CONFLICT = 3
    INVALID = 4


PROBLEMS: dict[FindingKind, type[Problem]] = {
    FindingKind.UNREADABLE: Unreadable,
    FindingKind.NOT_FOUND: NotFound,
    FindingKind.FORBIDDEN: Forbidden,
    FindingKind.CONFLICT: Conflict,
    FindingKind.INVALID: Invalid,
}


def no_element(id: str) -> str:
    return _("There is no element %(id)s.") % {"id": id}


class Refusal(Exception):
    """One problem. A decision raises it when nothing more can be said about the part of the request in question."""

    def __init__(self, kind: FindingKind, place: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.place = place
        self.text = text


def not_found(place: str, text: str) -> Refusal:
    return Refusal(FindingKind.NOT_FOUND, place, text)


def forbidden(place: str, text: str) -> Refusal:
    return Refusal(FindingKind.FORBIDDEN, place, text)


def conflict(place: str, text: str) -> Refusal:
    return Refusal(FindingKind.CONFLICT, place, text)


def invalid(place: str, text: str) -> Refusal:
    return Refusal(FindingKind.INVALID, place, text)


class Findings:
    """Collects the problems of a request."""

    def __init__(self) -> None:
        self._found: list[tuple[FindingKind, str]] = []

    def add(self, kind: FindingKind, place: str, text: str) -> None:
        self._found.append((kind, f"{place}: {text}."))

    def note(self, refusal: Refusal) -> None:
        self.add(refusal.kind, refusal.place, refusal.text)

    def attempt(self, decide: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Return the result of a decision; note its refusal and return None if it raises one."""
        try:
            return decide(*args, **kwargs)
        except Refusal as refusal:
            self.note(refusal)
            return None

    def __bool__(self) -> bool:
        return bool(self._found)

    def raise_any(self) -> None:
        """Raise the problems, if there are any. A single problem becomes the message itself."""
        if not self._found:
            return
        kinds, found = zip(*self._found, strict=True)
        texts = list(dict.fromkeys(found))
        many = _("The request has %(count)d problems; nothing was changed.") % {"count": len(texts)}
        raise PROBLEMS[min(kinds)](texts[0] if len(texts) == 1 else many, texts)
