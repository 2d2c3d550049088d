"""Content security policies (D148): API responses allow nothing, pages allow our own files only."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from repository_site.core.middleware import Middleware
from repository_site.core.rest.errors import is_api_path

NAME = "Content-Security-Policy"
PERMISSIONS = "Permissions-Policy"


def written(directives: Mapping[str, str]) -> str:
    return "; ".join(f"{name} {value}" for name, value in directives.items())


_PAGE = {
    "default-src": "'self'",
    "script-src": "'self'",
    "style-src": "'self'",
    # Texts of elements may show pictures of other sites, and contain small ones.
    "img-src": "'self' data: https:",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}
PAGE = written(_PAGE)
# The theme writes colours and sizes into the pages as inline styles.
OFFICE = written({**_PAGE, "style-src": "'self' 'unsafe-inline'"})
# API responses are not pages; a browser shows them as text.
API = written({"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'"})
NO_PERMISSIONS = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"


class PolicyMiddleware(Middleware):
    """Sets the policies of all responses, files and errors included, unless the view has set its own."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        # "Not modified" has no content: the browser uses its copy, with the policy of that response.
        if response.status_code != HTTPStatus.NOT_MODIFIED:
            response.headers.setdefault(NAME, _policy(request))
            response.headers.setdefault(PERMISSIONS, NO_PERMISSIONS)
        return response


def _policy(request: HttpRequest) -> str:
    if is_api_path(request.path):
        return API
    found = request.resolver_match
    return OFFICE if found is not None and "admin" in found.namespaces else PAGE
