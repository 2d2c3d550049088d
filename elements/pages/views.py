"""The views of the reader pages: parse, call, render."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views import defaults
from django.views.decorators.http import require_safe

from elements.pages.appearance import look_of, menu_of
from elements.pages.copying import copying_of_element, copying_of_facet
from elements.pages.diagrams import read_asked
from elements.pages.element_pages import ElementReaderPage
from elements.pages.facet_pages import FacetPage, FacetQuery
from elements.pages.navigation import PageFrame, languages, reading_frame
from elements.pages.search import SearchPage, SearchQuery, suggestions
from elements.pages.start_page import StartPage
from elements.pages.uses import UsesPage, uses_address
from elements.pages.visits import Visit, admitted_reader, reader_page, visitor_culture
from elements.people.subscriptions import can_subscribe
from elements.presentation.page_requests import reader_of, reader_of_self
from elements.presentation.page_subscriptions import subscribing_of
from elements.presentation.values import show_day
from elements.reading.former import Former, find_former
from elements.reading.referrers import context_names
from elements.reading.rows import VersionRow, finding_version
from facets.configuration import configuration_of
from repository_site.core.database.statements import Reading, read, read_together
from repository_site.core.problems import NotFound
from repository_site.core.search_options import TEMPLATE
from repository_site.core.wording import GUID, clean_text
from storage.back_office.sites import works_in_office
from storage.localisation.culture_names import interface_language, language_tag, writing
from storage.pages import ReadPage, caller_of, in_scope, page_caller, storage_of
from storage.tenancy.addresses import public_base


@require_safe
@in_scope
def start(request: HttpRequest) -> HttpResponse:
    """Redirect `appUrl` to the data culture that fits the account, else the browser."""
    caller_of(request)
    cultures = configuration_of(storage_of(request)).cultures
    response = redirect("reader:storage", lcid=visitor_culture(request, cultures))
    response["Vary"] = "Accept-Language, Cookie"
    return response


@reader_page
def storage_page(request: HttpRequest, visit: Visit) -> HttpResponse:
    [frame] = read_frame(visit)
    page = StartPage(visit, menu_of(visit, frame.facets, frame.appearance))
    return _render(request, visit, "pages/storage.html", {"page": page}, frame)


@reader_page
def facet_page(request: HttpRequest, visit: Visit, facet: str) -> HttpResponseBase:
    compiled = visit.configuration.facet(facet)
    name = compiled.facet.name
    if name != facet:
        return redirect(_with_query(request, visit.facet_address(name)))
    given = request.GET
    frame, opened = read_frame(visit, _finding(visit, given.get("open", "")))
    query = FacetQuery(
        is_list=given.get("as") == "list" or bool(given.get("filter")),
        type=given.get("type", ""),
        prefix=clean_text(given.get("begins", "")),
        after=given.get("after", ""),
        opened=opened,
        view=compiled.view(given["view"]).view.name if given.get("view") else "",
        filter=given.get("filter", ""),
    )
    types = [type for entry in frame.facets if entry.name == name for type in entry.types]
    page = FacetPage(visit, compiled, types, query)
    context = {"page": page, "current": name, "copying": copying_of_facet(request, page)}
    return _render(request, visit, "pages/facet.html", context, frame)


@reader_page
def element_page(request: HttpRequest, visit: Visit, facet: str, identity: str) -> HttpResponseBase:
    visit.configuration.facet(facet)
    frame, row, former = _found(visit, identity)
    if row is None and former is None:
        raise NotFound(_("This element does not exist."))
    if row is None:
        return _missing(request, visit, 410, frame=frame)
    own = visit.reader.types[row.type].facet
    if own != facet:
        # The address names another facet: redirect to the page of the element.
        return redirect(_with_query(request, f"{visit.facet_address(own)}{identity}"))
    given = request.GET
    asked = read_asked(given.get("shape", ""), given.get("layout", ""))
    own_visit = Visit(reader_of_self(request, visit.reader, row), visit.lcid)
    edits = works_in_office(caller_of(request))
    office = reverse("admin:elements_element_change", args=[row.element]) if edits else ""
    children = _number(given.get("children", ""))
    subscribing = subscribing_of(request, row.element)
    page = ElementReaderPage(own_visit, row, children, asked, office_address=office, former=former, beside=subscribing)
    context = {
        "page": page,
        "current": own,
        "edit_address": office,
        "subscribing": page.beside,
        "copying": copying_of_element(request, page),
    }
    return _render(request, visit, "pages/element.html", context, frame)


@reader_page
def uses_page(request: HttpRequest, visit: Visit, facet: str, identity: str) -> HttpResponseBase:
    visit.configuration.facet(facet)
    frame, row, _former = _found(visit, identity)
    if row is None:
        raise NotFound(_("This element does not exist."))
    own = visit.reader.types[row.type].facet
    if own != facet:
        return redirect(_with_query(request, uses_address(visit, row)))
    given = request.GET
    context = given.get("context", "")
    if context and context not in context_names(visit.configuration):
        raise NotFound(_("This related context does not exist."))
    page = UsesPage(visit, row, context, _number(given.get("page", "")))
    return _render(request, visit, "pages/uses_page.html", {"page": page, "current": own}, frame)


@reader_page
def search_page(request: HttpRequest, visit: Visit) -> HttpResponseBase:
    given = request.GET
    text = clean_text(given.get("q", ""))
    frame, found = read_frame(visit, _finding(visit, text))
    if found is not None:
        return redirect(visit.address(found))
    facet, type = given.get("facet", ""), given.get("type", "")
    if type and type not in visit.configuration.types:
        raise NotFound(_("This type does not exist."))
    name = visit.configuration.facet(facet).facet.name if facet else ""
    query = SearchQuery(text, name, type, clean_text(given.get("state", "")), _number(given.get("page", "")))
    return _render(request, visit, "pages/search.html", {"page": SearchPage(visit, query), "query": query}, frame)


@reader_page
def suggestions_view(request: HttpRequest, visit: Visit) -> HttpResponseBase:
    """Return the options of the search box, as `search_box.js` shows them."""
    return ReadPage(request, TEMPLATE, {"options": suggestions(visit, clean_text(request.GET.get("q", "")))})


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Show readers of the storage a page with header, menu and search, and others a plain one (D412)."""
    is_office = request.path_info.startswith("/admin/")
    if is_office or request.method not in ("GET", "HEAD") or page_caller(request) is None:
        return defaults.page_not_found(request, exception)
    return _not_found(request)


