"""Elements as JSON, read in batches that respect the bounds of a read (D188)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.conf import settings

from elements.reading import rows
from elements.reading.assembly.assembler import Assembler, Wire
from elements.reading.assembly.projection import CHILDREN, CONTENT, RELATED, ROOT_PATH, VERSIONS
from elements.reading.bounds import Slices, TooHeavy, halved, most_text
from elements.reading.rows import VersionRow
from repository_site.core.fairness.large_lists import LARGE, large_lists
from repository_site.core.rest.rendering import counted_parts, to_json

# Parts of an element that can contain slices.
DIVISIBLE = frozenset({RELATED, CHILDREN, CONTENT, ROOT_PATH, VERSIONS})


class ElementBatches:
    """Reads versions and writes them with an assembler. `after_reading` is called after each batch was read."""

    def __init__(
        self, assembler: Assembler, *, for_reporting: bool = False, after_reading: Callable[[], None] | None = None
    ) -> None:
        self.assembler = assembler
        self.for_reporting = for_reporting
        self.after_reading = after_reading
        self.rows: list[VersionRow] = []
        """Rows of the last batch."""

    def read(self, versions: Sequence[str]) -> Iterator[Wire]:
        assembler = self.assembler
        # The attributes of an element cannot be divided, and a list must not end in the middle.
        most = None if assembler.in_slices else most_text(len(versions))
        found = rows.read_versions(
            versions, with_attributes=assembler.needs_attributes, for_reporting=self.for_reporting, most=most
        )
        # Without a snapshot, an element may have been deleted in between.
        self.rows = [found[version] for version in versions if version in found]
        built = assembler.iterate(self.rows)
        if self.after_reading is not None:
            self.after_reading()
        return built

    def written(self, name: str, versions: Sequence[str]) -> bytes:
        """Return the list as JSON, or raise TooHeavy if it is larger than a response may be."""

        def read(few: Sequence[str]) -> Iterator[Wire]:
            if len(few) < len(versions):
                # All together were too heavy.
                large_lists.claim()
            return self.read(few)

        return whole_list(name, lambda: (each for batch in halved(versions, read) for each in batch))

    def pieces(self, versions: Sequence[str], most: int) -> Iterator[Iterator[bytes]]:
        """Return the JSON of each element in pieces, with `most` elements in a batch."""

        def read(few: Sequence[str]) -> Iterator[Iterator[bytes]]:
            try:
                return (iter([to_json(each)]) for each in self.read(few))
            except TooHeavy:
                if len(few) > 1:
                    raise
                return self._in_slices(few)

        for batch in halved(versions, read, most):
            yield from batch

    def _in_slices(self, version: Sequence[str]) -> Iterator[Iterator[bytes]]:
        """Return an element that is too heavy by itself, whose parts are read while they are written."""
        self.assembler.in_slices = True
        try:
            return iter([self._sliced(each) for each in self.read(version)])
        finally:
            self.assembler.in_slices = False

    def _sliced(self, element: Wire) -> Iterator[bytes]:
        for piece in _divided(element):
            yield piece
            if self.after_reading is not None:
                self.after_reading()


def whole_list(name: str, read: Callable[[], Iterator[Wire]]) -> bytes:
    """Return elements as JSON, or raise TooHeavy. One thread at a time writes a large list (D301)."""

    def write() -> bytes:
        parts: list[bytes] = []
        size, most = 0, settings.RESPONSE_BYTES
        for each in read():
            part = to_json(each)
            parts.append(part)
            size += len(part) + 1
            if size > LARGE:
                large_lists.claim()
            if size > most:
                raise TooHeavy
        return counted_parts(name, parts)

    return large_lists.write(write)


def write_rows(assembler: Assembler, name: str, found: Sequence[VersionRow]) -> bytes:
    """Return the list of rows that are already read as JSON, or raise TooHeavy."""
    return whole_list(name, lambda: (each for batch in halved(found, assembler.iterate) for each in batch))


def _divided(value: Any, depth: int = 0) -> Iterator[bytes]:
    """Write a value that may contain slices; only some parts do."""
    if isinstance(value, Slices):
        yield b"["
        for index, item in enumerate(value):
            if isinstance(item, bytes):
                yield b"," + item if index else item
            else:
                yield b"," if index else b""
                yield from _divided(item)
        yield b"]"
    elif isinstance(value, dict) and (depth < 2 or RELATED in value):
        for index, (name, part) in enumerate(value.items()):
            yield (b"," if index else b"{") + to_json(name) + b":"
            yield from _divided(part, depth + 1) if name in DIVISIBLE or depth == 1 else [to_json(part)]
        yield b"}" if value else b"{}"
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for index, item in enumerate(value):
            yield b"," if index else b"["
            yield from _divided(item)
        yield b"]"
    else:
        yield to_json(value)
