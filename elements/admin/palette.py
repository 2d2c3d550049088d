"""Ctrl+K in the back office of a storage: pages by title and elements by any text (D404)."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from elements.admin.labels import OfficeLabels, element_address, labels_of
from elements.admin.listing.type_filters import DiagramFilter
from elements.admin.searching import find
from elements.presentation.labels import Named
from repository_site.core.search_options import SearchOption, show_options
from repository_site.core.wording import clean_text
from storage.back_office import storage_office

MOST_PAGES, MOST_ELEMENTS = 4, 8


def palette_view(request: HttpRequest) -> HttpResponse:
    text = clean_text(request.GET.get("s", ""))
    if not text:
        return show_options(request, [])
    pages = storage_office.find_pages(request, text)[:MOST_PAGES]
    return show_options(request, [*pages, *_elements(labels_of(request), text)])


def _elements(labels: OfficeLabels, text: str) -> list[SearchOption]:
    """Return the best hits, and a link to the list if there are more; else a link to a similar text."""
    result = find(labels.reader, text, limit=MOST_ELEMENTS)
    if result is None:
        return []
    if result.suggestion:
        title = _("Did you mean “%(text)s”?") % {"text": result.suggestion}
        return [SearchOption(title, _list_address(result.suggestion))]
    named = labels.versions(result.found.versions)
    options = [_option(named[each]) for each in result.found.versions if each in named]
    if result.found.total > MOST_ELEMENTS:
        title = _("All elements with “%(text)s”") % {"text": text}
        options.append(SearchOption(title, _list_address(text)))
    return options


def _option(named: Named) -> SearchOption:
    about = f"{named.type_name} · {named.state.text}" if named.state else named.type_name
    return SearchOption(named.name.in_one_line, element_address(named.element), about, named.name.lang)


def _list_address(text: str) -> str:
    given = {"q": text, DiagramFilter.parameter_name: DiagramFilter.WITH}
    return f"{reverse('admin:elements_element_changelist')}?{urlencode(given)}"


# This address is that of unfold's own search, which it replaces.
storage_office.add_page("search/", palette_view, "search")
