"""Lists of configuration rows, with search in keys and names, and with ordering by dragging."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.views import ChangeList

from facets import models
from facets.admin.drafting.admin_mixin import may_edit
from facets.admin.drafting.row_links import change_link
from facets.admin.drafting.snapshot import ConfigurationSnapshot, name_of, snapshot_of
from facets.changing.changes import EditRefused, edit_configuration
from facets.models.base import ConfigurationModel
from facets.rows.reading import Row
from storage.pages import storage_of

ROW = re.compile(r"form-(\d+)-id")


class RowList(ChangeList):
    """Attaches the snapshot to each row, for columns with names or other rows."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        snapshot = snapshot_of(request)
        for row in self.result_list:
            row.snapshot = snapshot


class ConfigurationList:
    """Mixin for lists. `words` are the columns to search in, in addition to names."""

    model: type[ConfigurationModel]
    change_list_template = "back_office/configuration/change_list.html"
    list_before_template = "back_office/configuration/order_note.html"
    search_fields = ("key",)
    words: ClassVar[tuple[str, ...]] = ("key",)
    ordering_field: str | None = "position"
    hide_ordering_field = True
    list_per_page = 500
    show_full_result_count = True
    actions = None
    sortable_by = ()

    @admin.display(description=gettext_lazy("Key"))
    def row_key(self, row: Any) -> str:
        return str(row.key)

    @admin.display(description=gettext_lazy("Name in addresses"))
    def address_name(self, row: Any) -> str:
        return str(row.name)

    @admin.display(description=gettext_lazy("Name"))
    def named(self, row: Any) -> str:
        return str(row.snapshot.text(row.display_names, name_of(row)))

    @admin.display(description=gettext_lazy("Facet"))
    def facet_link(self, row: Any) -> SafeString:
        return change_link(models.Facet(id=row.facet_id), row.snapshot.facets[str(row.facet_id)].name)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        wanted = search_term.casefold().split()
        if not wanted:
            return queryset, False
        snapshot = snapshot_of(request)
        found = [
            row.id
            for row in snapshot.rows.table(self.model)
            if all(word in self.haystack(snapshot, row) for word in wanted)
        ]
        return queryset.filter(pk__in=found), False

    def haystack(self, snapshot: ConfigurationSnapshot, row: Row) -> str:
        names = getattr(row, "display_names", {}).values()
        return "\n".join([*(str(getattr(row, word)) for word in self.words), *names]).casefold()

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return RowList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if request.method == "POST":
            return self._save_order(request)
        self.set_trail(request, None)  # type: ignore[attr-defined]
        context = {**(extra_context or {}), "is_read_only": not may_edit(request)}
        return super().changelist_view(request, context)  # type: ignore[misc,no-any-return]

    def _save_order(self, request: HttpRequest) -> HttpResponse:
        """Save the order of the rows on the page; other rows keep their positions."""
        if not may_edit(request):
            raise PermissionDenied
        ids = sorted(posted_order(request))
        try:
            edit_configuration(
                storage_of(request), lambda draft: draft.arrange(self.model, [row_id for _, row_id in ids])
            )
            messages.success(request, _("The order is saved."))
        except EditRefused as refused:
            for text in refused.details:
                messages.error(request, text)
        return HttpResponseRedirect(request.get_full_path())


def posted_order(request: HttpRequest) -> list[tuple[int, str]]:
    found = []
    for name, row_id in request.POST.items():
        match = ROW.fullmatch(name)
        if match:
            place = request.POST.get(f"form-{match[1]}-position", "")
            found.append((int(place) if place.isdecimal() and len(place) < 10 else 0, str(row_id)))
    return found
