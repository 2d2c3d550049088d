"""Filters of lists by one value, labelled with their titles. After the theme's "Nach", German needs another case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from unfold.contrib.filters.admin import (
    BooleanRadioFilter,
    ChoicesDropdownFilter,
    DropdownFilter,
    RelatedDropdownFilter,
)
from unfold.widgets import SELECT_CLASSES

CLASSES = " ".join(SELECT_CLASSES)


class SelectFilter(DropdownFilter):
    """Dropdown filter of the theme with its own template. The theme's template includes two more for each option."""

    template = "back_office/select_filter.html"

    @property
    def search_address(self) -> str:
        """Address that returns options while the user types; empty if the select contains all options."""
        return ""

    def choices(self, changelist: ChangeList) -> Iterator[dict[str, Any]]:
        yield {
            "name": self.parameter_name,
            "label": capfirst(str(self.title)),
            "classes": CLASSES,
            "search_address": self.search_address,
            "options": self._options(),
        }

    def _options(self) -> SafeString:
        """Return the options. A value that is not offered is one too: it filters the list, and the form keeps it."""
        offered = [self.all_option] if self.all_option else []
        options = [(str(value), text) for value, text in (*offered, *self.lookup_choices)]
        chosen = self.value() or ""
        if chosen and chosen not in dict(options):
            options.append((chosen, chosen))
        values = [value for value, _ in options]
        selected = values.index(chosen) if chosen in values else None
        return format_html_join(
            "",
            '<option value="{}"{}>{}</option>',
            ((value, " selected" * (place == selected), text) for place, (value, text) in enumerate(options)),
        )


class _Titled:
    """A filter of the theme, labelled with its title."""

    title: Any

    def choices(self, changelist: ChangeList) -> Iterator[dict[str, Any]]:
        for each in super().choices(changelist):  # type: ignore[misc]  # a filter is beside it
            for field in each["form"].fields.values():
                field.label = capfirst(str(self.title))
            yield each


class YesNoFilter(_Titled, BooleanRadioFilter):
    pass


class ChoiceFilter(_Titled, ChoicesDropdownFilter):
    pass


class RelatedFilter(_Titled, RelatedDropdownFilter):
    pass
