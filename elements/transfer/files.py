"""Transfer files as lines: plain, gzip by name, or standard input and output."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from repository_site.core.problems import Invalid

MAX_LINE = 64 * 1024 * 1024
# Exit code of a shell for a process that a closed pipe has ended.
ENDED_BY_READER = 141


def read_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Return number and content of each line that is not blank. `path` may be - for standard input."""
    with _opened(path) as file:
        number = 0
        while raw := file.readline(MAX_LINE):
            number += 1
            if len(raw) == MAX_LINE:
                raise Invalid(f"Line {number} is longer than {MAX_LINE:,} bytes; write one element version per line.")
            if raw.strip():
                yield number, raw


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    try:
        if path == "-":
            yield _standard_input()
        elif path.endswith(".gz"):
            with gzip.open(path) as packed:
                yield cast("IO[bytes]", packed)
        else:
            with Path(path).open("rb") as plain:
                yield plain
    except (OSError, EOFError, zlib.error) as problem:
        raise Invalid(f"{path} cannot be read: {getattr(problem, 'strerror', None) or problem}.") from None


def _standard_input() -> IO[bytes]:
    """Open standard input separately: a thread must not use the interpreter's own reader when the interpreter exits."""
    try:
        return Path(f"/dev/fd/{sys.stdin.fileno()}").open("rb")
    except (OSError, ValueError, AttributeError):
        return sys.stdin.buffer


@contextmanager
def writing(path: str) -> Iterator[IO[bytes]]:
    """Open the target of an export. A file appears under its name only when it is complete."""
    if path == "-":
        with _standard_output() as file:
            yield file
        return
    target = Path(path).resolve()
    # Pipes and devices are written directly; only files are replaced.
    is_file = target.is_file() or not target.exists()
    draft = target.with_name(f"{target.name}.part") if is_file else target
    try:
        with gzip.GzipFile(draft, "wb", mtime=0) if path.endswith(".gz") else draft.open("wb") as file:
            yield cast("IO[bytes]", file)
        if is_file:
            draft.replace(target)
    except OSError as problem:
        raise Invalid(f"{path} cannot be written: {problem.strerror or problem}.") from None
    finally:
        if is_file:
            draft.unlink(missing_ok=True)


@contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    """Open standard output. A reader may stop early, as `head` does, which is not an error."""
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # Flushing the rest of the buffer would fail again when the process exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(ENDED_BY_READER) from None
