"""Addresses of permalinks, which lead to the page of today, and the form that creates one (D413 to D415)."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from elements.models import LinkType, Permalink
from elements.pages.visits import Visit, admitted_reader, visitor_culture
from elements.permalinks import CULTURE, FIELDS, LINK_TYPE, create_permalink, find_permalink, permalink_address
from elements.presentation.trees import tree_view
from elements.reading.former import find_former
from elements.reading.rows import find_any_version
from repository_site.core.problems import NotFound
from storage.localisation.culture_names import interface_language
from storage.pages import caller_of, in_scope


def _follow(request: HttpRequest, key: str) -> HttpResponseBase:
    reader = admitted_reader(request)
    link, cultures = find_permalink(key), reader.configuration.cultures
    if link is None:
        raise Http404(_("There is no such page."))
    lcid = link.culture if link.culture in cultures.data else visitor_culture(request, cultures)
    try:
        response = redirect(_target(Visit(reader, lcid), link))
    except NotFound as problem:
        # What the visitor must not see looks like an unknown permalink.
        raise Http404(problem.message) from problem
    response["Vary"] = "Accept-Language, Cookie"
    return response


permalink_page = require_safe(in_scope(_follow, snapshot=True))


def _target(visit: Visit, link: Permalink) -> str:
    if link.target_id is None:
        return _facet_target(visit, link)
    target, reader = str(link.target_id), visit.reader
    row = find_any_version(reader.audience, target)
    if row is not None:
        return visit.address(row)
    former = find_former(reader, target)
    if former is None:
        raise NotFound(_("There is no such page."))
    # The page of the former version says what is valid instead.
    return f"{visit.facet_address(reader.types[former.type].facet)}{target}"


def _facet_target(visit: Visit, link: Permalink) -> str:
    facet = visit.configuration.facet(link.facet)
    view = facet.view(link.view) if link.view else None
    tree = tree_view(facet)
    is_list = link.link_type == LinkType.OF_SELECTION or (view is not None and view is not tree)
    given = {"as": "list", "view": link.view, "filter": link.filter} if is_list else {}
    query = urlencode({name: value for name, value in given.items() if value})
    address = visit.facet_address(facet.facet.name)
    return f"{address}?{query}" if query else address


@require_POST
@in_scope
def create_view(request: HttpRequest) -> HttpResponseBase:
    """Create the permalink and show it. Only browsers without scripts come here."""
    reader, caller = admitted_reader(request), caller_of(request)
    names = {LINK_TYPE, *(name for each in FIELDS.values() for name in each)}
    given: dict[str, Any] = {name: value for name, value in request.POST.items() if name in names}
    culture = next(
        (each for each in reader.configuration.cultures.data if str(each) == request.POST.get(CULTURE)), None
    )
    link = create_permalink(caller, reader, given if culture is None else {**given, CULTURE: culture})
    with translation.override(interface_language(culture) if culture else translation.get_language()):
        context = {"address": permalink_address(reader.storage_address, link)}
        return TemplateResponse(request, "pages/permalink.html", context).render()
