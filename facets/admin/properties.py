"""A property on its own page: texts, content type and selectable values."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldBooleanSwitchWidget

from facets import models
from facets.admin.api_answers import type_answers
from facets.admin.drafting.choice_fields import ListField, RowField
from facets.admin.drafting.list_filters import DataTypeFilter, PropertyTypeFilter, TypeFacetFilter
from facets.admin.drafting.model_admin import ConfigurationAdmin
from facets.admin.drafting.part_tables import PartTable
from facets.admin.drafting.preview_panel import ApiAnswer
from facets.admin.drafting.row_forms import PartForm
from facets.admin.drafting.row_links import change_address, change_link
from facets.admin.drafting.snapshot import ConfigurationSnapshot, snapshot_of
from facets.admin.property_forms import RELATED, HoldsForm, shown_holds
from facets.admin.shared_properties import copy_definition, types_alike
from facets.configuration import Configuration
from facets.rows.drafts import Draft
from facets.rows.reading import Row, Rows
from facets.template_format.document_nodes import MAX_INTEGER
from storage.back_office import storage_office


class PropertyForm(HoldsForm):
    places: ClassVar[dict[str, str]] = {
        **HoldsForm.places,
        "related.relatedTypes": "related_types",
        "related.maxOccurrence": "max_occurrence",
    }

    type_id = RowField(label=_("Type"))
    related_types = ListField(
        label=_("Accepted types"),
        depends_on="holds",
        help_text=_("Types of the facet that the property can refer to. Select none to accept every type."),
    )
    max_occurrence = forms.IntegerField(
        label=_("At most"),
        required=False,
        min_value=1,
        max_value=MAX_INTEGER,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=_("The maximum number of references. Leave it empty for any number."),
    )
    alike = forms.BooleanField(label=_("Change other types as well"), required=False, widget=UnfoldBooleanSwitchWidget)

    def prepare(self) -> None:
        super().prepare()
        snapshot, row = self.snapshot, self.row
        self.offer("type_id", snapshot.options(snapshot.types.values()))
        self.offer("related_types", snapshot.options_by_facet(snapshot.types.values(), f"{RELATED}:"))
        if self.initial.get("max_occurrence") == MAX_INTEGER:
            self.initial["max_occurrence"] = None
        if row is not None:
            self.fields["type_id"].disabled = True
            self.start(
                type_id=row.type_id,
                related_types=[each.type_id for each in snapshot.owned(models.RelatedType, row.id)],
            )
        if "alike" in self.fields and row is not None:
            keys = types_alike(snapshot, row)
            self.fields["alike"].help_text = ngettext(
                "One other type has a property with the same definition: %(types)s. Make the same change there.",
                "%(count)d other types have a property with the same definition: %(types)s."
                " Make the same change there.",
                len(keys),
            ) % {"count": len(keys), "types": ", ".join(keys)}

    def apply(self, draft: Draft) -> None:
        self.instance.type_id = self.cleaned_data["type_id"]
        super().apply(draft)
        if self.instance.target_facet_id is not None:
            draft.link(models.RelatedType, self.instance.pk, self.cleaned_data["related_types"])

    def conclude(self, draft: Draft) -> None:
        self.drop_values(draft)
        if self.row is not None and self.cleaned_data.get("alike"):
            copy_definition(draft, self.snapshot, self.row)


class ValueForm(PartForm):
    def clean_key(self) -> str | None:
        """Store None for the value that means that nothing is selected."""
        return self.cleaned_data["key"] or None


class Values(PartTable):
    model = models.SelectableValue
    form = ValueForm
    columns = ("key", "display_names")
    folded = ("descriptions", "tooltips")
    verbose_name = _("selectable value")
    verbose_name_plural = _("Selectable values")
    labels: ClassVar[dict[str, Any]] = {"key": _("Key")}
    helps: ClassVar[dict[str, Any]] = {
        "key": _("The stored value. Leave it empty for the one value that means that nothing is selected.")
    }


@admin.register(models.Property, site=storage_office)
class PropertyAdmin(ConfigurationAdmin):
    form = PropertyForm
    help = _(
        "A property belongs to one type. It is an attribute with its own values, or a related"
        " context with references to other elements."
    )
    inlines = (Values,)
    list_display = ("row_key", "named", "type_link", "holds", "limits")
    list_filter = (TypeFacetFilter, PropertyTypeFilter, DataTypeFilter)
    list_per_page = 50
    ordering_field = None
    ordering = ("type__position", "position")
    conditional_fields: ClassVar[dict[str, str]] = {
        "is_invariant_culture": "!holds || holds.startsWith('attribute')",
        "related_types": "holds && holds.startsWith('related')",
        "max_occurrence": "holds && holds.startsWith('related')",
        "can_add_new": "holds && holds.startsWith('related')",
        "read_only": "holds && holds.startsWith('related')",
    }
    labels: ClassVar[dict[str, Any]] = {
        "key": _("Key"),
        "is_invariant_culture": _("Same in all cultures"),
        "editable_in_released": _("Editable when released"),
        "can_add_new": _("New elements"),
        "read_only": _("Read-only"),
    }
    helps: ClassVar[dict[str, Any]] = {
        "key": _("Identifies the attribute or related context in the API. It cannot change while values exist."),
        "is_invariant_culture": _("One value for all cultures instead of one per culture."),
        "editable_in_released": _("Can be changed in a released version without creating a new version."),
        "can_add_new": _("Editors can offer to create a new element to refer to."),
        "read_only": _("Editors show the references but do not offer to change them."),
    }

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        snapshot = snapshot_of(request)
        shared = obj is not None and types_alike(snapshot, snapshot.rows.row(models.Property, obj.pk))
        return (
            (None, {"fields": ("type_id", "key", *(("alike",) if shared else ()), "display_names")}),
            (
                _("Content type"),
                {
                    "fields": (
                        "holds",
                        "is_invariant_culture",
                        "related_types",
                        "max_occurrence",
                        "can_add_new",
                        "read_only",
                        "editable_in_released",
                    )
                },
            ),
            (_("Explanations"), {"fields": ("descriptions", "tooltips")}),
        )

    def get_queryset(self, request: HttpRequest) -> QuerySet[models.Property]:
        found: QuerySet[models.Property] = super().get_queryset(request)
        return found.select_related("type")

    def trail(self, row: Any) -> list[tuple[str, str]]:
        if row is None:
            return super().trail(row)
        owner = models.ElementType(id=row.type_id, key=row.snapshot.types[str(row.type_id)].key)
        return [(str(_("Types")), reverse("admin:facets_elementtype_changelist")), (owner.key, change_address(owner))]

    def haystack(self, snapshot: ConfigurationSnapshot, row: Row) -> str:
        return f"{super().haystack(snapshot, row)}\n{snapshot.types[row.type_id].key.casefold()}"

    @admin.display(description=_("Type"))
    def type_link(self, row: Any) -> SafeString:
        return change_link(models.ElementType(id=row.type_id), row.type.key)

    @admin.display(description=_("Content type"))
    def holds(self, row: Any) -> str:
        return shown_holds(row.snapshot, row)

    @admin.display(description=_("Notes"))
    def limits(self, row: Any) -> str:
        found = [
            (row.is_invariant_culture, _("same in all cultures")),
            (row.editable_in_released, _("editable when released")),
            (row.max_occurrence == 1, _("one at most")),
            (row.read_only, _("read-only")),
        ]
        return ", ".join(str(text) for holds, text in found if holds)

    def answers(self, request: HttpRequest, configuration: Configuration, rows: Rows, row: Row) -> Iterable[ApiAnswer]:
        key = next(each.key for each in rows[models.ElementType] if each.id == row.type_id)
        return type_answers(configuration, key)

    def focus(self, row: Any) -> str:
        return f'"key": {json.dumps(row.key, ensure_ascii=False)}'

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: str) -> HttpResponse:
        super().response_delete(request, obj_display, obj_id)
        owner = snapshot_of(request).properties[obj_id].type_id
        return HttpResponseRedirect(change_address(models.ElementType(id=owner)))
