"""Transfer files as lines: plain, gzip by name, or standard input and output; and the store for checked lines."""

from __future__ import annotations

import gzip
import pickle
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields as dataclass_fields
from pathlib import Path
from typing import IO, cast

from elements.transfer.lines import Line
from facets.blueprint import ElementType
from repository_site.problems import Invalid

MAX_LINE = 64 * 1024 * 1024
LINE_FIELDS = [field.name for field in dataclass_fields(Line)]
TYPE_FIELD = LINE_FIELDS.index("type")


def read_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Number and content of each line of a file, or of standard input, that is not blank."""
    with _opened(path) as file:
        number = 0
        while raw := file.readline(MAX_LINE):
            number += 1
            if len(raw) == MAX_LINE:
                raise Invalid(f"Line {number} is longer than {MAX_LINE} bytes.")
            if raw.strip():
                yield number, raw


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    try:
        if path == "-":
            yield sys.stdin.buffer
        elif path.endswith(".gz"):
            with gzip.open(path) as packed:
                yield cast("IO[bytes]", packed)
        else:
            with Path(path).open("rb") as plain:
                yield plain
    except (OSError, EOFError) as problem:
        raise Invalid(f"{path} cannot be read: {getattr(problem, 'strerror', None) or problem}.") from None


class LineStore:
    """Checked lines, set aside on disk between checking and writing: parsing them twice would cost twice as much."""

    def __init__(self, types: Mapping[str, ElementType]) -> None:
        self._types = types
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  closed by `close`
        self._pickler = pickle.Pickler(self._file, protocol=5)

    def add(self, line: Line) -> None:
        fields = [getattr(line, name) for name in LINE_FIELDS]
        fields[TYPE_FIELD] = line.type.key
        self._pickler.dump(fields)
        # Without this the pickler would remember, and so keep, every object it has ever written.
        self._pickler.clear_memo()

    def __iter__(self) -> Iterator[Line]:
        self._file.seek(0)
        with suppress(EOFError):
            while True:
                fields = pickle.load(self._file)  # noqa: S301  our own file, which nobody else can name
                fields[TYPE_FIELD] = self._types[fields[TYPE_FIELD]]
                yield Line(*fields)

    def close(self) -> None:
        self._file.close()


@contextmanager
def writing(path: str) -> Iterator[IO[bytes]]:
    """Where an export goes; a file appears under its name only when it is complete."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    draft = Path(f"{path}.part")
    try:
        with gzip.GzipFile(draft, "wb", mtime=0) if path.endswith(".gz") else draft.open("wb") as file:
            yield cast("IO[bytes]", file)
        draft.replace(path)
    except OSError as problem:
        raise Invalid(f"{path} cannot be written: {problem.strerror or problem}.") from None
    finally:
        draft.unlink(missing_ok=True)
