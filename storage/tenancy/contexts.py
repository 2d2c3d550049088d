"""The three contexts that a request can address (D24): a storage, a collection, or the site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import connection
from django.utils import timezone

from repository_site.core.database.prepared import Row
from repository_site.core.database.replica import has_replica
from repository_site.core.database.statements import Question, engine, look_up
from repository_site.core.problems import Invalid, NotFound
from repository_site.core.recent_values import RecentValues
from repository_site.core.wording import similar_hint
from storage.models import ApiToken, Storage, StorageCollection
from storage.tenancy.addresses import ADMINISTRATION_KEY, KEY_PATTERN, SITE_KEY


class ContextType(StrEnum):
    STORAGE = "IStorageContext"
    COLLECTION = "IStorageCollectionContext"
    SITE = "ISysAdminContext"


@dataclass(frozen=True, slots=True)
class Context:
    """The storage, collection or site that the first two path segments address."""

    type: ContextType
    collection: StorageCollection | None = None
    storage: Storage | None = None
    token: ApiToken | None = None
    """Token of the request, if the look-up of the storage found it; it may be expired or revoked."""
    unconfirmed: Question[bool] | None = None
    """Asks in the scope whether a context that was recalled is still the same."""

    @property
    def path(self) -> str:
        collection = self.collection.key if self.collection else SITE_KEY
        return f"/{collection}/{self.storage.key if self.storage else ADMINISTRATION_KEY}"


class ContextChanged(Exception):
    """The recalled context of a request is not that of its address and token any more."""


def find_context(collection_key: str, storage_key: str, digest: bytes = b"") -> Context:
    """Return the context of an address; raise NotFound for an unknown one. Ids match exactly (D1 loosens names only).

    With the digest of a token, the same round trip to the database finds that token.
    """
    for key in {collection_key, storage_key} - {SITE_KEY, ADMINISTRATION_KEY}:
        if not KEY_PATTERN.fullmatch(key):
            # No context has such an id, and PostgreSQL refuses a NUL in a text.
            raise NotFound("There is no storage at this address.")
    if storage_key != ADMINISTRATION_KEY:
        storage, token = _read(collection_key, storage_key, digest)
        if storage is None:
            raise NotFound(f"There is no storage {collection_key}/{storage_key}.")
        return Context(ContextType.STORAGE, storage.collection, storage, token)
    if collection_key == SITE_KEY:
        return Context(ContextType.SITE)
    collection = StorageCollection.objects.filter(key=collection_key).first()
    if collection is None:
        raise NotFound(f"There is no collection {collection_key}.")
    return Context(ContextType.COLLECTION, collection)


def recall_context(collection_key: str, storage_key: str, digest: bytes) -> Context | None:
    """Return the context that the last request with this token had, without a trip to the database (D589).

    The caller asks the question of the context in the trip that enters the scope, and finds the context again if it has
    changed. On a cluster that trip has no room for questions, and a replica may not have the change yet.
    """
    found = _recent.get(_address(collection_key, storage_key, digest)) if digest else None
    if found is None or engine().is_distributed or has_replica():
        return None
    mark, *row = found
    storage, token = _from_row(row)
    # The next use of the token will be recorded in its row.
    if token is None or not token.was_just_used(timezone.now()):
        return None
    question = Question(_CONFIRM_SQL, [digest, collection_key, storage_key], lambda rows: rows == [(mark,)])
    return Context(ContextType.STORAGE, storage.collection, storage, token, question)


def context_at(collection_key: str, storage_key: str) -> Context:
    """Return the context of an address, for commands; raise NotFound for an unknown one, with similar addresses."""
    try:
        return find_context(collection_key, storage_key)
    except NotFound as problem:
        raise _unknown(problem.message, collection_key, storage_key) from None


def storage_at(collection_key: str, storage_key: str) -> Storage:
    """Return the storage at an address, for commands; raise NotFound for an unknown one, with similar addresses."""
    storage = read_storage(collection_key, storage_key)
    if storage is None:
        raise _unknown(f"There is no storage {collection_key}/{storage_key}.", collection_key, storage_key)
    return storage


def storages_at(collection_key: str | None, storage_key: str | None) -> list[Storage]:
    """Return the storage at an address, or all storages without one, for commands."""
    if collection_key is None:
        return list(Storage.objects.select_related("collection"))
    if storage_key is None:
        raise Invalid("Give both collection and storage, such as acme handbook, or neither.")
    return [storage_at(collection_key, storage_key)]


def _unknown(text: str, collection_key: str, storage_key: str) -> NotFound:
    if storage_key == ADMINISTRATION_KEY:
        hint = similar_hint(collection_key, StorageCollection.objects.values_list("key", flat=True))
    else:
        addresses = Storage.objects.values_list("collection__key", "key")
        hint = similar_hint(f"{collection_key}/{storage_key}", map("/".join, addresses))
    return NotFound(f"{text.removesuffix('.')}{hint}. List storages: manage.py list_storages")


_STORAGE_FIELDS = [field.attname for field in Storage._meta.concrete_fields]
_COLLECTION_FIELDS = [field.attname for field in StorageCollection._meta.concrete_fields]
_TOKEN_FIELDS = [field.attname for field in ApiToken._meta.concrete_fields]
# Every request starts with this look-up; plain SQL takes less than a third of the time of the ORM.
STORAGE_COLUMNS = [
    f"{table}.{name}" for table, names in (("s", _STORAGE_FIELDS), ("c", _COLLECTION_FIELDS)) for name in names
]
STORAGE_JOINED = "storage_storage s JOIN storage_storagecollection c ON c.id = s.collection_id"
_WHERE = "WHERE c.key = %s AND s.key = %s"
_STORAGE_SQL = f"SELECT {', '.join(STORAGE_COLUMNS)} FROM {STORAGE_JOINED} {_WHERE}"  # noqa: S608  column names of the models
_TOKEN_COLUMNS = ", ".join(f"t.{name}" for name in _TOKEN_FIELDS)
_TOKEN_JOINED = f"{STORAGE_JOINED} LEFT JOIN storage_apitoken t ON t.digest = %s AND t.storage_id = s.id {_WHERE}"
# Changes with every change of a row.
_MARK = "concat_ws(' ', s.xmin, s.ctid, c.xmin, c.ctid, t.xmin, t.ctid)"
_STORAGE_AND_TOKEN_SQL = f"SELECT {_MARK}, {', '.join(STORAGE_COLUMNS)}, {_TOKEN_COLUMNS} FROM {_TOKEN_JOINED}"  # noqa: S608
_CONFIRM_SQL = f"SELECT {_MARK} FROM {_TOKEN_JOINED}"  # noqa: S608  constants
# Marks and rows by address and token.
_recent: RecentValues[Row] = RecentValues(1_000)


def read_storage(collection_key: str, storage_key: str) -> Storage | None:
    """Return a storage with its collection, or None."""
    return _read(collection_key, storage_key)[0]


def _read(collection_key: str, storage_key: str, digest: bytes = b"") -> tuple[Storage | None, ApiToken | None]:
    keys = [collection_key, storage_key]
    if not digest:
        rows = look_up(_STORAGE_SQL, keys)
        return _from_row(rows[0]) if rows else (None, None)
    rows = look_up(_STORAGE_AND_TOKEN_SQL, [digest, *keys])
    storage, token = _from_row(rows[0][1:]) if rows else (None, None)
    if token is not None:
        _recent.keep(_address(collection_key, storage_key, digest), rows[0])
    return storage, token


def storage_from_row(row: Sequence[Any]) -> Storage:
    """Return the storage, with its collection, of a row that begins with `STORAGE_COLUMNS`."""
    alias, end = connection.alias, len(_STORAGE_FIELDS)
    storage = Storage.from_db(alias, _STORAGE_FIELDS, row[:end])
    storage.collection = StorageCollection.from_db(alias, _COLLECTION_FIELDS, row[end : len(STORAGE_COLUMNS)])
    return storage


def _from_row(row: Sequence[Any]) -> tuple[Storage, ApiToken | None]:
    token = row[len(STORAGE_COLUMNS) :]
    found = ApiToken.from_db(connection.alias, _TOKEN_FIELDS, token) if token and token[0] is not None else None
    return storage_from_row(row), found


def _address(collection_key: str, storage_key: str, digest: bytes) -> bytes:
    return f"{collection_key}/{storage_key} ".encode() + digest
