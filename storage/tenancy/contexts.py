"""The three contexts a request can address (D24): one storage, one collection, or the whole site."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from django.db import connection

from repository_site.core.database.statements import look_up
from repository_site.core.problems import NotFound
from storage.models import ApiToken, Storage, StorageCollection
from storage.tenancy.addresses import ADMINISTRATION_KEY, KEY_PATTERN, SITE_KEY


class ContextType(StrEnum):
    STORAGE = "IStorageContext"
    COLLECTION = "IStorageCollectionContext"
    SITE = "ISysAdminContext"


@dataclass(frozen=True, slots=True)
class Context:
    """What the first two path segments stand for."""

    type: ContextType
    collection: StorageCollection | None = None
    storage: Storage | None = None
    token: ApiToken | None = None
    """Of the storage, if its digest was at hand when the context was looked for; it may have ended."""

    @property
    def path(self) -> str:
        collection = self.collection.key if self.collection else SITE_KEY
        return f"/{collection}/{self.storage.key if self.storage else ADMINISTRATION_KEY}"


def find_context(collection_key: str, storage_key: str, digest: bytes = b"") -> Context:
    """The context of an address; NotFound when there is none. Ids match exactly (D1 loosens names only).

    With the digest of a token, that is looked for in the same trip to the database.
    """
    for key in {collection_key, storage_key} - {SITE_KEY, ADMINISTRATION_KEY}:
        if not KEY_PATTERN.fullmatch(key):
            # Nothing of that name can exist, and the database could not even be asked for a NUL.
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


def storage_at(collection_key: str, storage_key: str) -> Storage:
    """One storage by its address, for commands; NotFound when there is none."""
    storage = read_storage(collection_key, storage_key)
    if storage is None:
        raise NotFound(f"There is no storage {collection_key}/{storage_key}.")
    return storage


_STORAGE_FIELDS = [field.attname for field in Storage._meta.concrete_fields]
_COLLECTION_FIELDS = [field.attname for field in StorageCollection._meta.concrete_fields]
_TOKEN_FIELDS = [field.attname for field in ApiToken._meta.concrete_fields]
# Every request starts with this lookup; written out, it takes less than a third of what the ORM takes.
_COLUMNS = [f"{table}.{name}" for table, names in (("s", _STORAGE_FIELDS), ("c", _COLLECTION_FIELDS)) for name in names]
_JOINED = "storage_storage s JOIN storage_storagecollection c ON c.id = s.collection_id"
_WHERE = "WHERE c.key = %s AND s.key = %s"
_STORAGE_SQL = f"SELECT {', '.join(_COLUMNS)} FROM {_JOINED} {_WHERE}"  # noqa: S608  column names of the models
_TOKEN_COLUMNS = ", ".join(f"t.{name}" for name in _TOKEN_FIELDS)
_STORAGE_AND_TOKEN_SQL = (
    f"SELECT {', '.join(_COLUMNS)}, {_TOKEN_COLUMNS} FROM {_JOINED}"  # noqa: S608  column names of the models
    f" LEFT JOIN storage_apitoken t ON t.digest = %s AND t.storage_id = s.id {_WHERE}"
)


def read_storage(collection_key: str, storage_key: str) -> Storage | None:
    """One storage with its collection, or None."""
    return _read(collection_key, storage_key)[0]


def _read(collection_key: str, storage_key: str, digest: bytes = b"") -> tuple[Storage | None, ApiToken | None]:
    keys = [collection_key, storage_key]
    rows = look_up(_STORAGE_AND_TOKEN_SQL, [digest, *keys]) if digest else look_up(_STORAGE_SQL, keys)
    if not rows:
        return None, None
    row, alias = rows[0], connection.alias
    end = len(_STORAGE_FIELDS)
    storage = Storage.from_db(alias, _STORAGE_FIELDS, row[:end])
    storage.collection = StorageCollection.from_db(alias, _COLLECTION_FIELDS, row[end : len(_COLUMNS)])
    token = row[len(_COLUMNS) :]
    return storage, ApiToken.from_db(alias, _TOKEN_FIELDS, token) if token and token[0] is not None else None
