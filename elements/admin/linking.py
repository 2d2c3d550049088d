"""Replaces element ids in texts of the domain by names that link to the elements."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from elements.admin.labels import OfficeLabels

ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def linked_texts(labels: OfficeLabels, texts: Iterable[str]) -> list[SafeString]:
    """Run two statements for any number of texts; unknown ids stay as they are."""
    given = list(texts)
    ids = {each for text in given for each in ID.findall(text)}
    if not ids:
        return [conditional_escape(text) for text in given]
    named = {**labels.versions(ids), **labels.elements(ids)}
    links = {
        id: format_html('<a class="el-link" href="{}">{}</a>', each.address, each.name) for id, each in named.items()
    }

    def link(found: re.Match[str]) -> str:
        return links.get(found[0], found[0])

    # Escape the texts first; escaping does not change an id.
    return [mark_safe(ID.sub(link, conditional_escape(text))) for text in given]  # noqa: S308
