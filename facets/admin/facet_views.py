"""Views of a facet: their types, and the properties and layouts of each type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from facets import models
from facets.admin.api_answers import view_answer, view_list
from facets.admin.drafting.choice_fields import ListField, RowField
from facets.admin.drafting.model_admin import ConfigurationAdmin
from facets.admin.drafting.part_tables import PartList
from facets.admin.drafting.preview_panel import ApiAnswer
from facets.admin.drafting.row_forms import ConfigurationForm, PartForm
from facets.admin.drafting.row_links import change_address
from facets.admin.drafting.snapshot import snapshot_of
from facets.configuration import Configuration
from facets.rows.drafts import Draft
from facets.rows.reading import Row, Rows
from storage.back_office import storage_office

VIEW_LABELS = {"name": _("Name in addresses"), "key": _("View key"), "is_hierarchical": _("Tree")}
VIEW_HELPS = {
    "name": _("Identifies the view in addresses: /views/{name}/."),
    "key": _("The facetViewKey in the element info."),
}


class ViewForm(ConfigurationForm):
    places: ClassVar[dict[str, str]] = {"rootTypes": "is_hierarchical"}

    facet_id = RowField(
        label=_("Facet"), help_text=_("A view shows types of one facet. You cannot change the facet later.")
    )

    def prepare(self) -> None:
        self.offer("facet_id", self.snapshot.options(self.snapshot.facets.values()))
        if self.row is not None:
            self.start(facet_id=self.row.facet_id)
            self.fields["facet_id"].disabled = True

    def apply(self, draft: Draft) -> None:
        self.instance.facet_id = self.cleaned_data["facet_id"]
        super().apply(draft)


class ViewTypeForm(PartForm):
    places: ClassVar[dict[str, str]] = {"properties": "shown"}

    type_id = RowField(label=_("Type"))
    shown = ListField(
        label=_("Properties"),
        help_text=_(
            "Properties of the type that the view shows, in this order. Drag them, or move them with the arrows."
        ),
    )
    layouts = ListField(label=_("Layouts"), help_text=_("Layouts that the view offers for the type, in this order."))

    def prepare(self) -> None:
        snapshot, row = self.snapshot, self.row
        facet = self._facet()
        in_facet = [each for each in snapshot.types.values() if facet in ("", each.facet_id)]
        self.offer("type_id", snapshot.options(in_facet))
        self.offer("layouts", snapshot.options(snapshot.rows.table(models.Layout)))
        if row is None:
            # The properties are known once a type is chosen.
            self.fields["shows_all"].initial = True
            self.fields["shown"].help_text = _("Save first, then choose among the properties of the type.")
            return
        self.fields["type_id"].disabled = True
        self.offer("shown", snapshot.options(snapshot.owned(models.Property, row.type_id)))
        self.start(
            type_id=row.type_id,
            shown=[each.property_id for each in snapshot.owned(models.ViewProperty, row.id)],
            layouts=[each.layout_id for each in snapshot.owned(models.ViewLayout, row.id)],
        )

    def _facet(self) -> str:
        view = self.snapshot.views.get(str(self.owner.pk))
        return "" if view is None else str(view.facet_id)

    def apply(self, draft: Draft) -> None:
        self.instance.type_id = self.cleaned_data["type_id"]
        super().apply(draft)
        # A type that shows all properties names none, since an export would lose them.
        chosen = [] if self.instance.shows_all else self.cleaned_data["shown"]
        draft.link(models.ViewProperty, self.instance.pk, chosen)
        draft.link(models.ViewLayout, self.instance.pk, self.cleaned_data["layouts"])


class ViewTypes(PartList):
    model = models.ViewType
    form = ViewTypeForm
    columns = ("type_id", "is_root", "shows_all", "shown", "layouts")
    verbose_name = _("type in this view")
    verbose_name_plural = _("Types in this view")
    labels: ClassVar[dict[str, Any]] = {"is_root": _("At the root"), "shows_all": _("Shows all properties")}
    helps: ClassVar[dict[str, Any]] = {
        "is_root": _("In a tree, elements of this type can be at the root."),
        "shows_all": _("Shows every property of the type in the order of the type, including properties added later."),
    }

    def title(self, form: PartForm) -> str:
        row: Any = form.instance
        return form.snapshot.label(form.snapshot.types[str(row.type_id)])


@admin.register(models.FacetView, site=storage_office)
class FacetViewAdmin(ConfigurationAdmin):
    form = ViewForm
    help = _(
        "A view selects types of a facet and the properties that it shows of them. Clients can still"
        " request other properties by name."
    )
    fieldsets = ((None, {"fields": ("facet_id", "name", "key", "display_names", "is_hierarchical")}),)
    inlines = (ViewTypes,)
    list_display = ("address_name", "facet_link", "named", "is_tree", "types_inside")
    list_filter = ()
    search_fields = ("name",)
    words = ("name",)
    ordering_field = None
    ordering = ("facet__position", "position")
    labels = VIEW_LABELS
    helps: ClassVar[dict[str, Any]] = {
        **VIEW_HELPS,
        "is_hierarchical": _("Lists elements as a tree, which needs at least one type at its root."),
    }

    def trail(self, row: Any) -> list[tuple[str, str]]:
        facets = (str(_("Facets and views")), reverse("admin:facets_facet_changelist"))
        if row is None:
            return [facets, *super().trail(row)]
        facet = models.Facet(id=row.facet_id, name=row.snapshot.facets[str(row.facet_id)].name)
        return [facets, (facet.name, change_address(facet))]

    @admin.display(description=_("Tree"), boolean=True)
    def is_tree(self, row: Any) -> bool:
        return bool(row.is_hierarchical)

    @admin.display(description=_("Types"))
    def types_inside(self, row: Any) -> str:
        return ", ".join(row.snapshot.types[each.type_id].key for each in row.snapshot.owned(models.ViewType, row.pk))

    def answers(self, request: HttpRequest, configuration: Configuration, rows: Rows, row: Row) -> Iterable[ApiAnswer]:
        facet = next(each for each in rows[models.Facet] if each.id == row.facet_id)
        return [view_answer(configuration, facet.name, row.name), view_list(request, configuration, facet.name)]

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: str) -> HttpResponse:
        super().response_delete(request, obj_display, obj_id)
        return HttpResponseRedirect(change_address(models.Facet(id=snapshot_of(request).views[obj_id].facet_id)))
