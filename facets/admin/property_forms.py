"""Base of the forms and table lines of properties: one choice decides on attribute or related context."""

from __future__ import annotations

from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _

from facets import models
from facets.admin.drafting.choice_fields import Option, RowChoices, RowField
from facets.admin.drafting.row_forms import ConfigurationForm
from facets.admin.drafting.snapshot import ConfigurationSnapshot
from facets.blueprint.data_types import DataType
from facets.rows.drafts import Draft
from facets.template_format.document_nodes import MAX_INTEGER

ATTRIBUTE, RELATED = "attribute", "related"
DATA_TYPE_NAMES = {
    DataType.SINGLE_LINE_TEXT: _("Single-line text"),
    DataType.MULTI_LINE_TEXT: _("Multi-line text"),
    DataType.HTML: _("Formatted text (HTML)"),
    DataType.SELECTION_VALUE: _("Single selection"),
    DataType.MULTI_SELECTION_VALUE: _("Multiple selection"),
    DataType.BOOLEAN: _("Yes or no"),
    DataType.INTEGER: _("Whole number"),
    DataType.DECIMAL: _("Decimal number"),
    DataType.DATE: _("Date"),
    DataType.DATE_TIME: _("Date and time"),
    DataType.URL: _("Web address"),
    DataType.FILES: _("Files"),
}


def holds_choices(snapshot: ConfigurationSnapshot) -> RowChoices:
    attribute, related = str(_("Attribute")), str(_("Related elements of"))
    kinds = [
        Option(f"{ATTRIBUTE}:{kind.value}", f"{name} – {kind.value}", "", attribute)
        for kind, name in DATA_TYPE_NAMES.items()
    ]
    facets = [
        Option(f"{RELATED}:{row.id}", f"→ {snapshot.label(row)}", "", related) for row in snapshot.facets.values()
    ]
    return RowChoices(kinds + facets)


def holds_of(row: Any) -> str:
    return f"{ATTRIBUTE}:{row.data_type}" if row.target_facet_id is None else f"{RELATED}:{row.target_facet_id}"


def shown_holds(snapshot: ConfigurationSnapshot, row: Any) -> str:
    if row.target_facet_id is not None:
        return f"→ {snapshot.facets[str(row.target_facet_id)].name}"
    return str(DATA_TYPE_NAMES[DataType(row.data_type)])


class HoldsForm(ConfigurationForm):
    places: ClassVar[dict[str, str]] = {
        "attribute.isInvariantCulture": "is_invariant_culture",
        "attribute": "holds",
        "related": "holds",
    }

    holds = RowField(
        label=_("Content type"),
        help_text=_("Its own value (attribute) or references to elements of a facet (related context)."),
    )

    def prepare(self) -> None:
        self.offer("holds", self.snapshot.choices(holds_choices))
        if self.row is not None:
            self.start(holds=holds_of(self.row))

    def apply(self, draft: Draft) -> None:
        """Clear the columns of the other kind, which a template could not express."""
        kind, _, chosen = str(self.cleaned_data["holds"]).partition(":")
        row: Any = self.instance
        if kind == ATTRIBUTE:
            row.data_type, row.target_facet_id, row.max_occurrence = chosen, None, None
            row.can_add_new = row.read_only = False
        else:
            row.data_type, row.target_facet_id, row.is_invariant_culture = "", chosen, False
            row.max_occurrence = row.max_occurrence or MAX_INTEGER
        super().apply(draft)
        self.drop_values(draft)
        if kind == ATTRIBUTE:
            draft.link(models.RelatedType, row.pk, [])

    def drop_values(self, draft: Draft) -> None:
        row: Any = self.instance
        if not row.data_type or not DataType(row.data_type).has_selectable_values:
            for value in draft.owned(models.SelectableValue, row.pk):
                draft.remove(models.SelectableValue, value.id)
