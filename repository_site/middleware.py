"""What happens to every request before any app sees it: id and log line, proxy headers, and the manners of `_api`."""

from __future__ import annotations

import io
import re
import time
import uuid
from collections.abc import Callable
from ipaddress import ip_address

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.http.response import HttpResponseBase

from repository_site.problems import TooLarge, Unreadable
from repository_site.rest.errors import is_api_path, problem_answer

GetResponse = Callable[[HttpRequest], HttpResponseBase]
SANE_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST")
log = structlog.get_logger("request")


class RequestLogMiddleware:
    """Outermost: names the request, and writes one line when its answer is ready."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        request_id = given if SANE_REQUEST_ID.fullmatch(given) else str(uuid.uuid4())
        request.request_id = request_id  # type: ignore[attr-defined]  # for the 500 page and domain logs
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = self.get_response(request)
        response["X-Request-ID"] = request_id
        # The path without its query: a token may stand there (D4).
        log.info(
            "request",
            method=request.method,
            path=request.path,
            status=response.status_code,
            duration_ms=round((time.perf_counter() - started) * 1000, 2),
        )
        return response


class TrustedProxyMiddleware:
    """Believes X-Forwarded-* from configured proxies and drops it from everybody else (D1)."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if self._is_trusted(request.META.get("REMOTE_ADDR", "")):
            self._believe(request)
        for name in FORWARDED:
            request.META.pop(name, None)
        return self.get_response(request)

    def _believe(self, request: HttpRequest) -> None:
        meta = request.META
        # Every proxy appends; the last address that is not itself a trusted proxy is the client.
        for address in reversed(
            [_without_port(part.strip()) for part in meta.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
        ):
            meta["REMOTE_ADDR"] = address
            if not self._is_trusted(address):
                break
        scheme = meta.get("HTTP_X_FORWARDED_PROTO", "").rpartition(",")[2].strip().lower()
        if scheme in {"http", "https"}:
            meta["wsgi.url_scheme"] = scheme
        if host := meta.get("HTTP_X_FORWARDED_HOST", "").rpartition(",")[2].strip():
            meta["HTTP_HOST"] = host

    def _is_trusted(self, address: str) -> bool:
        if not settings.TRUSTED_PROXIES:
            return False
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in settings.TRUSTED_PROXIES)


def _without_port(address: str) -> str:
    """`192.0.2.1:4711` and `[2001:db8::1]:4711` as some proxies write them."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address


class ApiRequestMiddleware:
    """Below `_api`: a trailing slash is optional and never redirects (D1), https where it is asked for, bodies are
    read whole and bounded (D28)."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not is_api_path(request.path_info):
            return self.get_response(request)
        if settings.HTTPS and not request.is_secure():
            return problem_answer(Unreadable("This installation answers over https only."))
        if refusal := _take_body(request):
            return refusal
        if request.path_info.endswith("/"):
            request.path_info = request.path_info[:-1]
        return self.get_response(request)


def _take_body(request: HttpRequest) -> HttpResponse | None:
    """Read the body before anything else, so that a slow client holds neither a connection nor a transaction.

    Django believes CONTENT_LENGTH alone: it would take a chunked body for an empty one, and one that was cut off for
    a whole one. Both would be lost in silence.
    """
    limit = settings.BODY_LIMIT
    too_large = TooLarge(f"The body is larger than {limit} bytes.")
    length = request.META.get("CONTENT_LENGTH") or ""
    if length and not length.isdecimal():
        return problem_answer(Unreadable("Content-Length is not a number."))
    if length and int(length) > limit:
        return problem_answer(too_large)
    if not length and "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower():
        body = request.META["wsgi.input"].read(limit + 1)
        if len(body) > limit:
            return problem_answer(too_large)
        request.META["CONTENT_LENGTH"] = str(len(body))
        request._stream = io.BytesIO(body)  # what HttpRequest.body reads from
    try:
        complete = len(request.body) == int(length or len(request.body))
    except UnreadablePostError:
        complete = False
    return None if complete else problem_answer(Unreadable("The body ends before the length that was announced."))
