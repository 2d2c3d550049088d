"""Bounds of one read (D188): how many rows a statement returns, and how many bytes of attributes a batch has.

They follow from the largest response, so that an operator changes one number. A worker then needs a known amount of
memory for a request, whatever the content is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import orjson
from django.conf import settings
from django.utils.translation import gettext as _

from repository_site.core.problems import Invalid
from repository_site.core.rest.rendering import to_json

T = TypeVar("T")
R = TypeVar("R")
# Smallest size of a reference in a response: names of facet and type, and two ids.
REFERENCE_BYTES = 150


class TooHeavy(Invalid):
    """A read that exceeds a bound. Lists are read again in smaller batches; everything else is refused."""

    def __init__(self) -> None:
        text = _("The content is too large: it has more than %(most)d bytes, or would take too much memory.")
        super().__init__(text % {"most": most_text(1)})

    def for_client(self) -> Invalid:
        """Return the problem with what a client of the API can do about it."""
        text = _(
            "The response would be larger than %(most)d bytes, or would take too much memory. Ask for less: select"
            " properties with $select or parts with $resources, leave out $expandRelated, or read the parts of an"
            " element separately."
        )
        return Invalid(text % {"most": settings.RESPONSE_BYTES})


def most_rows(count: int) -> int:
    """Return how many rows a statement about this many elements returns: fewer for a batch, which can be divided."""
    most: int = settings.RESPONSE_BYTES
    return most // 320 if count == 1 else most // 800


def most_written_rows() -> int:
    """Return the same for a change, which reads less of each row."""
    most: int = settings.RESPONSE_BYTES
    return most // REFERENCE_BYTES


def most_text(count: int) -> int:
    """Return how many bytes of attributes this many versions have together."""
    most: int = settings.RESPONSE_BYTES
    return most // 2 if count == 1 else most // 4


def at_most(rows: Sequence[T], most: int) -> Sequence[T]:
    """Return the rows of a statement that has the limit `most + 1`."""
    if len(rows) > most:
        raise TooHeavy
    return rows


def halved(items: Sequence[T], read: Callable[[Sequence[T]], R], most: int | None = None) -> Iterator[R]:
    """Read items in batches, at first all or `most` of them. A batch that is too heavy is read again in halves.

    An item that is too heavy by itself raises TooHeavy.
    """
    size = start = 0
    while start < len(items):
        size = min(size or most or len(items), len(items) - start)
        try:
            found = read(items[start : start + size])
        except TooHeavy:
            if size == 1:
                raise
            size = (size + 1) // 2
        else:
            start += size
            yield found


def check_response(size: int) -> None:
    if size > settings.RESPONSE_BYTES:
        raise TooHeavy


def checked(content: bytes) -> bytes:
    check_response(len(content))
    return content


class BoundedWriter:
    """Writes the parts of a response one by one, because each may repeat a long name (D188)."""

    def __init__(self) -> None:
        self._size = 0

    def __call__(self, part: Any) -> orjson.Fragment:
        written = to_json(part)
        self._size += len(written)
        check_response(self._size)
        return orjson.Fragment(written)


class Slices:
    """A list in a response that is read while it is written, because it does not fit into memory.

    Iterating returns the JSON of its items, or items that may contain slices themselves.
    """

    def __init__(self, items: Iterable[bytes | dict[str, Any]]) -> None:
        self._items = items

    def __iter__(self) -> Iterator[bytes | dict[str, Any]]:
        return iter(self._items)
