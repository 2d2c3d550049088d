"""A visit to a reader page: the reader, the culture, and the addresses of the pages it links to."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import get_script_prefix
from django.utils import translation
from django.utils.functional import cached_property
from django.views.decorators.http import require_safe

from elements import derived
from elements.presentation.labels import Labels
from elements.presentation.page_requests import reader_of
from elements.reading.assembly.assembler import Reader
from elements.reading.rows import Identity, VersionRow
from facets.rendering import segment
from repository_site.core.problems import NotFound, Unauthenticated
from storage.api.throttling import throttle_address, throttle_caller
from storage.localisation.culture_names import interface_language, language_tag
from storage.localisation.cultures import CultureSet, preferred_culture
from storage.pages import View, caller_of, in_scope, page_caller

ReaderView = Callable[..., HttpResponseBase]


class Visit(Labels):
    """One request for a reader page, in the culture of its address; texts in other cultures are marked."""

    @cached_property
    def storage_path(self) -> str:
        return get_script_prefix().rstrip("/")

    @cached_property
    def start(self) -> str:
        return f"{self.storage_path}/{self.lcid}/"

    @property
    def search(self) -> str:
        return f"{self.start}search"

    def facet_address(self, name: str) -> str:
        return f"{self.start}{segment(name)}/"

    def address(self, of: Identity | VersionRow) -> str:
        """Return the address of an element's page, as `gotoUrl` names it (D59)."""
        type = self.reader.types[of.type]
        return derived.page_prefix(self.storage_path, self.lcid, type.facet) + of.version


def visitor_culture(request: HttpRequest, cultures: CultureSet) -> int:
    """Return the data culture that fits the account, else the browser."""
    accepted = request.headers.get("Accept-Language", "")
    preferred = f"{getattr(request.user, 'language', '') or ''},{accepted}".strip(",")
    return preferred_culture(preferred, cultures.data, cultures.default)


def admitted_reader(request: HttpRequest) -> Reader:
    """Return the reader of a visitor who may read, and count the visit."""
    if page_caller(request) is None:
        throttle_address(request)
        raise Unauthenticated("Sign in to see this page.")
    throttle_caller(caller_of(request))
    return reader_of(request)


def reader_page(view: ReaderView) -> View:
    """Wrap a reader page: check that the visitor may read, and render it from one snapshot.

    The language is set first, so that error pages are in the language of the address, too.
    """

    def visited(request: HttpRequest, lcid: int, **names: Any) -> HttpResponseBase:
        reader = admitted_reader(request)
        try:
            if lcid not in reader.configuration.cultures.data:
                raise NotFound(translation.gettext("There is no such page."))
            return view(request, Visit(reader, lcid), **names)
        except NotFound as problem:
            # `views.page_not_found` shows it, as it does for addresses without a view (D412).
            raise Http404(problem.message) from problem

    scoped = in_scope(visited, snapshot=True)

    @require_safe
    @wraps(view)
    def inner(request: HttpRequest, lcid: int, **names: Any) -> HttpResponseBase:
        with translation.override(interface_language(lcid)):
            response = scoped(request, lcid, **names)
        response.headers.setdefault("Content-Language", language_tag(lcid) or interface_language(lcid))
        return response

    return inner
