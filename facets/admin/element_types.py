"""Element types, with their properties in a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminColorInputWidget

from facets import models
from facets.admin.api_answers import type_answers
from facets.admin.drafting.choice_fields import ListField, RowField
from facets.admin.drafting.list_filters import FacetFilter, VersionedFilter
from facets.admin.drafting.model_admin import ConfigurationAdmin
from facets.admin.drafting.preview_panel import ApiAnswer
from facets.admin.drafting.row_forms import ConfigurationForm
from facets.admin.drafting.row_links import change_link, colour_mark, link
from facets.admin.drafting.snapshot import ConfigurationSnapshot
from facets.admin.property_lines import PropertyLines
from facets.configuration import Configuration
from facets.rows.drafts import Draft
from facets.rows.reading import Row, Rows
from storage.back_office import NavigationEntry, NavigationGroup, storage_office


class TypeForm(ConfigurationForm):
    places: ClassVar[dict[str, str]] = {"isVersioned": "release_cycle_id"}

    facet_id = RowField(label=_("Facet"))
    release_cycle_id = RowField(
        label=_("Release cycle"),
        required=False,
        empty=_("No versions: changes take effect at once"),
        help_text=_("With a release cycle, elements of this type have versions that are released."),
    )
    parents = ListField(
        label=_("Allowed parents"),
        depends_on="facet_id",
        help_text=_("Types of the same facet that can be parents of this type in trees."),
    )
    insertables = ListField(
        label=_("Insertable types"), help_text=_("Types whose elements can be drawn into a diagram of this type.")
    )
    views = ListField(
        label=_("Views"),
        is_ordered=False,
        depends_on="facet_id",
        help_text=_("Views that contain this type. A view that you add shows all its properties."),
    )

    def prepare(self) -> None:
        snapshot, row = self.snapshot, self.row
        self.offer("facet_id", snapshot.options(snapshot.facets.values()))
        self.offer("release_cycle_id", snapshot.options(snapshot.cycles.values()))
        self.offer("parents", snapshot.options_by_facet(snapshot.types.values()))
        self.offer("insertables", snapshot.options_by_facet(snapshot.types.values()))
        self.offer("views", snapshot.options_by_facet(snapshot.views.values()))
        if "color" in self.fields:
            self.fields["color"].widget = UnfoldAdminColorInputWidget()
        if row is not None:
            self.start(
                facet_id=row.facet_id,
                release_cycle_id=row.release_cycle_id,
                parents=[each.parent_id for each in snapshot.owned(models.AllowedParent, row.id)],
                insertables=[each.inserted_id for each in snapshot.owned(models.InsertableType, row.id)],
                views=[each.view_id for each in snapshot.rows.table(models.ViewType) if each.type_id == row.id],
            )

    def clean_color(self) -> str:
        """Convert to capitals; browsers send lower case."""
        return str(self.cleaned_data["color"]).upper()

    def apply(self, draft: Draft) -> None:
        chosen = self.cleaned_data
        self.instance.facet_id = chosen["facet_id"]
        self.instance.release_cycle_id = chosen["release_cycle_id"]
        self.instance.is_versioned = chosen["release_cycle_id"] is not None
        super().apply(draft)
        draft.link(models.AllowedParent, self.instance.pk, chosen["parents"])
        draft.link(models.InsertableType, self.instance.pk, chosen["insertables"])
        self._put_into_views(draft, chosen["views"])

    def _put_into_views(self, draft: Draft, wanted: list[str]) -> None:
        own = str(self.instance.pk)
        there = {each.view_id: each.id for each in draft.table(models.ViewType) if each.type_id == own}
        for view_id, row_id in there.items():
            if view_id not in wanted:
                draft.remove(models.ViewType, row_id)
        for view_id in wanted:
            if view_id not in there:
                draft.put(models.ViewType(view_id=view_id, type_id=own, shows_all=True))


@admin.register(models.ElementType, site=storage_office)
class ElementTypeAdmin(ConfigurationAdmin):
    form = TypeForm
    help = _(
        "A type defines the properties of its elements, their place in trees and diagrams, and"
        " whether they have versions."
    )
    fieldsets = (
        (None, {"fields": ("facet_id", "key", "display_names", "descriptions", "color")}),
        (
            _("Versions and rights"),
            {"fields": ("release_cycle_id", "static_state", "is_architectural"), "classes": ("tab",)},
        ),
        (
            _("Trees and diagrams"),
            {"fields": ("parents", "has_diagram", "insertables", "lives_in_diagrams"), "classes": ("tab",)},
        ),
        (_("Views"), {"fields": ("views",), "classes": ("tab",)}),
        (_("Technical names"), {"fields": ("element_type_name", "entity_type_name"), "classes": ("tab",)}),
    )
    inlines = (PropertyLines,)
    list_display = ("marked_key", "named", "facet_link", "cycle", "property_count", "view_count")
    list_filter = (FacetFilter, VersionedFilter)
    labels: ClassVar[dict[str, Any]] = {
        "key": _("Key"),
        "color": _("Colour"),
        "is_architectural": _("Architectural"),
        "has_diagram": _("Has a diagram"),
        "lives_in_diagrams": _("Exists in diagrams only"),
        "static_state": _("State without versions"),
        "element_type_name": _("Element type name"),
        "entity_type_name": _("Entity type name"),
    }
    helps: ClassVar[dict[str, Any]] = {
        "key": _("Identifies the type in the API. It cannot change while elements of the type exist."),
        "color": _("The colour of its shapes in diagrams; typeColor in the element info."),
        "is_architectural": _("Only architects can create, change and delete elements of this type."),
        "has_diagram": _("Each element of this type has a diagram."),
        "lives_in_diagrams": _("Elements exist only as shapes in diagrams and have no versions of their own."),
        "static_state": _("The state of elements without versions, for example show. Optional."),
        "element_type_name": _("The elementTypeName in the element info."),
        "entity_type_name": _("The entityTypeName in the element info."),
    }

    @admin.display(description=_("Key"))
    def marked_key(self, row: Any) -> SafeString:
        return format_html('<span class="config-marked">{} {}</span>', colour_mark(row.color), row.key)

    @admin.display(description=_("Versions"), empty_value="–")
    def cycle(self, row: Any) -> SafeString | None:
        if row.release_cycle_id is None:
            return None
        found = row.snapshot.cycles[str(row.release_cycle_id)]
        return change_link(
            models.ReleaseCycle(id=row.release_cycle_id), row.snapshot.text(found.display_names, found.key)
        )

    @admin.display(description=_("Properties"))
    def property_count(self, row: Any) -> SafeString:
        count = len(row.snapshot.owned(models.Property, row.pk))
        return link(f"{reverse('admin:facets_property_changelist')}?type={row.pk}", str(count))

    @admin.display(description=_("In views"))
    def view_count(self, row: Any) -> str:
        snapshot: ConfigurationSnapshot = row.snapshot
        found = {each.view_id for each in snapshot.referring(models.ViewType, "type_id", row.pk)}
        return ", ".join(view.name for view in snapshot.views.values() if view.id in found) or "–"

    def answers(self, request: HttpRequest, configuration: Configuration, rows: Rows, row: Row) -> Iterable[ApiAnswer]:
        return type_answers(configuration, row.key)


storage_office.add_navigation(
    NavigationEntry(NavigationGroup.CONFIGURATION, _("Types"), "schema", "facets_elementtype_changelist"),
    NavigationEntry(NavigationGroup.CONFIGURATION, _("Properties"), "list_alt", "facets_property_changelist"),
)
