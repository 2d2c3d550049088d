"""Form fields for texts by culture, with one input per data culture of the storage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html
from django.utils.safestring import mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from storage.localisation.culture_names import language_names, language_tag
from storage.localisation.cultures import CultureSet

MAX_LENGTH = 10_000
# Formats, because a template for each of the hundreds of texts of a form takes long (D654).
LABEL = (
    '<div class="texts-culture{kind}"><label class="texts-label" for="{id}"><span class="texts-language">{language}'
    ' <span class="texts-lcid">({lcid})</span></span>{star}</label>'
)
STAR = (
    '<span class="texts-star" title="{}">*</span><span class="texts-missing">'
    '<span class="material-symbols-outlined" aria-hidden="true">warning</span>{}</span>'
)
CELL = (
    f'{LABEL}<input type="text" name="{{name}}" id="{{id}}" lang="{{tag}}" value="{{value}}"'
    ' placeholder="{placeholder}" class="config-input"></div>'
)
AREA_CELL = (
    f'{LABEL}<textarea name="{{name}}" id="{{id}}" lang="{{tag}}" rows="2" placeholder=" " class="config-input">'
    "{value}</textarea></div>"
)


class TextsWidget(forms.Widget):
    """One labelled input per culture. `kind` is line, area or cell, a line in a narrow table."""

    template_name = "back_office/configuration/texts.html"

    def __init__(self, cultures: CultureSet, kind: str = "line") -> None:
        super().__init__()
        self.cultures = cultures
        self.kind = kind

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        found: Mapping[str, str] = value or {}
        names, first = language_names(self.cultures.data), context["widget"]["attrs"].get("id", "")
        star = format_html(STAR, gettext("mandatory culture"), gettext("missing"))
        cells = []
        for index, lcid in enumerate(self.cultures.data):
            text, is_mandatory = found.get(str(lcid), ""), lcid in self.cultures.mandatory
            cell = {
                "kind": " texts-mandatory" if is_mandatory else "",
                "name": f"{name}-{lcid}",
                # The label of the field belongs to the first input.
                "id": first if index == 0 else f"{first}-{lcid}",
                "lcid": str(lcid),
                "language": names[lcid],
                "tag": language_tag(lcid),
                "star": star if is_mandatory else "",
                # A browser drops the first line break of a text area.
                "value": f"\n{text}" if text and self.kind == "area" else text,
                "placeholder": names[lcid] if self.kind == "cell" else " ",
            }
            cells.append(format_html(AREA_CELL if self.kind == "area" else CELL, **cell))
        html = mark_safe("".join(cells))  # noqa: S308  # parts were escaped
        return {"cells": html, "kind": self.kind, "is_required": self.is_required}

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
