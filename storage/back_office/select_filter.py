"""Filter of a list by one value, as a select."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as text_of_theme
from unfold.contrib.filters.admin import DropdownFilter
from unfold.widgets import SELECT_CLASSES

CLASSES = " ".join(SELECT_CLASSES)


class SelectFilter(DropdownFilter):
    """A filter of the theme, with a template of its own: that of the theme renders two more for each option."""

    template = "back_office/select_filter.html"

    @property
    def searches_at(self) -> str:
        """The address that finds options while the user types; empty if the select has all of them."""
        return ""

    def choices(self, changelist: ChangeList) -> Iterator[dict[str, Any]]:
        title = str(text_of_theme(" By %(filter_title)s ") % {"filter_title": self.title})
        yield {
            "name": self.parameter_name,
            "label": title.strip(),
            "classes": CLASSES,
            "searches_at": self.searches_at,
            "options": self._options(),
        }

    def _options(self) -> SafeString:
        offered = [self.all_option] if self.all_option else []
        options = [(str(value), text) for value, text in (*offered, *self.lookup_choices)]
        values, chosen = [value for value, _ in options], self.value() or ""
        selected = values.index(chosen) if chosen in values else None
        return format_html_join(
            "",
            '<option value="{}"{}>{}</option>',
            ((value, " selected" * (place == selected), text) for place, (value, text) in enumerate(options)),
        )
