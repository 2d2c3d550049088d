"""Plain Django REST framework over the same tables: what a developer would write first.

Nested model serializers, prefetching, hyperlinks and the pagination that comes with the framework. It shows the same of
an element, in the shape that serializers give it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from django.urls import include, path
from rest_framework import pagination, routers, serializers, viewsets

from elements.models import Element, ElementVersion, Reference

STORAGE = os.environ.get("BENCHMARK_STORAGE", "00000000-0000-0000-0000-000000000000")


class TargetSerializer(serializers.ModelSerializer[Element]):
    facetName = serializers.CharField(source="type.facet.name")
    versionId = serializers.UUIDField(source="newest.id")
    type = serializers.CharField(source="type.key")
    state = serializers.CharField(source="newest.state")
    expandUri = serializers.HyperlinkedIdentityField(view_name="element-detail")

    class Meta:
        model = Element
        fields = ["facetName", "id", "versionId", "type", "state", "expandUri"]


class ReferenceSerializer(serializers.ModelSerializer[Reference]):
    target = TargetSerializer()

    class Meta:
        model = Reference
        fields = ["context", "position", "target"]


class VersionSerializer(serializers.ModelSerializer[ElementVersion]):
    related = ReferenceSerializer(source="references", many=True, read_only=True)
    isReleased = serializers.SerializerMethodField()
    version = serializers.SerializerMethodField()

    class Meta:
        model = ElementVersion
        fields = [
            "id", "state", "attributes", "isReleased", "version", "changed_on", "created_on", "released_on",
            "valid_from", "valid_until", "related",
        ]  # fmt: skip

    def get_isReleased(self, version: ElementVersion) -> bool:
        return version.category == "published"

    def get_version(self, version: ElementVersion) -> str:
        return f"{version.major}.{version.minor}"


class KnownVersionSerializer(serializers.ModelSerializer[ElementVersion]):
    class Meta:
        model = ElementVersion
        fields = ["id", "state", "major", "minor", "released_on"]


class ElementSerializer(serializers.ModelSerializer[Element]):
    facetName = serializers.CharField(source="type.facet.name", read_only=True)
    type = serializers.CharField(source="type.key", read_only=True)
    newest = VersionSerializer()
    versions = KnownVersionSerializer(many=True, read_only=True)
    children = TargetSerializer(many=True, read_only=True)
    gotoUrl = serializers.HyperlinkedIdentityField(view_name="element-detail")

    class Meta:
        model = Element
        fields = ["facetName", "id", "type", "newest", "versions", "children", "gotoUrl"]


class Pages(pagination.PageNumberPagination):
    page_size = 100


class ElementViewSet(viewsets.ModelViewSet[Element]):
    serializer_class = ElementSerializer
    pagination_class = Pages
    authentication_classes: list[Any] = []
    permission_classes: list[Any] = []
    queryset = (
        Element.objects.filter(storage_id=STORAGE, type__facet__name="processes")
        .select_related("type__facet", "newest")
        .prefetch_related(
            "newest__references__target__type__facet",
            "newest__references__target__newest",
            "versions",
            "children__type__facet",
            "children__newest",
        )
        .order_by("newest__sort_name", "id")
    )


router = routers.DefaultRouter()
router.register("elements", ElementViewSet, basename="element")
urlpatterns = [path("", include(router.urls))]


def application() -> Callable[..., Any]:
    """What the server calls in each worker process."""
    import gc

    from django.core.wsgi import get_wsgi_application

    from repository_site.database.pool import enable_pool

    found = get_wsgi_application()
    enable_pool(8)
    gc.freeze()
    return found
