"""What browsers may do with our answers (D148): nothing with those of the API; on pages, run our own files alone."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from repository_site.core.middleware import GetResponse
from repository_site.core.rest.errors import is_api_path

NAME = "Content-Security-Policy"
PERMISSIONS = "Permissions-Policy"


def written(directives: Mapping[str, str]) -> str:
    return "; ".join(f"{name} {value}" for name, value in directives.items())


_PAGE = {
    "default-src": "'self'",
    "script-src": "'self'",
    "style-src": "'self'",
    # Texts of elements may show pictures from elsewhere, and hold small ones themselves.
    "img-src": "'self' data: https:",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}
PAGE = written(_PAGE)
# The theme writes its colours into each page, and sizes into elements.
OFFICE = written({**_PAGE, "style-src": "'self' 'unsafe-inline'"})
# Nothing of these is a page: whoever opens one in a browser sees text.
API = written({"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'"})
NO_PERMISSIONS = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"


class PolicyMiddleware:
    """Around everything, so that files, errors and refusals have a policy, too. A view may have set its own."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        # "Not modified" brings no content: the browser keeps what it has, with the policy that came with it.
        if response.status_code != HTTPStatus.NOT_MODIFIED:
            response.headers.setdefault(NAME, _policy(request))
            response.headers.setdefault(PERMISSIONS, NO_PERMISSIONS)
        return response


def _policy(request: HttpRequest) -> str:
    if is_api_path(request.path):
        return API
    found = request.resolver_match
    return OFFICE if found is not None and "admin" in found.namespaces else PAGE
