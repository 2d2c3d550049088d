"""Rebuilds the search index of a storage while it is in use (D381).

Documents are written again in portions, each under a lock of its versions; the triggers add their words. Then the
postings of each word become few rows, in portions, too. A search finds everything at any time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from django.db import connection

from elements.models import SearchPosting
from elements.search.finding import DRAWN
from repository_site.core.database.prepared import Row
from repository_site.core.database.repeating import repeated
from repository_site.core.database.statements import fetch, id_array, text_array
from storage.files.texts import note_missing_texts
from storage.models import Storage
from storage.tenancy.bulk import copy_row, copy_rows
from storage.tenancy.scope import tenant_scope

VERSIONS_AT_ONCE, FILES_AT_ONCE, WORDS_AT_ONCE, POSTED_AT_ONCE = 500, 20, 500, 100_000
# Versions in one row of postings.
LARGEST = 5_000
FIRST = "00000000-0000-0000-0000-000000000000"
NEXT_VERSIONS = """SELECT v.id::text FROM elements_elementversion v WHERE v.id > %s::uuid
    ORDER BY v.id LIMIT %s FOR SHARE"""
REMOVE_DOCUMENTS = "DELETE FROM elements_searchdocument d WHERE d.id = ANY(%s::uuid[])"
# A change of a diagram may have added a missing document meanwhile.
ADD_DOCUMENTS = f"""INSERT INTO elements_searchdocument (id, names, texts, drawn)
    SELECT v.id, t.names, t.texts, {DRAWN.format(version="v.id")} FROM elements_elementversion v
    CROSS JOIN LATERAL elements_search_texts(v.attributes) t
    WHERE v.id = ANY(%s::uuid[]) ON CONFLICT DO NOTHING"""  # noqa: S608  constants
NEXT_FILES = """SELECT t.id::text FROM storage_filetext t WHERE t.id > %s::uuid AND t.text <> ''
    ORDER BY t.id LIMIT %s FOR SHARE"""
REMOVE_FILES = "DELETE FROM elements_searchfile s WHERE s.id = ANY(%s::uuid[])"
ADD_FILES = """INSERT INTO elements_searchfile (id, words)
    SELECT t.id, elements_search_fold(replace(t.text, E'\n', E' \n ')) FROM storage_filetext t
    WHERE t.id = ANY(%s::uuid[]) ON CONFLICT DO NOTHING"""
# Documents of versions, and of texts of files, that were deleted while the triggers were missing. Even a statement that
# deletes no words of files marks the content, which the removal of the storage does not expect.
REMOVE_ORPHANS = """DELETE FROM elements_searchdocument d
    WHERE NOT EXISTS (SELECT FROM elements_elementversion v WHERE v.id = d.id)"""
FILE_ORPHANS = """SELECT s.id::text FROM elements_searchfile s
    WHERE NOT EXISTS (SELECT FROM storage_filetext t WHERE t.id = s.id)"""
# A removal of the storage waits for a portion, and a portion for a removal. Postings have no foreign key that would
# keep them apart (D426), and that of documents waits only at the end of a portion, which would be a deadlock.
KEEP_STORAGE = "SELECT FROM storage_storage s WHERE s.id = %s::uuid FOR KEY SHARE"
NEXT_WORDS = f"""SELECT p.word, sum(p.size) FROM elements_searchposting p WHERE p.word > %s::text
    GROUP BY p.word ORDER BY p.word LIMIT {WORDS_AT_ONCE}"""  # noqa: S608  constants
# One more than are replaced at once, to see whether there are more.
NEXT_ROWS = """SELECT p.id::text, p.size FROM elements_searchposting p
    WHERE p.word = ANY(%s::text[]) AND p.id > %s::uuid ORDER BY p.id LIMIT %s"""
TAKE_POSTINGS = """DELETE FROM elements_searchposting p WHERE p.id = ANY(%s::uuid[])
    RETURNING p.word, p.versions::text[]"""
# Versions that still have a word. A text of a file has its words as long as it exists (D447).
STILL = """SELECT w.word, d.names LIKE '%% ' || w.word || ' %%', d.id::text
    FROM unnest(%s::text[], %s::uuid[]) AS w(word, version) JOIN elements_searchdocument d ON d.id = w.version
    WHERE d.names LIKE '%% ' || w.word || ' %%' OR d.texts || d.drawn LIKE '%% ' || w.word || ' %%'
    UNION ALL SELECT w.word, FALSE, s.id::text FROM unnest(%s::text[], %s::uuid[]) AS w(word, version)
    JOIN elements_searchfile s ON s.id = w.version"""
SIZES = """SELECT coalesce((SELECT sum(pg_column_size(v.attributes)) FROM elements_elementversion v), 0)::bigint
        + coalesce((SELECT sum(pg_column_size(t.text)) FROM storage_filetext t), 0)::bigint,
    coalesce((SELECT sum(pg_column_size(d.names) + pg_column_size(d.texts) + pg_column_size(d.drawn) + 60)
        FROM elements_searchdocument d), 0)::bigint,
    coalesce((SELECT sum(pg_column_size(s.words) + 60) FROM elements_searchfile s), 0)::bigint,
    coalesce((SELECT sum(pg_column_size(p.versions) + 160) FROM elements_searchposting p), 0)::bigint,
    coalesce((SELECT sum(200) FROM elements_searchword x), 0)::bigint"""
COLUMNS = ("id", "word", "in_name", "size", "versions")


@dataclass(frozen=True, slots=True)
class IndexSize:
    """Bytes; those of the index are an estimate, with the keys of its rows."""

    attributes: int
    """With the texts of files."""
    index: int


def rebuild_search(storage: Storage) -> Iterator[int]:
    """Rebuild the index, and yield the number of versions, files or words of each portion.

    A portion that meets a deadlock with a change is repeated. Raise StorageGone if the storage is removed meanwhile.
    Files whose text was never read, or was unreadable, are left to the job that reads them.
    """
    with _portion(storage):
        _run(REMOVE_ORPHANS)
        if orphans := [row[0] for row in fetch(FILE_ORPHANS)]:
            _run(REMOVE_FILES, [id_array(orphans)])
        note_missing_texts(storage, again=True)
    for rewrite in (_rewrite_documents, _rewrite_files):
        last: str | None = FIRST
        while last is not None:
            last, count = repeated(partial(rewrite, storage, last))
            yield count
    words: Sequence[str] = [""]
    while words := _next_words(storage, words[-1]):
        row: str | None = FIRST
        while row is not None:
            row = repeated(partial(_merge_postings, storage, words, row))
        yield len(words)


def measure_search(storage: Storage) -> IndexSize:
    with tenant_scope(storage):
        attributes, *parts = fetch(SIZES)[0]
    return IndexSize(attributes, sum(parts))


def _run(sql: str, parameters: Sequence[str] = ()) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)


@contextmanager
def _portion(storage: Storage) -> Iterator[None]:
    with tenant_scope(storage):
        _run(KEEP_STORAGE, [str(storage.id)])
        yield


def _rewrite_documents(storage: Storage, after: str) -> tuple[str | None, int]:
    with _portion(storage):
        versions = [row[0] for row in fetch(NEXT_VERSIONS, [after, VERSIONS_AT_ONCE])]
        if not versions:
            return None, 0
        _run(REMOVE_DOCUMENTS, [id_array(versions)])
        _run(ADD_DOCUMENTS, [id_array(versions)])
    return versions[-1], len(versions)


def _rewrite_files(storage: Storage, after: str) -> tuple[str | None, int]:
    with _portion(storage):
        files = [row[0] for row in fetch(NEXT_FILES, [after, FILES_AT_ONCE])]
        if not files:
            return None, 0
        _run(REMOVE_FILES, [id_array(files)])
        _run(ADD_FILES, [id_array(files)])
    return files[-1], len(files)


def _next_words(storage: Storage, after: str) -> list[str]:
    with tenant_scope(storage):
        return _few(fetch(NEXT_WORDS, [after]))


def _merge_postings(storage: Storage, words: Sequence[str], after: str) -> str | None:
    """Replace the committed rows of some words after a row, and return the last one if there are more. Only a word that
    is very frequent has more. Rows that other transactions are adding stay as they are."""
    with _portion(storage):
        rows = fetch(NEXT_ROWS, [text_array(words), after, POSTED_AT_ONCE + 1])
        taken = _few(rows)
        pairs = {(word, version) for word, versions in fetch(TAKE_POSTINGS, [id_array(taken)]) for version in versions}
        postings: defaultdict[tuple[str, bool], list[str]] = defaultdict(list)
        given = [text_array(word for word, _ in pairs), id_array(version for _, version in pairs)]
        for word, in_name, version in fetch(STILL, [*given, *given]):
            postings[word, in_name].append(version)
        copy_rows(SearchPosting, COLUMNS, [*_merged(postings, taken)])
    return taken[-1] if len(taken) < len(rows) else None


def _few(rows: Sequence[Row]) -> list[str]:
    """Return the first words, or rows of postings, that together do not have too many versions; at least one."""
    found, total = list[str](), 0
    for key, size in rows:
        total += size
        if found and total > POSTED_AT_ONCE:
            break
        found.append(key)
    return found


def _merged(postings: Mapping[tuple[str, bool], list[str]], ids: Sequence[str]) -> Iterator[str]:
    """Return rows with the ids of those that they replace, so that the next portion does not read them again (D429)."""
    free = iter(ids)
    for (word, in_name), versions in postings.items():
        for start in range(0, len(versions), LARGEST):
            few = versions[start : start + LARGEST]
            yield copy_row(next(free, None) or str(uuid4()), word, "t" if in_name else "f", len(few), id_array(few))
