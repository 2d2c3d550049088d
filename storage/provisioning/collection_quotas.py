"""Quotas of collections (D595): how many storages the API provisions in one."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.conf import settings
from django.db.models import Count

from repository_site.core.problems import NotFound, placed
from storage.models import StorageCollection

PLACE = "storages"


def most_storages(collection: StorageCollection) -> int:
    """Return the quota of a collection, or that of the installation."""
    own = collection.quota_storages
    return int(settings.MAX_STORAGES if own is None else own)


def further_storage_problem(collection: StorageCollection, key: str) -> str | None:
    """Return the problem of one more storage, or None. A storage that exists already does not count again.

    Call this in the transaction that creates the storage: requests for the same collection wait until it ends, so that
    two of them cannot take the last place.
    """
    locked = StorageCollection.objects.select_for_update(no_key=True).filter(pk=collection.pk).first()
    if locked is None:
        raise NotFound("There is nothing at this address.")
    used, most = locked.storages.count(), most_storages(locked)
    if used < most or locked.storages.filter(key__iexact=key).exists():
        return None
    text = f"the collection has {used} of at most {most}. Remove a storage, or ask an operator for a larger quota."
    return placed(PLACE, text)


def read_storage_numbers(collections: Iterable[UUID]) -> dict[UUID, tuple[int, int]]:
    """Return the number of storages and the quota of collections, by collection."""
    found = StorageCollection.objects.filter(pk__in=set(collections)).annotate(number=Count("storages"))
    return {each.pk: (each.number, most_storages(each)) for each in found}
