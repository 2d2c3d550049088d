"""Storages of a collection for existing tools (D582): list and provision them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.http import HttpResponse
from rest_framework.request import Request

from repository_site.core.problems import Conflict, NotFound
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import answer, counted
from repository_site.core.rest.versioning import ApiVersions
from storage.api.administration_viewset import refuse_parameters
from storage.api.storage_serializers import ListedStoragesSerializer, NewStorageSerializer
from storage.api.viewset import ApiViewSet
from storage.models import Storage, StorageCollection
from storage.provisioning.administrative_elements import storage_documents
from storage.provisioning.storage_input import NAME, provision_from
from storage.tenancy.contexts import ContextType, read_storage
from storage.tenancy.scope import tenant_scope

TAG = "compatibility"
FIRST = ApiVersions.up_to("1.0")
COLLECTIONS = frozenset({ContextType.COLLECTION})


class StoragesViewSet(ApiViewSet):
    @Operation(
        "listStorages",
        tag=TAG,
        summary="List the storages of a collection",
        versions=FIRST,
        contexts=COLLECTIONS,
        responses=ListedStoragesSerializer,
    )
    def list(self, request: Request, **names: str) -> HttpResponse:
        """Return all storages of the collection, sorted by name. Requires an administrator of the collection."""
        refuse_parameters(request)
        return self._answer_storages(self._collection.storages.iterator())

    @Operation(
        "provisionStorage",
        tag=TAG,
        summary="Provision a storage",
        versions=FIRST,
        contexts=COLLECTIONS,
        writes=True,
        reads_without_body=True,
        body=NewStorageSerializer,
        responses=ListedStoragesSerializer,
    )
    def create(self, request: Request, **names: str) -> HttpResponse:
        """Create a storage in the collection and return it. Requires an administrator of the collection.

        Only `name` is required; other settings have the defaults of the template and of the installation. If anything
        is invalid, or the collection has as many storages as its quota allows, nothing is created, and `data` lists all
        problems. If the storage exists, the response is 409. With an empty body this operation reads, as GET does.
        """
        refuse_parameters(request)
        given: Any = request.data
        try:
            with transaction.atomic():
                storage = provision_from(self._collection, given)
                with tenant_scope(storage):
                    return self.once(storage, request, lambda: self._answer_storages([storage]))
        except Conflict as problem:
            existing = read_storage(self._collection.key, given[NAME])
            if existing is None:
                raise
            return self._answer_again(existing, request, problem)

    def _answer_again(self, storage: Storage, request: Request, problem: Conflict) -> HttpResponse:
        """Return the response to the request that has created the storage, if it had the same Idempotency-Key."""

        def refuse() -> HttpResponse:
            raise problem

        with tenant_scope(storage):
            return self.once(storage, request, refuse)

    @property
    def _collection(self) -> StorageCollection:
        if self.context.collection is None:
            raise NotFound("There is nothing at this address.")
        return self.context.collection

    def _answer_storages(self, storages: Iterable[Storage]) -> HttpResponse:
        return answer(counted("values", storage_documents(storages, self.base)))
