"""Middleware for every request: request id and log line, proxy headers, request body, https and trailing slashes."""

from __future__ import annotations

import io
import logging
import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from typing import cast

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.utils.datastructures import MultiValueDict

from repository_site.core.fairness.origin import origin_of
from repository_site.core.fairness.shares import Shares
from repository_site.core.problems import Busy, Problem, TooLarge, TooManyRequests, TooSlow, Unreadable
from repository_site.core.refused_bodies import discard_body
from repository_site.core.rest.errors import is_api_path, problem_answer

GetResponse = Callable[[HttpRequest], HttpResponseBase]
# The only address whose body may be larger than memory should hold; its view streams the body to disk (D453).
UPLOADS = re.compile(r"/[^/]+/[^/]+/_api/rest/files/?")
SANE_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST")
# Request bodies that a process reads at the same time; each one occupies a thread while its client sends.
BODIES_AT_ONCE = 96
reading = Shares(BODIES_AT_ONCE)
# As many requests wait until others have read theirs, for so many seconds. Bodies that have arrived are read at once.
awaiting = Shares(BODIES_AT_ONCE)
PATIENCE = 1.0
# Links in mails give access to everybody who reads them in a log (D550, D551).
SECRET_PATH = re.compile(r"^(/admin/(?:invitation|password)/).+", re.DOTALL)
UNACCEPTED = "unaccepted"
log = structlog.get_logger("request")


class Middleware:
    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response


class RequestLogMiddleware(Middleware):
    """Gives the request its id, and writes one log line when the response is ready."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        request_id = given if SANE_REQUEST_ID.fullmatch(given) else str(uuid.uuid4())
        request.request_id = request_id  # type: ignore[attr-defined]  # for the 500 page and for logs
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = self.get_response(request)
        response["X-Request-ID"] = request_id
        if log.isEnabledFor(logging.INFO):
            # The path without its query, which may contain a token (D4).
            log.info(
                "request",
                method=request.method,
                path=SECRET_PATH.sub(r"\1...", request.path),
                status=response.status_code,
                duration_ms=round((time.perf_counter() - started) * 1000, 2),
            )
        return response


class TrustedProxyMiddleware(Middleware):
    """Uses X-Forwarded-* headers of trusted proxies, and removes them from all other requests (D1)."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if self._is_trusted(request.META.get("REMOTE_ADDR", "")):
            self._believe(request)
        for name in FORWARDED:
            request.META.pop(name, None)
        return self.get_response(request)

    def _believe(self, request: HttpRequest) -> None:
        meta = request.META
        # Every proxy appends an address. The client is the last address that is not a trusted proxy.
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
    """Remove the port that some proxies append: `192.0.2.1:4711`, `[2001:db8::1]:4711`."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address


class ApiRequestMiddleware(Middleware):
    """Reads request bodies up to the limit (D28). Below `_api`, it also requires https where that is configured, and
    removes a trailing slash without a redirect (D1)."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        is_api = is_api_path(request.path_info)
        if is_api and settings.HTTPS and not request.is_secure():
            return problem_answer(Unreadable("This service requires https. Send the request to an https address."))
        try:
            if request.method == "POST" and UPLOADS.fullmatch(request.path_info):
                _leave_body(request)
            else:
                _take_body(request)
        except Problem as problem:
            return problem_response(request, problem)
        if is_api and request.path_info.endswith("/"):
            request.path_info = request.path_info[:-1]
        return self.get_response(request)


def problem_response(request: HttpRequest, problem: Problem) -> HttpResponse:
    """Return an error; as plain text for pages, because caller and language are not known yet."""
    answer = problem_answer(problem)
    if is_api_path(request.path_info):
        return answer
    answer.content = problem.message.encode()
    answer["Content-Type"] = "text/plain; charset=utf-8"
    return answer


def _take_body(request: HttpRequest) -> None:
    """Read the body first, so that a slow client occupies neither a database connection nor a transaction.

    Django looks at CONTENT_LENGTH only: it would treat a chunked body as empty, and a truncated body as complete.
    """
    limit = settings.BODY_LIMIT
    length = request.META.get("CONTENT_LENGTH") or ""
    is_chunked = not length and "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower()
    if length and not length.isdecimal():
        raise Unreadable("The Content-Length header is not a number.")
    if not is_chunked and not int(length or 0):
        return
    too_large = TooLarge(f"The request body is larger than {limit} bytes.")
    if int(length or 0) > limit:
        with suppress(TooManyRequests, Busy), _receiving(request):
            discard_body(request, int(length), limit)
        raise too_large
    with _receiving(request):
        body = _read(request, limit + 1 if is_chunked else int(length))
        if len(body) > limit:
            discard_body(request, None, limit, already=len(body))
            raise too_large
    if len(body) < int(length or 0):
        raise Unreadable("The request body is shorter than its Content-Length.")
    request.META["CONTENT_LENGTH"] = str(len(body))
    request._stream = io.BytesIO(body)  # HttpRequest.body and .POST read from it


def _leave_body(request: HttpRequest) -> None:
    """Leave the body to the view, and let nothing before it read the body as a form."""
    request._body = b""  # what HttpRequest.body returns
    request._post, request._files = QueryDict(), MultiValueDict()  # type: ignore[attr-defined]  # what .POST and .FILES return


def _read(request: HttpRequest, size: int) -> bytes:
    try:
        return cast("bytes", request.META["wsgi.input"].read(size))
    except TimeoutError as problem:
        text = f"The request body arrives more slowly than {settings.STREAM_RATE} bytes a second. Send it faster."
        raise TooSlow(text) from problem
    except OSError as problem:
        raise Unreadable("The request body is shorter than its Content-Length.") from problem


@contextmanager
def _receiving(request: HttpRequest) -> Iterator[None]:
    """Let a thread read a body, unless too many do so: the others serve requests without a body (D154).

    A storage gets at most half of them, so that its slow clients keep no other storage from writing. A caller gets a
    part of these, and so do all clients together whose credentials have not been accepted yet (D198).
    """
    origin = origin_of(request)
    share = (origin.storage, origin.caller) if origin.is_accepted else (origin.storage, origin.caller, UNACCEPTED)
    waits = awaiting.take(*share)
    try:
        may_read = reading.take(*share, within=PATIENCE if waits else 0)
    finally:
        if waits:
            awaiting.give_back(*share)
    if not may_read:
        if reading.taken < BODIES_AT_ONCE:
            text = "The server is receiving too many request bodies for this storage. Try again shortly."
            raise TooManyRequests(text, retry_after=2)
        raise Busy("The server is receiving too many request bodies. Try again shortly.", retry_after=2)
    try:
        yield
    finally:
        reading.give_back(*share)