def _show_not_found(request: HttpRequest) -> HttpResponse:
    # A view has counted its visit already.
    reader = admitted_reader(request) if request.resolver_match is None else reader_of(request)
    cultures = reader.configuration.cultures
    named = request.path_info.split("/")[1]
    lcid = next((each for each in cultures.data if str(each) == named), None)
    visit = Visit(reader, visitor_culture(request, cultures) if lcid is None else lcid)
    with translation.override(interface_language(visit.lcid)):
        response = _missing(request, visit, 404, {} if lcid else {"languages": []}).render()
    response["Content-Language"] = language_tag(visit.lcid) or interface_language(visit.lcid)
    return response


_not_found = in_scope(_show_not_found, snapshot=True)


def _missing(
    request: HttpRequest,
    visit: Visit,
    status: int,
    context: dict[str, Any] | None = None,
    frame: PageFrame | None = None,
) -> ReadPage:
    """Return the page of an address that leads nowhere: 410 if readers could see something there once, else 404."""
    shown = {"is_gone": status == 410, **(context or {})}
    page = _render(request, visit, "pages/missing.html", shown, frame or read_frame(visit)[0])
    page.status_code = status
    return page


def read_frame(visit: Visit, *others: Reading[Any]) -> list[Any]:
    """Return what all pages show, and what is read together with it."""
    return read_together(reading_frame(visit), *others)


def _finding(visit: Visit, identity: str) -> Reading[VersionRow | None]:
    """Return the version that an id addresses for this reader (D6)."""
    if not GUID.fullmatch(identity):
        return None
    return (yield from finding_version(visit.reader.audience, identity))


def _found(visit: Visit, identity: str) -> tuple[PageFrame, VersionRow | None, Former | None]:
    """Return the version that an id addresses, or else what was published with this id and what replaces it (D411)."""
    frame, row = read_frame(visit, _finding(visit, identity))
    if row is not None or not GUID.fullmatch(identity):
        return frame, row, None
    former = find_former(visit.reader, identity)
    return frame, read(_finding(visit, former.successor or "")) if former else None, former


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and 0 < len(text) < 10 and int(text) else 1


def _with_query(request: HttpRequest, address: str) -> str:
    query = request.META.get("QUERY_STRING", "")
    return f"{address}?{query}" if query else address


def _render(
    request: HttpRequest,
    visit: Visit,
    template: str,
    context: dict[str, Any],
    shown: PageFrame,
) -> ReadPage:
    look = look_of(visit, storage_of(request), shown.appearance)
    tag, own = language_tag(visit.lcid), interface_language(visit.lcid)
    frame = {
        "visit": visit,
        "look": look,
        "storage_title": look.title,
        "facets": menu_of(visit, shown.facets, shown.appearance),
        "languages": languages(request, visit),
        "lang": tag,
        "dir": writing(visit.lcid).text_direction,
        # Language of the interface texts, if it is not the language of the page.
        "own": "" if tag.partition("-")[0] == own else format_html(' lang="{}"', own),
        "is_member": can_subscribe(caller_of(request)),
        "works_in_office": works_in_office(caller_of(request)),
        "place": request.get_full_path(),
        "printed_on": show_day(visit.lcid, timezone.localdate()),
        "printed_address": public_base(request) + getattr(context.get("page"), "own_address", request.get_full_path()),
    }
    return ReadPage(request, template, frame | context)
