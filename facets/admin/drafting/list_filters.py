"""Filters of the configuration lists, with choices from the snapshot."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from facets.admin.drafting.snapshot import snapshot_of
from facets.blueprint.data_types import DataType
from repository_site.core.problems import NotFound
from storage.back_office.select_filter import SelectFilter

RELATED = "related"


class _RowFilter(SelectFilter):
    column: str
    table: str

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        snapshot = snapshot_of(request)
        return [(row.id, snapshot.label(row)) for row in getattr(snapshot, self.table).values()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        if not chosen:
            return queryset
        if chosen not in getattr(snapshot_of(request), self.table):
            raise NotFound(gettext("This storage has no such entry. Choose one from the list."))
        return queryset.filter(**{self.column: chosen})


class FacetFilter(_RowFilter):
    title = _("facet")
    parameter_name = "facet"
    column = "facet_id"
    table = "facets"


class TypeFacetFilter(FacetFilter):
    column = "type__facet_id"


class PropertyTypeFilter(_RowFilter):
    title = _("type")
    parameter_name = "type"
    column = "type_id"
    table = "types"


class VersionedFilter(SelectFilter):
    title = _("versions")
    parameter_name = "versions"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", _("With versions")), ("no", _("Without versions"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        return queryset.filter(is_versioned=chosen == "yes") if chosen in ("yes", "no") else queryset


class DataTypeFilter(SelectFilter):
    title = _("content type")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(RELATED, _("Related elements")), *((kind.value, kind.value) for kind in DataType)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        if not chosen:
            return queryset
        if chosen not in dict(self.lookup_choices):
            return queryset.none()
        return queryset.filter(data_type="" if chosen == RELATED else chosen)
