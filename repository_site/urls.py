"""The URLconf of the installation."""

from __future__ import annotations

import sys
from typing import Any

from django.contrib.admin import autodiscover
from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.urls import include, path, re_path
from django.views import defaults

from elements.api.urls import urlpatterns as element_patterns
from repository_site.api_document.document_viewset import DocumentViewSet
from repository_site.api_document.reference import api_reference, openapi_document
from repository_site.core.problems import NotFound, TooManyRequests, Unreadable
from repository_site.core.rest import errors
from repository_site.dashboard.landing import landing_page
from storage.api.throttling import throttle_address
from storage.api.urls import administration
from storage.api.viewset import reads
from storage.back_office import site_office
from storage.scim.requests import scim_request
from storage.tenancy.addresses import ADMINISTRATION_KEY as KEY


def unknown_address(request: HttpRequest, **kwargs: Any) -> HttpResponse:
    """Answer 404 for every address below `_api` that is not an operation, for every method and caller (D3)."""
    try:
        throttle_address(request)
    except TooManyRequests as problem:
        return errors.problem_answer(problem)
    return errors.problem_answer(NotFound("There is nothing at this address."))


unknown_address.csrf_exempt = True  # type: ignore[attr-defined]  # it answers 404 to POST as well


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if errors.is_api_path(request.path):
        return errors.problem_answer(Unreadable("The request is malformed."))
    return defaults.bad_request(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if errors.is_api_path(request.path):
        return unknown_address(request)
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django calls this while it handles the exception, which a view or a middleware has raised."""
    error = sys.exc_info()[1]
    if isinstance(error, errors.AWAY):
        return unavailable(request, error)
    if errors.is_api_path(request.path):
        return errors.server_error(request)
    return defaults.server_error(request)


def unavailable(request: HttpRequest, error: Exception) -> HttpResponse:
    """Answer 503 while the database is unavailable, as JSON or as a page (D153)."""
    if errors.is_api_path(request.path):
        return errors.unavailable(error, request)
    away = errors.note_that_it_is_away(error)
    has_room = away.message != errors.NO_ROOM
    page = loader.render_to_string("503.html", {"has_room": has_room})
    return HttpResponse(page, status=503, headers={"Retry-After": str(away.retry_after), "Cache-Control": "no-store"})


handler400 = bad_request
handler404 = not_found
handler500 = server_error

autodiscover()  # not when Django starts: commands need no back office

# Django tries addresses one by one, so those of most requests come first. Those of administrative contexts must come
# before all others of the API, which they would match, too.
urlpatterns = [
    path(f"<str:collectionId>/{KEY}/_api/", include(administration), {"storageId": KEY}),
    # Without include(): each request would need one more match.
    *element_patterns,
    path("", include("facets.api.urls")),
    path("", include("release.api.urls")),
    path("", include("storage.api.urls")),
    path("<str:collectionId>/<str:storageId>/_api", DocumentViewSet.as_view(reads("get_api_index"))),
    path("<str:collectionId>/<str:storageId>/_api/schema", DocumentViewSet.as_view(reads("get_openapi_document"))),
    path("<str:collectionId>/<str:storageId>/_api/docs", DocumentViewSet.as_view(reads("browse_document"))),
    re_path(r"^(?:.*/)?_api(?:/.*)?$", unknown_address),
    re_path(r"^(?P<collection_id>[^/]+)/scim/v2(?:/(?P<place>.*))?$", scim_request),
    path("admin/sso/", include("storage.back_office.sign_on")),
    path("admin/invitation/", include("storage.back_office.account_pages.invitation_pages")),
    path("admin/factor/", include("storage.back_office.account_pages.factor_pages")),
    path("admin/password/", include("storage.back_office.account_pages.password_pages")),
    path("admin/", site_office.urls),
    path("api/", api_reference, name="api_reference"),
    path("api/openapi.json", openapi_document, name="openapi_document"),
    path("", landing_page, name="landing"),
]
