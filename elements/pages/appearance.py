"""The look of the reader pages: its style sheet and logo as files, and the menu (D421, D422)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_safe

from elements.appearance import read_appearance, read_logo, style_digest, style_of
from elements.models import Appearance
from elements.pages.navigation import FacetEntry
from elements.pages.visits import Visit
from elements.presentation.labels import Text
from repository_site.core import policies
from repository_site.core.problems import NotFound
from storage.models import Storage
from storage.pages import View, caller_of, in_scope

# The address changes with the content. Only the visitor's browser keeps the file: a storage may be closed to others.
KEPT = "private, max-age=31536000, immutable"
# A file that is opened by its own address runs nothing.
INERT = "default-src 'none'; sandbox"


@dataclass(frozen=True, slots=True)
class PageLook:
    """`style` and `logo` are addresses; empty for the usual colours and without a logo."""

    title: Text
    intro: Text
    style: str
    logo: str


def look_of(visit: Visit, storage: Storage, found: Appearance) -> PageLook:
    return PageLook(
        visit.chosen(found.titles) or Text(storage.title or str(storage)),
        visit.chosen(found.intros) or Text(storage.description),
        reverse("reader:style", args=[style_digest(found.color)]) if found.color else "",
        reverse("reader:logo", args=[found.logo_digest]) if found.logo_type else "",
    )


def menu_of(visit: Visit, facets: Sequence[FacetEntry], found: Appearance) -> list[FacetEntry]:
    """Return the facets of the menu in their order. Facets that are not for readers never appear (D397)."""
    places = {name: place for place, name in enumerate(found.menu)}
    shown = [each for each in facets if each.name not in found.hidden and is_for_readers(visit, each.name)]
    return sorted(shown, key=lambda each: places.get(each.name, len(places)))


def is_for_readers(visit: Visit, facet: str) -> bool:
    return visit.configuration.facet(facet).facet.for_readers


def _kept(view: View) -> View:
    """Wrap a file of the look: for visitors who may read, kept by their browser."""

    def admitted(request: HttpRequest, digest: str) -> HttpResponseBase:
        caller_of(request)
        return view(request, digest)

    scoped = in_scope(admitted, snapshot=True)

    @require_safe
    def inner(request: HttpRequest, digest: str) -> HttpResponseBase:
        response = scoped(request, digest)
        if response.status_code == 200:
            response["Cache-Control"] = KEPT
            response[policies.NAME] = INERT
        return response

    return inner


@_kept
def style_view(request: HttpRequest, digest: str) -> HttpResponse:
    color = read_appearance().color
    if not color or style_digest(color) != digest:
        raise NotFound("There is no such style sheet.")
    return HttpResponse(style_of(color), content_type="text/css; charset=utf-8")


@_kept
def logo_view(request: HttpRequest, digest: str) -> HttpResponse:
    found = read_logo(digest)
    if found is None or found.logo is None:
        raise NotFound("There is no such logo.")
    return HttpResponse(bytes(found.logo), content_type=found.logo_type)
