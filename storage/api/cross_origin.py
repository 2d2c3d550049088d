"""Cross-origin requests (D576): which origins of web pages may call the API of a storage, and the headers for browsers.

A browser sends a preflight request before all but the simplest ones. `ApiViewSet` answers it, because it knows the
methods of an address. The middleware adds the headers of every response, so that a page can also read errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from repository_site.core.middleware import Middleware
from repository_site.core.recent_values import RecentValues
from repository_site.core.rest.errors import is_api_path
from storage.models import Storage

ORIGIN, WANTED_METHOD = "HTTP_ORIGIN", "HTTP_ACCESS_CONTROL_REQUEST_METHOD"
ALLOW = "Access-Control-Allow-"
# Seconds for which a browser may keep the answer to a preflight request.
MAX_AGE = 600
# Request headers of the API, beside those that browsers always allow.
HEADERS = (
    "Authorization, Content-Type, Range, If-Range, symbio-auth-token, api-version, If-Match, If-None-Match,"
    " Idempotency-Key, Prefer, X-Request-ID, Mcp-Protocol-Version, Mcp-Method, Mcp-Name"
)
EXPOSED = (
    "ETag, Location, Link, X-Total-Count, Retry-After, X-Request-ID, Preference-Applied, api-version, Allow,"
    " WWW-Authenticate, Content-Disposition, Content-Range"
)
# Origins by address. A request that is refused before its storage is known gets the headers of earlier requests.
_known: RecentValues[Sequence[str]] = RecentValues(1_000)


class CrossOriginMiddleware(Middleware):
    """Adds headers to responses for origins that the storage allows. Storages without origins are left alone."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        origin = request.META.get(ORIGIN)
        if not is_api_path(request.path_info):
            return response
        if origin is None:
            storage: Storage | None = getattr(request, "storage", None)
            if storage is not None and storage.allowed_origins:
                # A cache must not give this response to a page, which could not read it.
                patch_vary_headers(response, ["Origin"])
            return response
        if allowed := _allowed_origins(request):
            patch_vary_headers(response, ["Origin"])
            if origin in allowed:
                # Without Allow-Credentials: browsers send no cookies, so a session is never used from elsewhere.
                response[f"{ALLOW}Origin"] = origin
                response["Access-Control-Expose-Headers"] = EXPOSED
        return response


def _allowed_origins(request: HttpRequest) -> Sequence[str]:
    key = "/".join(request.path_info.split("/", 3)[1:3]).encode(errors="replace")
    storage: Storage | None = getattr(request, "storage", None)
    if storage is None:
        return _known.get(key) or ()
    if storage.origins or _known.get(key):
        _known.keep(key, storage.origins)
    return storage.origins


def is_preflight(request: HttpRequest, storage: Storage | None) -> bool:
    """Return whether a browser asks if a page of an allowed origin may send a request."""
    if request.method != "OPTIONS" or storage is None or WANTED_METHOD not in request.META:
        return False
    return request.META.get(ORIGIN) in storage.origins


def preflight_response(methods: Iterable[str]) -> HttpResponse:
    headers = {
        f"{ALLOW}Methods": ", ".join(methods),
        f"{ALLOW}Headers": HEADERS,
        "Access-Control-Max-Age": str(MAX_AGE),
    }
    response = HttpResponse(status=204, headers=headers)
    del response["Content-Type"]
    return response
