"""Plain Django REST framework over the same tables, as a developer would first write it.

It uses nested model serializers, prefetching, hyperlinks and the pagination of the framework. It shows the same data of
an element as the service, in the form that serializers produce.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connections
from django.http import HttpResponse
from django.urls import include, path, reverse
from rest_framework import pagination, routers, serializers, viewsets

from elements.models import Element, ElementVersion, Reference, Shape


class TargetSerializer(serializers.ModelSerializer[Element]):
    facetName = serializers.CharField(source="type.facet.name")
    versionId = serializers.UUIDField(source="newest.id")
    type = serializers.CharField(source="type.key")
    state = serializers.CharField(source="newest.state")
    expandUri = serializers.HyperlinkedIdentityField(view_name="element-detail")

    class Meta:
        model = Element
        fields = ["facetName", "id", "versionId", "type", "state", "expandUri"]


class PlainReferenceSerializer(serializers.ModelSerializer[Reference]):
    target = TargetSerializer()

    class Meta:
        model = Reference
        fields = ["context", "position", "target"]


class VersionSerializer(serializers.ModelSerializer[ElementVersion]):
    related = PlainReferenceSerializer(source="references", many=True, read_only=True)
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
    """A released version in the history."""

    facetName = serializers.CharField(source="element.type.facet.name")
    versionId = serializers.UUIDField(source="id")
    id = serializers.UUIDField(source="element_id")
    type = serializers.CharField(source="element.type.key")
    expandUri: Any = serializers.HyperlinkedRelatedField(
        view_name="element-detail", source="element", read_only=True, lookup_field="pk"
    )

    class Meta:
        model = ElementVersion
        fields = ["facetName", "id", "versionId", "type", "state", "expandUri"]


class PlainElementSerializer(serializers.ModelSerializer[Element]):
    facetName = serializers.CharField(source="type.facet.name", read_only=True)
    type = serializers.CharField(source="type.key", read_only=True)
    newest = VersionSerializer()
    releaseHistory = KnownVersionSerializer(source="versions", many=True, read_only=True)
    children = TargetSerializer(many=True, read_only=True)
    gotoUrl = serializers.SerializerMethodField()

    class Meta:
        model = Element
        fields = ["facetName", "id", "type", "newest", "releaseHistory", "children", "gotoUrl"]

    def get_gotoUrl(self, element: Element) -> dict[str, str]:
        request = self.context["request"]
        page = reverse("page", kwargs={"pk": element.pk, "lcid": 0})
        return {lcid: request.build_absolute_uri(page.replace("/0/", f"/{lcid}/")) for lcid in ("1031", "1033")}


class WholeElementSerializer(PlainElementSerializer):
    """One element, with more detail than in a list."""

    displayNames = serializers.JSONField(source="type.display_names", read_only=True)
    content = serializers.SerializerMethodField()
    rootPath = serializers.SerializerMethodField()

    class Meta(PlainElementSerializer.Meta):
        fields = [*PlainElementSerializer.Meta.fields, "displayNames", "content", "rootPath"]

    def get_content(self, element: Element) -> Any:
        shown = Element.objects.filter(id__in=Shape.objects.filter(version=element.newest_id).values("element_id"))
        related = shown.select_related("type__facet", "newest")
        return TargetSerializer(related, many=True, context=self.context).data

    def get_rootPath(self, element: Element) -> Any:
        path, parent = [], element.parent
        while parent is not None:
            path.append(parent)
            parent = parent.parent
        return TargetSerializer(path, many=True, context=self.context).data


class Pages(pagination.PageNumberPagination):
    page_size = 100


class PlainElementViewSet(viewsets.ModelViewSet[Element]):
    pagination_class = Pages
    authentication_classes: list[Any] = []
    permission_classes: list[Any] = []
    queryset = (
        Element.objects.filter(type__facet__name="processes")
        .select_related("type__facet", "newest")
        .prefetch_related(
            "newest__references__target__type__facet",
            "newest__references__target__newest",
            "versions__element__type__facet",
            "children__type__facet",
            "children__newest",
        )
        .order_by("newest__sort_name", "id")
    )

    def get_serializer_class(self) -> Any:
        return PlainElementSerializer if self.action == "list" else WholeElementSerializer


router = routers.DefaultRouter()
router.register("elements", PlainElementViewSet, basename="element")
urlpatterns = [
    path("", include(router.urls)),
    # Never requested; needed to build the addresses of pages.
    path("pages/<int:lcid>/<uuid:pk>/", lambda request, lcid, pk: HttpResponse(), name="page"),
]


def application() -> Callable[..., Any]:
    import gc

    from django.core.wsgi import get_wsgi_application

    from repository_site.core.database.pool import enable_pool
    from repository_site.operations.server import keep_to_core

    keep_to_core()
    found = get_wsgi_application()
    enable_pool(8)
    # With many connections, requests wait for the pool instead of being refused.
    connections.settings["default"]["OPTIONS"]["pool"]["timeout"] = 600
    gc.freeze()
    return found
