"""The three contexts that a request can address (D24): a storage, a collection, or the site."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from django.db import connection

from repository_site.core.database.statements import look_up
from repository_site.core.problems import Invalid, NotFound
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

    @property
    def path(self) -> str:
        collection = self.collection.key if self.collection else SITE_KEY
        return f"/{collection}/{self.storage.key if self.storage else ADMINISTRATION_KEY}"


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
    """Return a storage with its collection, or None."""
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
