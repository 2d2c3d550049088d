"""Formatted text in element forms (D442): the editor and the source of a value, and the conversion between them.

The form sends the source, as without JavaScript, and the document of the editor if the user has changed it.
"""

from __future__ import annotations

import re
from typing import Any

import orjson
from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from elements.values.html import html_problem, html_value
from elements.values.rich_text import TextBlock, write_markup
from elements.values.rich_text_exchange import editor_document, read_document
from elements.values.rich_text_reading import NotShown, read_markup
from repository_site.core.problems import Unreadable
from repository_site.core.rest.strict_json import has_more_values
from storage.back_office import storage_office
from storage.back_office.fields import with_plain_lines

DOCUMENT, SOURCE = "document", "source"
TEMPLATE = "back_office/elements/rich_text.html"
# An ampersand that begins no entity is never valid, so it can only mean itself.
BARE_AMPERSAND = re.compile(r"&(?!(?:[A-Za-z_:][\w.:-]*|#[0-9]+|#x[0-9A-Fa-f]+);)")


def document_name(field: str) -> str:
    """Return the name under which the form sends the document of an editor."""
    return f"rich-{field}"


def typed_markup(source: str, document: str, known: str) -> str:
    """Return the source that a user has typed, or the markup of a document. A text that the user has not changed since
    the form was opened, whose source was `known`, stays exactly as it was."""
    if not document:
        return source if source == known else BARE_AMPERSAND.sub("&amp;", source)
    written = write_markup(_read_blocks(document))
    return known if written == _written_again(known) else written


def _written_again(source: str) -> str | None:
    try:
        return write_markup(read_markup(source))
    except NotShown:
        return None


def _read_blocks(document: str) -> list[TextBlock]:
    content = document.encode(errors="replace")
    try:
        if has_more_values(content, settings.MAX_VALUES):
            raise ValueError("too many values")
        return read_document(orjson.loads(content))
    except ValueError as problem:
        raise Unreadable(_("The formatted text cannot be read. Edit its source, or reload the page.")) from problem


def show_rich_text(field: str, area: SafeString, source: str, links: str) -> SafeString:
    """Return a field with its source and, if the editor can show that, the document of the editor."""
    context: dict[str, Any] = {"name": field, "area": area, "links": links, **_shown(source)}
    return render_to_string(TEMPLATE, context)


def _shown(source: str) -> dict[str, Any]:
    try:
        return {DOCUMENT: editor_document(read_markup(source)), "note": ""}
    except NotShown as reason:
        text = _("This text is shown as source, because the editor cannot show %(reason)s.") % {"reason": reason}
        return {DOCUMENT: None, "note": text}


@require_POST
def convert_view(request: HttpRequest) -> HttpResponseBase:
    """Convert a document into its source, or a source into its document, while the user switches between them."""
    if document := request.POST.get(DOCUMENT):
        return JsonResponse({SOURCE: write_markup(_read_blocks(document))})
    source = BARE_AMPERSAND.sub("&amp;", with_plain_lines(request.POST.get(SOURCE, "")))
    if problem := html_problem(html_value(source)):
        text = _("The source %(problem)s.") % {"problem": problem}
        return JsonResponse({DOCUMENT: None, "note": text})
    return JsonResponse(_shown(source))


storage_office.add_page("elements/rich-text/", convert_view, "elements_rich_text")
