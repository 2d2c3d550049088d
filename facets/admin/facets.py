"""Facets, with their views in a table, and the layouts that views offer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from facets import models
from facets.admin.api_answers import facet_answers, type_answers
from facets.admin.drafting.model_admin import ConfigurationAdmin
from facets.admin.drafting.part_tables import PartTable
from facets.admin.drafting.preview_panel import ApiAnswer
from facets.admin.drafting.row_forms import PartForm
from facets.admin.drafting.row_links import change_link, link
from facets.admin.facet_views import VIEW_HELPS, VIEW_LABELS
from facets.configuration import Configuration
from facets.rows.reading import Row, Rows
from storage.back_office import NavigationEntry, NavigationGroup, storage_office


class ViewLineForm(PartForm):
    places: ClassVar[dict[str, str]] = {"rootTypes": "is_hierarchical"}


class ViewLines(PartTable):
    model = models.FacetView
    form = ViewLineForm
    columns = ("name", "key", "display_names", "is_hierarchical")
    link = _("Types and properties")
    verbose_name = _("view")
    verbose_name_plural = _("Views")
    labels = VIEW_LABELS
    helps: ClassVar[dict[str, Any]] = {
        **VIEW_HELPS,
        "is_hierarchical": _("Lists elements as a tree. Choose the types at its root on the page of the view."),
    }


@admin.register(models.Facet, site=storage_office)
class FacetAdmin(ConfigurationAdmin):
    help = _(
        "A facet groups element types, such as processes or users. Each of its views shows some of"
        " these types and their properties, as a list or as a tree."
    )
    fieldsets = ((None, {"fields": ("name", "type_name", "display_names", "for_readers", "types_inside")}),)
    readonly_fields = ("types_inside",)
    inlines = (ViewLines,)
    list_display = ("address_name", "named", "view_links", "type_links")
    search_fields = ("name",)
    words = ("name",)
    labels: ClassVar[dict[str, Any]] = {
        "name": _("Name in addresses"),
        "type_name": _("Facet type name"),
        "for_readers": _("For readers"),
    }
    helps: ClassVar[dict[str, Any]] = {
        "name": _("Identifies the facet in addresses: /facets/{name}/."),
        "type_name": _("The facetTypeName in the element info."),
        "for_readers": _(
            "Viewers and anonymous readers see the facet and its elements. Unless this is selected, no list, page,"
            " search, reference or event shows them the facet."
        ),
    }

    def trail(self, row: Any) -> list[tuple[str, str]]:
        return [(str(_("Facets and views")), reverse("admin:facets_facet_changelist"))]

    @admin.display(description=_("Views"))
    def view_links(self, row: Any) -> SafeString:
        views = row.snapshot.owned(models.FacetView, row.pk)
        return format_html_join(", ", "{}", ((change_link(models.FacetView(id=each.id), each.name),) for each in views))

    @admin.display(description=_("Types"))
    def type_links(self, row: Any) -> SafeString:
        count = len(row.snapshot.referring(models.ElementType, "facet_id", row.pk))
        return link(f"{reverse('admin:facets_elementtype_changelist')}?facet={row.pk}", str(count))

    @admin.display(description=_("Types"))
    def types_inside(self, row: Any) -> SafeString | str:
        if row._state.adding:
            return str(_("Save the facet before you add types."))
        types = row.snapshot.referring(models.ElementType, "facet_id", row.pk)
        links = [change_link(models.ElementType(id=each.id), each.key) for each in types]
        add = link(f"{reverse('admin:facets_elementtype_add')}?facet_id={row.pk}", _("Add a type"))
        return format_html(
            '<span class="config-links">{}</span>', format_html_join(" ", "{}", ((each,) for each in [*links, add]))
        )

    def answers(self, request: HttpRequest, configuration: Configuration, rows: Rows, row: Row) -> Iterable[ApiAnswer]:
        return facet_answers(request, configuration, row.name)

    def focus(self, row: Any) -> str:
        return f'"name": {json.dumps(row.name, ensure_ascii=False)}'


@admin.register(models.Layout, site=storage_office)
class LayoutAdmin(ConfigurationAdmin):
    help = _("A layout is a way to draw or arrange an element. Each view defines which layouts it offers for a type.")
    fields = ("key", "display_names")
    list_display = ("row_key", "named", "used")
    labels: ClassVar[dict[str, Any]] = {"key": _("Key")}
    helps: ClassVar[dict[str, Any]] = {"key": _("Identifies the layout in the API and in the addresses of diagrams.")}

    @admin.display(description=_("Offered for"))
    def used(self, row: Any) -> str:
        uses = Counter(each.layout_id for each in row.snapshot.rows.table(models.ViewLayout))
        return _("%(count)d types in views") % {"count": uses[str(row.pk)]}

    def answers(self, request: HttpRequest, configuration: Configuration, rows: Rows, row: Row) -> Iterable[ApiAnswer]:
        """Return the answer about the first type with this layout; all types show it in the same way."""
        for type_key in configuration.types:
            for answer in type_answers(configuration, type_key):
                if any(each["key"] == row.key for each in answer.body["values"][0]["layouts"]):
                    return [answer]
        return []


storage_office.add_navigation(
    NavigationEntry(NavigationGroup.CONFIGURATION, _("Facets and views"), "category", "facets_facet_changelist"),
)
