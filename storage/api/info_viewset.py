"""Storage info, in every context."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import answer
from repository_site.core.rest.versioning import ApiVersions
from storage.api.storage_serializers import StorageInfoSerializer
from storage.api.viewset import EVERYWHERE, ApiViewSet
from storage.provisioning.storage_info import storage_info


class StorageInfoViewSet(ApiViewSet):
    @Operation(
        "getStorageInfo",
        tag="storage",
        summary="Get storage info",
        versions=ApiVersions.up_to("1.0"),
        by_facet=True,
        contexts=EVERYWHERE,
        responses=StorageInfoSerializer,
    )
    def retrieve(self, request: Request, **names: str) -> HttpResponse:
        """Return ids, addresses, cultures, region and time zone of the storage or administrative context."""
        return answer(storage_info(self.context, self.base))
