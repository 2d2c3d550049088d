"""The views of the reader pages: parse, call, render."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from elements.pages.diagrams import read_asked
from elements.pages.element_pages import ElementReaderPage
from elements.pages.facet_pages import FacetPage, FacetQuery
from elements.pages.navigation import FacetEntry, languages, read_facets
from elements.pages.search import Results, SearchQuery, search
from elements.pages.visits import Visit, reader_page
from elements.presentation.searching import clean_text
from elements.reading.rows import VersionRow, find_version
from facets.configuration import configuration_of
from repository_site.core.problems import NotFound
from repository_site.core.wording import GUID
from storage.back_office.sites import works_in_office
from storage.localisation.culture_names import interface_language, language_tag, writing
from storage.localisation.cultures import preferred_culture
from storage.pages import ReadPage, caller_of, in_scope, storage_of

# Larger page numbers of children are reduced to this one.
MAX_PAGE = 100_000


@require_safe
@in_scope
def start(request: HttpRequest) -> HttpResponse:
    """Redirect `appUrl` to the data culture that fits the account, else the browser."""
    caller_of(request)
    cultures = configuration_of(storage_of(request)).cultures
    accepted = request.headers.get("Accept-Language", "")
    preferred = f"{getattr(request.user, 'language', '') or ''},{accepted}".strip(",")
    response = redirect("reader:storage", lcid=preferred_culture(preferred, cultures.data, cultures.default))
    response["Vary"] = "Accept-Language, Cookie"
    return response


@reader_page
def storage_page(request: HttpRequest, visit: Visit) -> HttpResponse:
    return _render(request, visit, "pages/storage.html", {}, read_facets(visit))


@reader_page
def facet_page(request: HttpRequest, visit: Visit, facet: str) -> HttpResponseBase:
    compiled = visit.configuration.facet(facet)
    name = compiled.facet.name
    if name != facet:
        return redirect(_with_query(request, visit.facet_address(name)))
    facets = read_facets(visit)
    given = request.GET
    query = FacetQuery(
        is_list=given.get("as") == "list",
        type=given.get("type", ""),
        prefix=clean_text(given.get("begins", "")),
        after=given.get("after", ""),
        opened=_find(visit, given.get("open", "")),
    )
    types = [type for entry in facets if entry.name == name for type in entry.types]
    page = FacetPage(visit, compiled, types, query)
    return _render(request, visit, "pages/facet.html", {"page": page, "current": name}, facets)


@reader_page
def element_page(request: HttpRequest, visit: Visit, facet: str, identity: str) -> HttpResponseBase:
    visit.configuration.facet(facet)
    row = _find(visit, identity)
    if row is None:
        raise NotFound(_("This element does not exist."))
    own = visit.reader.types[row.type].facet
    if own != facet:
        # The address names another facet: redirect to the page of the element.
        return redirect(_with_query(request, f"{visit.facet_address(own)}{identity}"))
    given = request.GET
    asked = read_asked(given.get("shape", ""), given.get("layout", ""))
    page = ElementReaderPage(visit, row, _number(given.get("children", "")), asked)
    edits = works_in_office(caller_of(request))
    edit_address = reverse("admin:elements_element_change", args=[row.element]) if edits else ""
    context = {"page": page, "current": own, "edit_address": edit_address}
    return _render(request, visit, "pages/element.html", context, read_facets(visit))


@reader_page
def search_page(request: HttpRequest, visit: Visit) -> HttpResponseBase:
    text = clean_text(request.GET.get("q", ""))
    if (found := _find(visit, text)) is not None:
        return redirect(visit.address(found))
    named = request.GET.get("facet", "")
    query = SearchQuery(
        text, visit.configuration.facet(named).facet.name if named else "", request.GET.get("after", "")
    )
    results = search(visit, storage_of(request), query) if text else Results([])
    given = {"q": text, "facet": query.facet, "after": results.next}
    following = urlencode({name: value for name, value in given.items() if value}) if results.next else ""
    context = {"query": query, "results": results, "following": following}
    return _render(request, visit, "pages/search.html", context, read_facets(visit))


def _find(visit: Visit, identity: str) -> VersionRow | None:
    """Return the version that an id addresses for this reader (D6)."""
    return find_version(visit.reader.audience, identity) if GUID.fullmatch(identity) else None


def _number(text: str) -> int:
    return min(int(text), MAX_PAGE) if text.isascii() and text.isdecimal() and 0 < len(text) < 10 and int(text) else 1


def _with_query(request: HttpRequest, address: str) -> str:
    query = request.META.get("QUERY_STRING", "")
    return f"{address}?{query}" if query else address


def _render(
    request: HttpRequest, visit: Visit, template: str, context: dict[str, Any], facets: list[FacetEntry]
) -> HttpResponse:
    storage = storage_of(request)
    tag, own = language_tag(visit.lcid), interface_language(visit.lcid)
    frame = {
        "visit": visit,
        "storage": storage,
        "storage_title": storage.title or str(storage),
        "facets": facets,
        "languages": languages(request, visit),
        "lang": tag,
        "dir": writing(visit.lcid).text_direction,
        # Language of the interface texts, if it is not the language of the page.
        "own": "" if tag.partition("-")[0] == own else format_html(' lang="{}"', own),
        "works_in_office": works_in_office(caller_of(request)),
        "place": request.get_full_path(),
    }
    return ReadPage(request, template, frame | context)
