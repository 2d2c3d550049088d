"""Texts of files for the search (D446): contents whose text is still missing, and the job that reads them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any
from uuid import UUID, uuid4

import structlog
from django.core.files import File
from django.db import connection, transaction
from django.utils import timezone

from repository_site.core.database.statements import as_arrays, fetch, text_array
from repository_site.core.problems import Busy, NotFound
from storage.files import text_process
from storage.files.contents import open_content, storing
from storage.jobs.declaring import job
from storage.jobs.enqueueing import TEXTS
from storage.models import FileText, Storage
from storage.tenancy.scope import tenant_scope

log = structlog.get_logger("files")
# Seconds after which the process is ended, and after which the job lets others work.
LONGEST, TURN = 30.0, 30.0
# Contents that are read before their texts are stored together: the index then has fewer rows.
READ_AT_ONCE, NOTED_AT_ONCE = 20, 1_000
# Characters of these texts: a transaction that indexes more takes long.
MOST_AT_ONCE = 500_000
State = FileText.State
PROGRAM = [sys.executable, "-I", str(Path(text_process.__file__))]
# One more byte than a text can have.
MOST_BYTES = 4 * text_process.MOST + 1
_NOTE = """INSERT INTO storage_filetext (id, digest, state)
    SELECT n.id, n.digest, 'waiting' FROM unnest(%s::uuid[], %s::text[]) AS n (id, digest)
    ON CONFLICT (storage_id, digest) DO NOTHING"""
_MISSING = """SELECT DISTINCT f.digest FROM storage_storedfile f
    WHERE NOT EXISTS (SELECT FROM storage_filetext t WHERE t.digest = f.digest) LIMIT %s"""
_UNREADABLE = "SELECT 1 FROM storage_filetext t WHERE t.state = 'unreadable' LIMIT 1"
_AGAIN = "UPDATE storage_filetext SET state = 'waiting' WHERE state = 'unreadable'"
_WAITING = "SELECT t.digest FROM storage_filetext t WHERE t.state = 'waiting' LIMIT %s"
# The trigger of this table adds the words to the search index (D447). A text that is there stays as it is.
_STORE = """UPDATE storage_filetext t SET state = n.state, text = n.text, read_on = %s
    FROM unnest(%s::text[], %s::text[], %s::text[]) AS n (digest, state, text)
    WHERE t.digest = n.digest AND t.state = 'waiting'"""


@dataclass(frozen=True, slots=True)
class ReadText:
    state: FileText.State
    text: str = ""


def note_text(storage: Storage, digest: str) -> None:
    """Note that the text of a new content is missing. Call this in the transaction that stores its file."""
    if _note([digest]):
        read_texts.enqueue(storage)


def note_missing_texts(storage: Storage, *, again: bool = False) -> None:
    """Note all contents without a text, and have the job read those that wait. Call this in the scope.

    With `again`, also those that were unreadable: the disk may have been away, or a newer release reads them. The job
    is enqueued after the transaction: an import takes long, and uploads would wait for it.
    """
    # Even a statement that changes no row marks the content, which the removal of the storage does not expect.
    if again and fetch(_UNREADABLE):
        with connection.cursor() as cursor:
            cursor.execute(_AGAIN)
    while missing := [row[0] for row in fetch(_MISSING, [NOTED_AT_ONCE])]:
        if not _note(missing):
            # Others note them at the same time.
            break
    if fetch(_WAITING, [1]):
        transaction.on_commit(partial(read_texts.enqueue, storage))


def _note(digests: Sequence[str]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, as_arrays([(str(uuid4()), digest) for digest in digests]))
        return int(cursor.rowcount)


def forget_text(digest: str) -> None:
    """Delete the text of a content that is removed; the index loses its words with it."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM storage_filetext WHERE digest = %s", [digest])


@job("files.read_texts", lock=(), once=True, retry=(60.0, 600.0, 3600.0), own_scope=True, queue=TEXTS)
def read_texts(storage: Storage) -> None:
    """Read the contents that wait. Contents that are not available now are tried again later."""
    end = time.monotonic() + TURN
    while digests := _waiting(storage):
        found, problem = _read_some(storage.pk, digests, end)
        _store(storage, found)
        if problem and not found:
            raise problem
        if time.monotonic() > end:
            with tenant_scope(storage):
                read_texts.enqueue(storage)
            return


def _waiting(storage: Storage) -> list[str]:
    with tenant_scope(storage):
        return [row[0] for row in fetch(_WAITING, [READ_AT_ONCE])]


def _read_some(storage: UUID, digests: Sequence[str], end: float) -> tuple[dict[str, ReadText], Exception | None]:
    found, problem = dict[str, ReadText](), None
    for digest in digests:
        try:
            found[digest] = read_content(storage, digest)
        except (Busy, ProcessFailed) as failure:
            problem = failure
        if time.monotonic() > end or sum(len(each.text) for each in found.values()) > MOST_AT_ONCE:
            break
    return found, problem


def _store(storage: Storage, found: Mapping[str, ReadText]) -> None:
    if found:
        rows = [(digest, each.state.value, each.text) for digest, each in found.items()]
        with tenant_scope(storage), connection.cursor() as cursor:
            cursor.execute(_STORE, [timezone.now(), *map(text_array, zip(*rows, strict=True))])


def read_content(storage: UUID, digest: str) -> ReadText:
    """Read the text of a content in a process of its own."""
    try:
        content = open_content(storage, digest)
    except NotFound:
        return ReadText(State.UNREADABLE)
    with content:
        return run_process(content)


class ProcessFailed(Exception):
    """The process was not able to work, or somebody has ended it, so nothing is known about the content."""


def run_process(content: File[Any]) -> ReadText:
    with storing():
        # A content of a bucket becomes a file on disk here.
        source = content.fileno()
    with subprocess.Popen(
        PROGRAM, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={}, start_new_session=True
    ) as process:
        ending = Timer(LONGEST, process.kill)
        ending.start()
        try:
            output = process.stdout.read(MOST_BYTES) if process.stdout else b""
            if len(output) == MOST_BYTES:
                process.kill()
            code = process.wait()
        finally:
            ending.cancel()
    return _result(code, output.decode("utf-8", "ignore").rstrip("\n")[: text_process.MOST])


def _result(code: int, text: str) -> ReadText:
    if code in (text_process.BROKEN, -signal.SIGTERM):
        raise ProcessFailed(f"The process that reads texts of files ended with {code}.")
    if text:
        return ReadText(State.CUT if code else State.READ, text)
    return ReadText(State.EMPTY if code in (0, text_process.CUT, text_process.NO_TEXT) else State.UNREADABLE)
