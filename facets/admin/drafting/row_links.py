"""Links between pages of the configuration."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from facets.models.base import ConfigurationModel


def link(address: str, text: Any) -> SafeString:
    return format_html('<a href="{}" class="config-link">{}</a>', address, text)


def change_address(row: ConfigurationModel) -> str:
    return reverse(f"admin:facets_{row._meta.model_name}_change", args=[row.pk])


def change_link(row: ConfigurationModel, text: Any) -> SafeString:
    return link(change_address(row), text)


def colour_mark(colour: str) -> SafeString:
    """Return an SVG, since the content security policy forbids inline styles."""
    return format_html(
        '<svg class="config-colour" viewBox="0 0 12 12" aria-hidden="true"><rect width="12" height="12" rx="3"'
        ' fill="{}"/></svg>',
        colour,
    )
