"""Choices among rows of the configuration: one in a select, or several in an ordered list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.choices import BaseChoiceIterator
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget

from repository_site.core.page_templates import written_attributes, written_description

NOTHING = _("Select value")
# Formats, because a template for each option takes long (D654).
SELECT = (
    '<div class="grow relative max-w-2xl"><select{}>{}</select><span class="material-symbols-outlined absolute'
    " pointer-events-none mr-[12px] right-0 text-base-400 top-1/2 dark:text-base-500 -translate-y-1/2"
    '" aria-hidden="true">expand_more</span></div>'
)
HEADING = '<span class="pick-heading">{}</span>'
BOX = (
    '<label class="pick-label"><input type="checkbox" name="{name}" value="{value}"{checked}><span>{label}</span>'
    "{heading}</label>"
)
ITEM = f'<li class="pick-item" data-group="{{group}}">{BOX}</li>'
ORDERED_START = (
    '<li class="pick-item" x-sort:item data-group="{group}"><span class="material-symbols-outlined pick-handle"'
    f' x-sort:handle aria-hidden="true">drag_indicator</span>{BOX}'
)
MOVE = (
    '<button type="button" class="pick-move" data-pick-move="{0}" title="{1}" aria-label="{2}">'
    '<span class="material-symbols-outlined" aria-hidden="true">keyboard_arrow_{0}</span></button>'
)


@lru_cache(maxsize=20)
def _ordered_item(language: str) -> str:
    """Return the format of an item with buttons in a language of the interface, whose words have no braces."""
    label = {"name": "{label}"}
    up = MOVE.format("up", escape(gettext("Move up")), escape(gettext("Move %(name)s up") % label))
    down = MOVE.format("down", escape(gettext("Move down")), escape(gettext("Move %(name)s down") % label))
    return f"{ORDERED_START}{up}{down}</li>"


@dataclass(frozen=True, slots=True)
class Option:
    """An option. A list can show the options of one `group` only, such as the id of a facet."""

    value: str
    label: str
    group: str = ""
    heading: str = ""


class RowChoices(BaseChoiceIterator):
    """Options of a select, grouped by heading. Selects in several rows can share them; their HTML is built once."""

    def __init__(self, options: Iterable[Option], empty: Any = NOTHING) -> None:
        grouped: dict[str, list[tuple[str, str]]] = {}
        for option in options:
            grouped.setdefault(option.heading, []).append((option.value, option.label))
        self.choices: list[Any] = [("", empty)]
        for heading, found in grouped.items():
            self.choices += [(heading, found)] if heading else found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.choices)

    def written(self, chosen: Iterable[str]) -> SafeString:
        """Return the options as HTML, with the chosen ones selected."""
        html = self._html
        for value in chosen:
            start = format_html('<option value="{}"', value)
            html = html.replace(f"{start}>", f"{start} selected>", 1)
        return mark_safe(html)  # noqa: S308  # parts were escaped

    @cached_property
    def _html(self) -> str:
        return "".join(
            format_html('<optgroup label="{}">{}</optgroup>', value, _options(found))
            if isinstance(found, list)
            else _options([(value, found)])
            for value, found in self.choices
        )


def _options(choices: list[tuple[str, str]]) -> SafeString:
    html = "".join(f'<option value="{escape(value)}">{escape(str(label))}</option>' for value, label in choices)
    return mark_safe(html)  # noqa: S308  # parts were escaped


class Select(UnfoldAdminSelectWidget):
    """The select of unfold, written without templates: some forms have thousands of options."""

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        attributes = written_attributes({"name": name, **self.build_attrs(self.attrs, attrs)})
        return format_html(SELECT, attributes, self.choices.written(self.format_value(value)))


class RowField(forms.ChoiceField):
    """One of the options from `offer`; the cleaned value is None if nothing is chosen."""

    widget = Select

    def __init__(self, *, empty: Any = NOTHING, **options: Any) -> None:
        super().__init__(**options)
        self.empty = empty

    def offer(self, options: Iterable[Option] | RowChoices) -> None:
        self.choices = options if isinstance(options, RowChoices) else RowChoices(options, self.empty)

    def clean(self, value: Any) -> str | None:
        return super().clean(value) or None


class OpenRowField(RowField):
    """Also accepts values that are not among the options, such as a row that the same form adds."""

    def validate(self, value: Any) -> None:
        forms.Field.validate(self, value)


class ListWidget(forms.Widget):
    """Check boxes; the checked ones come in the order of the list.

    With `depends_on`, the list shows only options of the group that this field of the same form selects.
    """

    template_name = "back_office/configuration/list.html"

    def __init__(self, *, is_ordered: bool, depends_on: str = "") -> None:
        super().__init__()
        self.is_ordered = is_ordered
        self.depends_on = depends_on
        self.label: Any = ""
        self.options: Sequence[Option] = ()

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        chosen = [str(each) for each in value or ()]
        by_value = {option.value: option for option in self.options}
        ticked = [by_value[each] for each in chosen if each in by_value]
        rest = [option for option in self.options if option.value not in chosen]
        shown = [*ticked, *rest] if self.is_ordered else list(self.options)
        return {
            "items": self._items(context["widget"]["name"], shown, frozenset(chosen)),
            "chosen": ticked if self.is_ordered else [option for option in shown if option.value in chosen],
            "number": len(shown),
            "count": len(ticked),
            "label": self.label,
            "is_ordered": self.is_ordered,
            "depends_on": self.depends_on,
            "described": written_description(context["widget"]["attrs"]),
        }

    def _items(self, name: str, options: Sequence[Option], chosen: frozenset[str]) -> SafeString:
        item, field = _ordered_item(get_language() or "") if self.is_ordered else ITEM, escape(name)
        html = "\n".join(
            item.format(
                name=field,
                value=escape(option.value),
                checked=" checked" if option.value in chosen else "",
                label=escape(option.label),
                heading=HEADING.format(escape(option.heading)) if option.heading else "",
                group=escape(option.group),
            )
            for option in options
        )
        return mark_safe(html)  # noqa: S308  # parts were escaped

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        return list(data.getlist(name)) if hasattr(data, "getlist") else list(data.get(name, []))

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        # Browsers post nothing if no box is checked.
        return False

    def use_required_attribute(self, initial: Any) -> bool:
        return False

    def id_for_label(self, id_: str) -> str:
        return ""


class ListField(forms.Field):
    """Several of the options from `offer`, in their order."""

    widget: ListWidget

    def __init__(self, *, is_ordered: bool = True, depends_on: str = "", **options: Any) -> None:
        super().__init__(required=False, widget=ListWidget(is_ordered=is_ordered, depends_on=depends_on), **options)
        self.widget.label = self.label

    def offer(self, options: Iterable[Option]) -> None:
        self.widget.options = tuple(options)

    def clean(self, value: Any) -> list[str]:
        chosen = list(dict.fromkeys(value or ()))
        known = {option.value for option in self.widget.options}
        for each in chosen:
            if each not in known:
                raise ValidationError(
                    forms.ChoiceField.default_error_messages["invalid_choice"],
                    code="invalid_choice",
                    params={"value": each},
                )
        return chosen

    def arrange(self, chosen: list[str], before: Sequence[str] | None) -> list[str]:
        """Keep the previous order of a list that cannot be ordered."""
        if self.widget.is_ordered:
            return chosen
        kept = [each for each in before or () if each in chosen]
        return [*kept, *(each for each in chosen if each not in kept)]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return [str(each) for each in initial or ()] != [str(each) for each in data or ()]
