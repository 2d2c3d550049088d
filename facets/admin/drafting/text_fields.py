"""Form fields for texts by culture, with one input per data culture of the storage."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from html import escape
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from repository_site.core.page_templates import written_description
from storage.localisation.culture_names import language_names, language_tag
from storage.localisation.cultures import CultureSet

MAX_LENGTH = 10_000
# Formats, because a template for each of the hundreds of texts of a form takes long (D654).
# What differs between the rows of a table is filled in last.
LABEL = (
    '<div class="texts-culture{kind}"><label class="texts-label" for="{{id}}{place}"><span class="texts-language">'
    '{language} <span class="texts-lcid">({lcid})</span></span>{star}</label>'
)
STAR = (
    '<span class="texts-star" title="{}">*</span><span class="texts-missing">'
    '<span class="material-symbols-outlined" aria-hidden="true">warning</span>{}</span>'
)
CELL = (
    f'{LABEL}<input type="text" name="{{{{name}}}}-{{lcid}}" id="{{{{id}}}}{{place}}" lang="{{tag}}"'
    ' value="{{value}}" placeholder="{placeholder}" class="config-input"{{described}}></div>'
)
AREA_CELL = (
    f'{LABEL}<textarea name="{{{{name}}}}-{{lcid}}" id="{{{{id}}}}{{place}}" lang="{{tag}}" rows="2" placeholder=" "'
    ' class="config-input"{{described}}>{{value}}</textarea></div>'
)


@lru_cache(maxsize=100)
def _cell_formats(cultures: CultureSet, kind: str, language: str) -> dict[str, str]:
    """Return the format of the cell of each culture in a language of the interface, whose words have no braces."""
    names = language_names(cultures.data)
    star = format_html(STAR, gettext("mandatory culture"), gettext("missing"))
    return {
        str(lcid): format_html(
            AREA_CELL if kind == "area" else CELL,
            kind=" texts-mandatory" if lcid in cultures.mandatory else "",
            # The label of the field belongs to the first input.
            place="" if lcid == cultures.data[0] else f"-{lcid}",
            lcid=str(lcid),
            language=names[lcid],
            tag=language_tag(lcid),
            star=star if lcid in cultures.mandatory else "",
            placeholder=names[lcid] if kind == "cell" else " ",
        )
        for lcid in cultures.data
    }


class TextsWidget(forms.Widget):
    """One labelled input per culture. `kind` is line, area or cell, a line in a narrow table."""

    def __init__(self, cultures: CultureSet, kind: str = "line") -> None:
        super().__init__()
        self.cultures = cultures
        self.kind = kind

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        # The query string can set any initial value.
        found: Mapping[str, str] = value if isinstance(value, Mapping) else {}
        attributes = self.build_attrs(self.attrs, attrs)
        filled = {
            "name": escape(name),
            "id": escape(attributes.get("id", "")),
            "described": written_description(attributes),
        }
        cells = []
        for lcid, cell in _cell_formats(self.cultures, self.kind, get_language() or "").items():
            text = found.get(lcid, "")
            # A browser drops the first line break of a text area.
            shown = f"\n{text}" if text and self.kind == "area" else text
            cells.append(cell.format(**filled, value=escape(shown)))
        is_optional = "" if self.is_required else " texts-optional"
        html = f'<div class="texts texts-{self.kind}{is_optional}">{"".join(cells)}</div>'
        return mark_safe(html)  # noqa: S308  # parts were escaped

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> dict[str, str]:
        return {str(lcid): data.get(f"{name}-{lcid}", "") for lcid in self.cultures.data}

    def value_omitted_from_data(self, data: Mapping[str, Any], files: Any, name: str) -> bool:
        return not any(f"{name}-{lcid}" in data for lcid in self.cultures.data)

    def use_required_attribute(self, initial: Any) -> bool:
        return False


class TextsField(forms.Field):
    """Texts such as `{"1031": "Prozess"}` without empty ones. `keep` restores cultures that the storage lacks."""

    def __init__(self, *, cultures: CultureSet, kind: str = "line", **options: Any) -> None:
        # Ignore options of the model field that form fields do not have.
        options = {name: value for name, value in options.items() if name in ("required", "label", "help_text")}
        super().__init__(widget=TextsWidget(cultures, kind), **options)
        self.cultures = cultures

    def clean(self, value: Any) -> dict[str, str]:
        texts = {lcid: text.strip().replace("\r\n", "\n") for lcid, text in (value or {}).items()}
        found = {lcid: text for lcid, text in texts.items() if text}
        if self.required and not found:
            raise ValidationError(self.error_messages["required"], code="required")
        if any(len(text) > MAX_LENGTH or "\0" in text for text in found.values()):
            raise ValidationError(
                _("A text may have up to %(limit)d characters and no null characters."),
                "invalid",
                {"limit": MAX_LENGTH},
            )
        return found

    def keep(self, cleaned: Mapping[str, str], before: Mapping[str, str] | None) -> dict[str, str]:
        known = {str(lcid) for lcid in self.cultures.data}
        return {**{lcid: text for lcid, text in (before or {}).items() if lcid not in known}, **cleaned}

    def has_changed(self, initial: Any, data: Any) -> bool:
        before = {lcid: text for lcid, text in (initial or {}).items() if text}
        after = {lcid: text.strip() for lcid, text in (data or {}).items() if text.strip()}
        return self.keep(after, before) != before
