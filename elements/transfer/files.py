"""Transfer files as lines: plain, gzip by name, or standard input and output."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from repository_site.problems import Invalid

MAX_LINE = 64 * 1024 * 1024


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
