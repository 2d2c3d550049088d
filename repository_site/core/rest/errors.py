"""The error responses of the API (D3): status, and a body with `message`, `output`, `type` and `data`.

This module alone maps problems to statuses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import structlog
from django.core.exceptions import (
    BadRequest,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from psycopg.errors import DiskFull
from psycopg_pool import PoolTimeout
from rest_framework import exceptions

from repository_site.core import problems
from repository_site.core.database.pool import renew_pool
from repository_site.core.embedded_postgres import EmbeddedPostgresError
from repository_site.core.rest.rendering import JSON_TYPE, answer
from repository_site.core.wording import listed

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ErrorKind:
    status: int
    type: str
    output: str


BY_PROBLEM: dict[type[problems.Problem], ErrorKind] = {
    problems.Unreadable: ErrorKind(400, "error", "inline"),
    problems.Unauthenticated: ErrorKind(401, "unauthorized", "volatile"),
    problems.Forbidden: ErrorKind(403, "unauthorized", "volatile"),
    problems.NotFound: ErrorKind(404, "error", "volatile"),
    problems.Conflict: ErrorKind(409, "error", "dialog"),
    problems.Gone: ErrorKind(410, "error", "dialog"),
    problems.PreconditionFailed: ErrorKind(412, "error", "dialog"),
    problems.TooSlow: ErrorKind(408, "error", "volatile"),
    problems.TooLarge: ErrorKind(413, "error", "volatile"),
    problems.Invalid: ErrorKind(422, "error", "inline"),
    problems.Warned: ErrorKind(422, "warning", "dialog"),
    problems.Busy: ErrorKind(503, "critical", "permanent"),
    problems.TooManyRequests: ErrorKind(429, "error", "volatile"),
}
CRITICAL = "critical"
# Problems that a response lists. A body can have hundreds of thousands.
MOST_DETAILS = 10_000
# Errors of a database that is unreachable, shuts down, or has no resources left.
AWAY = (OperationalError, InterfaceError, PoolTimeout, EmbeddedPostgresError)
UNREACHABLE = "The service cannot reach its database; try again in a few seconds."
NO_ROOM = (
    "The disk of the database is full, so nothing was changed; reading is still possible. Ask the operator of the"
    " installation to free disk space, then try again."
)


def error_answer(
    kind: ErrorKind,
    message: str,
    details: tuple[str, ...] = (),
    headers: dict[str, str] | None = None,
    further: dict[str, str] | None = None,
) -> HttpResponse:
    data = [{"error": detail} for detail in (details or (message,))[:MOST_DETAILS]]
    body = {"message": message, "output": kind.output, "type": kind.type, "data": data, **(further or {})}
    return answer(body, kind.status, headers)


def status_of(problem: problems.Problem) -> int:
    """Return the status of a problem, for the API and for pages."""
    return _kind(problem).status


def _kind(problem: problems.Problem) -> ErrorKind:
    return next(kind for cls, kind in BY_PROBLEM.items() if isinstance(problem, cls))


def problem_answer(problem: problems.Problem) -> HttpResponse:
    headers = {}
    if isinstance(problem, problems.Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(problem, problems.TooManyRequests | problems.Busy):
        headers["Retry-After"] = str(problem.retry_after)
    further = {"next": problem.next} if isinstance(problem, problems.Gone) else {}
    return error_answer(_kind(problem), problem.message, problem.details, headers, further)


def handle_exception(error: Exception, context: dict[str, Any] | None = None) -> HttpResponse | None:
    """DRF's exception handler. An unexpected error returns None, and Django logs it and calls `server_error`."""
    if isinstance(error, problems.Problem):
        return problem_answer(error)
    if isinstance(error, exceptions.MethodNotAllowed):
        return error_answer(ErrorKind(405, "error", "volatile"), _method_message(error, context))
    if isinstance(error, exceptions.NotAcceptable):
        return error_answer(ErrorKind(406, "error", "volatile"), _answers_message(context))
    if isinstance(error, exceptions.UnsupportedMediaType):
        return error_answer(ErrorKind(415, "error", "volatile"), _body_message(context))
    if isinstance(error, exceptions.PermissionDenied | PermissionDenied):
        return problem_answer(problems.Forbidden(str(error) or "This is not permitted."))
    if isinstance(error, Http404):
        return problem_answer(problems.NotFound("There is nothing at this address."))
    if isinstance(error, RequestDataTooBig):
        return problem_answer(problems.TooLarge("The request body is too large."))
    if isinstance(error, BadRequest | SuspiciousOperation | UnreadablePostError):
        return problem_answer(problems.Unreadable("The request is malformed."))
    if isinstance(error, AWAY):
        return unavailable(error, context.get("request") if context else None)
    if isinstance(error, exceptions.APIException):
        return error_answer(ErrorKind(error.status_code, "error", "volatile"), str(error.detail))
    return None


def unavailable(error: Exception, request: Any) -> HttpResponse:
    """Return 503: the database is unreachable or out of resources, and the client can try again (D153)."""
    away = note_that_it_is_away(error)
    request_id = getattr(request, "request_id", "unknown")
    return error_answer(
        ErrorKind(503, CRITICAL, "permanent"),
        f"{away.message} The request id is {request_id}.",
        headers={"Retry-After": str(away.retry_after)},
    )


def note_that_it_is_away(error: BaseException) -> problems.Busy:
    """Log the error, renew the pool, and return the problem to report."""
    log.error("database unavailable", error=str(error).splitlines()[0] if str(error) else type(error).__name__)
    renew_pool()
    if isinstance(error.__cause__, DiskFull):
        return problems.Busy(NO_ROOM, retry_after=30)
    return problems.Busy(UNREACHABLE, retry_after=2)


def _method_message(error: exceptions.MethodNotAllowed, context: dict[str, Any] | None) -> str:
    view = context.get("view") if context else None
    request = context.get("request") if context else None
    allowed = ", ".join(view.allowed_methods) if view else ""
    return f"{request.method if request else 'This method'} is not allowed at this address; use {allowed}."


def _body_message(context: dict[str, Any] | None) -> str:
    operation = getattr(context["view"], "operation", None) if context else None
    types = listed(operation.body_types, "or") if operation else JSON_TYPE
    return f"The request body must have the Content-Type {types}."


def _answers_message(context: dict[str, Any] | None) -> str:
    view = context.get("view") if context else None
    media_type = view.operation.media_types[0] if view else JSON_TYPE
    return f"Accept: this operation responds with {media_type} only."


def is_api_path(path: str) -> bool:
    """Tell whether programs use an address: those below `_api`, and those of SCIM (D540)."""
    parts = path.split("/")
    return "_api" in parts or parts[2:4] == ["scim", "v2"]


def server_error(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
    request_id = getattr(request, "request_id", "unknown")
    return error_answer(
        ErrorKind(500, CRITICAL, "permanent"),
        f"Internal error. Report the request id {request_id} to the operator.",
    )
