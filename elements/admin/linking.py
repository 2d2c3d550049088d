"""Replaces ids and keys in texts of the domain by names: ids by links to the elements, keys by titles (D420)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from elements.admin.labels import OfficeLabels
from storage.localisation.cultures import INVARIANT_CULTURE

PLACE = re.compile(r"\b([A-Za-z]\w*)\[([0-9]{1,6})\]")
# Keys of transitions begin with a capital letter.
KEY = re.compile(r"\b(?:[a-z]+[0-9]*|[A-Z][a-z]+)(?:[A-Z][A-Za-z0-9]*)+\b")
# A key that is also a word of the language is one after this word only.
STATE = re.compile(r"(?:(?<=\bstate )|(?<=\bZustand ))[a-z]+\b")
FIRST_WORD = re.compile(r"^\w+")
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def titled_text(labels: OfficeLabels, text: str) -> str:
    """Replace `name[1033]` by "Name (English)", inside parentheses by "Name, English", and keys such as
    `readyForRelease` by their titles."""
    titles = labels.titles

    def place(found: re.Match[str]) -> str:
        culture = next((each.name for each in labels.cultures if str(each.lcid) == found[2]), None)
        title = titles.get(found[1])
        if title is None or (culture is None and found[2] != str(INVARIANT_CULTURE)):
            return found[0]
        if culture is None:
            return title
        before = text[: found.start()]
        return f"{title}, {culture}" if before.count("(") > before.count(")") else f"{title} ({culture})"

    def title(found: re.Match[str]) -> str:
        return titles.get(found[0], found[0])

    return STATE.sub(title, KEY.sub(title, PLACE.sub(place, text)))


def linked_reasons(labels: OfficeLabels, reasons: Iterable[str]) -> list[SafeString]:
    """Do what `linked_texts` does for reasons against a change, many of which begin with the key of a property."""
    titles = {**labels.titles, "rootPath": _("Place in the tree")}
    return linked_texts(
        labels, [FIRST_WORD.sub(lambda found: titles.get(found[0], found[0]), each) for each in reasons]
    )


def linked_texts(labels: OfficeLabels, texts: Iterable[str]) -> list[SafeString]:
    """Run two statements for any number of texts; unknown ids stay as they are."""
    given = [titled_text(labels, each) for each in texts]
    ids = {each for text in given for each in ID.findall(text)}
    if not ids:
        return [conditional_escape(text) for text in given]
    named = {**labels.versions(ids), **labels.elements(ids)}
    links = {
        id: format_html('<a class="el-link" href="{}">{}</a>' if each.address else "{1}", each.address, each.name)
        for id, each in named.items()
    }

    def link(found: re.Match[str]) -> str:
        return links.get(found[0], found[0])

    # Escape the texts first; escaping does not change an id.
    return [mark_safe(ID.sub(link, conditional_escape(text))) for text in given]  # noqa: S308
