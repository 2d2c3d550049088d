"""Tables of parts inside the form of their owner, which people order by dragging.

They have their own templates, because unfold renders several templates per cell, which is slow for a type with forty
properties. The templates keep the structure that unfold's script for adding rows expects.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import Model
from django.http import HttpRequest
from django.template.loader import render_to_string
from unfold.admin import StackedInline, TabularInline

from facets.admin.drafting.admin_mixin import ConfigurationFields
from facets.admin.drafting.row_forms import PartForm, PartFormSet, make_plain
from facets.admin.drafting.row_links import change_address
from facets.admin.drafting.snapshot import snapshot_of


class _Parts(ConfigurationFields):
    """An inline. `link` is the text of the link to the page of a row; `folded` fields open below the row."""

    form = PartForm
    formset = PartFormSet
    extra = 0
    columns: ClassVar[tuple[str, ...]] = ()
    folded: ClassVar[tuple[str, ...]] = ()
    link: ClassVar[Any] = ""
    texts_kind = "cell"
    is_table = False

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        return [*self.columns, *self.folded, "position"]

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True

    def get_formset(self, request: HttpRequest, obj: Model | None = None, **options: Any) -> Any:
        found = super().get_formset(request, obj, **options)  # type: ignore[misc]
        found.form.snapshot = snapshot_of(request)
        make_plain(found.form)
        found.columns, found.folded, found.is_table = self.columns, self.folded, self.is_table
        found.handle = render_to_string("back_office/configuration/part_handle.html")
        found.bin = render_to_string("back_office/configuration/part_bin.html")
        found.address = staticmethod(self.address)
        found.title = staticmethod(self.title)
        return found

    def address(self, form: PartForm) -> str:
        return change_address(form.instance) if self.link else ""

    def title(self, form: PartForm) -> str:
        return str(form.instance)


class PartTable(_Parts, TabularInline):
    template = "back_office/configuration/part_table.html"
    is_table = True

    def get_formset(self, request: HttpRequest, obj: Model | None = None, **options: Any) -> Any:
        found = super().get_formset(request, obj, **options)
        fields = found.form.base_fields
        found.head = [
            {
                "name": name,
                "label": fields[name].label,
                "help": fields[name].help_text,
                "is_required": fields[name].required,
            }
            for name in self.columns
        ]
        for name in self.columns:
            # Only the head of the table shows it.
            fields[name].help_text = ""
        return found


class PartList(_Parts, StackedInline):
    """A list for parts that need more space than a table row."""

    template = "back_office/configuration/part_list.html"
