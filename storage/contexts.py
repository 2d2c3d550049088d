"""The three contexts a request can address (D24): one storage, one collection, or the whole site."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from django.db import connection

from repository_site.database.statements import look_up
from repository_site.problems import NotFound
from storage.addresses import ADMINISTRATION_KEY, KEY_PATTERN, SITE_KEY
from storage.models import Storage, StorageCollection


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

    @property
    def path(self) -> str:
        collection = self.collection.key if self.collection else SITE_KEY
        return f"/{collection}/{self.storage.key if self.storage else ADMINISTRATION_KEY}"


def find_context(collection_key: str, storage_key: str) -> Context:
    """The context of an address; NotFound when there is none. Ids match exactly (D1 loosens names only)."""
    for key in {collection_key, storage_key} - {SITE_KEY, ADMINISTRATION_KEY}:
        if not KEY_PATTERN.fullmatch(key):
            # Nothing of that name can exist, and the database could not even be asked for a NUL.
            raise NotFound("There is no storage at this address.")
    if storage_key != ADMINISTRATION_KEY:
        storage = storage_at(collection_key, storage_key)
        return Context(ContextType.STORAGE, storage.collection, storage)
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
# Every request starts with this lookup; written out, it takes less than a third of what the ORM takes.
_COLUMNS = ", ".join([*(f"s.{name}" for name in _STORAGE_FIELDS), *(f"c.{name}" for name in _COLLECTION_FIELDS)])
_STORAGE_SQL = (
    f"SELECT {_COLUMNS}"  # noqa: S608  column names of the models
    " FROM storage_storage s JOIN storage_storagecollection c ON c.id = s.collection_id"
    " WHERE c.key = %s AND s.key = %s"
)


def read_storage(collection_key: str, storage_key: str) -> Storage | None:
    """One storage with its collection, or None."""
    rows = look_up(_STORAGE_SQL, [collection_key, storage_key])
    if not rows:
        return None
    row = rows[0]
    storage = Storage.from_db(connection.alias, _STORAGE_FIELDS, row[: len(_STORAGE_FIELDS)])
    storage.collection = StorageCollection.from_db(connection.alias, _COLLECTION_FIELDS, row[len(_STORAGE_FIELDS) :])
    return storage
