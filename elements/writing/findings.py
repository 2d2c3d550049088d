"""Problems of one request, reported together (D3): the response has the status of the most basic problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import ParamSpec, TypeVar

from django.utils.translation import gettext as _

from repository_site.core.problems import Conflict, Forbidden, Invalid, NotFound, Problem, Unreadable
from repository_site.core.wording import similar_hint

P = ParamSpec("P")
T = TypeVar("T")


# Kinds of problems, the most basic first.
KINDS: tuple[type[Problem], ...] = (Unreadable, NotFound, Forbidden, Conflict, Invalid)


def no_element(id: str) -> str:
    return _("There is no element %(id)s.") % {"id": id}


class Refusal(Exception):
    """One problem. A decision raises it when nothing more can be said about the part of the request in question."""

    def __init__(self, kind: type[Problem], place: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.place = place
        self.text = text


not_found = partial(Refusal, NotFound)
forbidden = partial(Refusal, Forbidden)
conflict = partial(Refusal, Conflict)
invalid = partial(Refusal, Invalid)


class Findings:
    is_by_element = False
    """Whether each element is changed or refused by itself, so that all problems of all elements matter."""

    def __init__(self) -> None:
        self._found: list[tuple[type[Problem], str]] = []

    def add(self, kind: type[Problem], place: str, text: str) -> None:
        self._found.append((kind, f"{place}: {text}."))

    def hint(self, name: str, known: Iterable[str]) -> str:
        return similar_hint(name, known, len(self._found))

    def note(self, refusal: Refusal) -> None:
        self.add(refusal.kind, refusal.place, refusal.text)

    def attempt(self, decide: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Return the result of a decision; note its refusal and return None if it raises one."""
        try:
            return decide(*args, **kwargs)
        except Refusal as refusal:
            self.note(refusal)
            return None

    def raise_any(self) -> None:
        """Raise the problems, if there are any. A single problem becomes the message itself."""
        if not self._found:
            return
        kinds, found = zip(*self._found, strict=True)
        texts = list(dict.fromkeys(found))
        many = _("The request has %(count)d problems; nothing was changed.") % {"count": len(texts)}
        raise min(kinds, key=KINDS.index)(texts[0] if len(texts) == 1 else many, texts)


class FindingsByElement(Findings):
    """Problems of many elements that are changed independently. Each place begins with the id of its element."""

    is_by_element = True

    def __init__(self) -> None:
        super().__init__()
        self.by_element: dict[str, list[str]] = {}

    def add(self, kind: type[Problem], place: str, text: str) -> None:
        super().add(kind, place, text)
        element, _colon, rest = place.partition(":")
        self.by_element.setdefault(element, []).append(f"{rest.strip()}: {text}." if rest else f"{text}.")
