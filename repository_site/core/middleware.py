"""What happens to every request before any app sees it: id and log line, proxy headers, and the manners of `_api`."""

from __future__ import annotations

import io
import re
import threading
import time
import uuid
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, cast

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from repository_site.core.problems import Busy, Problem, TooLarge, Unreadable
from repository_site.core.rest.errors import is_api_path, problem_answer

GetResponse = Callable[[HttpRequest], HttpResponseBase]
SANE_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST")
# Requests whose bodies a process reads at once; each holds a thread for as long as its client takes.
BODIES_AT_ONCE = 48
_reading = threading.BoundedSemaphore(BODIES_AT_ONCE)
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
    """Below `_api`: a trailing slash is optional and never redirects (D1), https where it is asked for. Bodies are read
    whole and bounded (D28), those of pages, too."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        is_api = is_api_path(request.path_info)
        if is_api and settings.HTTPS and not request.is_secure():
            return problem_answer(Unreadable("This installation answers over https only."))
        try:
            _take_body(request)
        except Problem as problem:
            return problem_answer(problem) if is_api else _plain_answer(problem)
        if is_api and request.path_info.endswith("/"):
            request.path_info = request.path_info[:-1]
        return self.get_response(request)


def _plain_answer(problem: Problem) -> HttpResponse:
    """For pages, before anything is known of who asks and in which language."""
    answer = problem_answer(problem)
    answer.content = problem.message.encode()
    answer["Content-Type"] = "text/plain; charset=utf-8"
    return answer


def _take_body(request: HttpRequest) -> None:
    """Read the body before anything else, so that a slow client holds neither a connection nor a transaction.

    Django believes CONTENT_LENGTH alone: it would take a chunked body for an empty one, and one that was cut off for
    a whole one. Both would be lost in silence.
    """
    limit = settings.BODY_LIMIT
    length = request.META.get("CONTENT_LENGTH") or ""
    is_chunked = not length and "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower()
    if length and not length.isdecimal():
        raise Unreadable("Content-Length is not a number.")
    if int(length or 0) > limit:
        raise TooLarge(f"The body is larger than {limit} bytes.")
    if not is_chunked and not int(length or 0):
        return
    body = _read(request.META["wsgi.input"], limit + 1 if is_chunked else int(length))
    if len(body) > limit:
        raise TooLarge(f"The body is larger than {limit} bytes.")
    if len(body) < int(length or 0):
        raise Unreadable("The body ends before the length that was announced.")
    request.META["CONTENT_LENGTH"] = str(len(body))
    request._stream = io.BytesIO(body)  # what HttpRequest.body and .POST read from


def _read(stream: Any, size: int) -> bytes:
    """Not by every thread of the process at once: some are left for requests without a body (D154)."""
    if not _reading.acquire(blocking=False):
        raise Busy("Too many requests are waiting for their bodies; try again shortly.", retry_after=2)
    try:
        return cast("bytes", stream.read(size))
    except OSError as problem:
        raise Unreadable("The body ends before the length that was announced.") from problem
    finally:
        _reading.release()
