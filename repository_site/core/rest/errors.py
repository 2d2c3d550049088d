"""Every failure below `_api` in one body (D3): `message`, `output`, `type`, `data`.

The only map from a problem to a status.
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

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Kind:
    status: int
    type: str
    output: str


BY_PROBLEM: dict[type[problems.Problem], Kind] = {
    problems.Unreadable: Kind(400, "error", "inline"),
    problems.Unauthenticated: Kind(401, "unauthorized", "volatile"),
    problems.Forbidden: Kind(403, "unauthorized", "volatile"),
    problems.NotFound: Kind(404, "error", "volatile"),
    problems.Conflict: Kind(409, "error", "dialog"),
    problems.PreconditionFailed: Kind(412, "error", "dialog"),
    problems.TooLarge: Kind(413, "error", "volatile"),
    problems.Invalid: Kind(422, "error", "inline"),
    problems.Warned: Kind(422, "warning", "dialog"),
    problems.Busy: Kind(503, "critical", "permanent"),
    problems.TooManyRequests: Kind(429, "error", "volatile"),
}
CRITICAL = "critical"
# What a request meets when the database is away, goes away, or cannot do what it is asked to.
AWAY = (OperationalError, InterfaceError, PoolTimeout, EmbeddedPostgresError)
UNREACHABLE = "The service cannot reach its database; try again shortly."
NO_ROOM = (
    "The database has no room left, so nothing was changed; reading goes on. Whoever runs the installation has to make"
    " room, then try again."
)


def error_body(message: str, output: str, type: str, details: tuple[str, ...]) -> dict[str, Any]:
    return {"message": message, "output": output, "type": type, "data": [{"error": detail} for detail in details]}


def error_answer(
    kind: Kind, message: str, details: tuple[str, ...] = (), headers: dict[str, str] | None = None
) -> HttpResponse:
    return answer(error_body(message, kind.output, kind.type, details or (message,)), kind.status, headers)


def status_of(problem: problems.Problem) -> int:
    """The same for the API and for pages."""
    return _kind(problem).status


def _kind(problem: problems.Problem) -> Kind:
    return next(kind for cls, kind in BY_PROBLEM.items() if isinstance(problem, cls))


def problem_answer(problem: problems.Problem) -> HttpResponse:
    headers = {}
    if isinstance(problem, problems.Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(problem, problems.TooManyRequests | problems.Busy):
        headers["Retry-After"] = str(problem.retry_after)
    return error_answer(_kind(problem), problem.message, problem.details, headers)


def handle_exception(error: Exception, context: dict[str, Any] | None = None) -> HttpResponse | None:
    """DRF's exception hook; None lets an unexpected error rise to `server_error`, logged with its traceback."""
    if isinstance(error, problems.Problem):
        return problem_answer(error)
    if isinstance(error, exceptions.MethodNotAllowed):
        return error_answer(Kind(405, "error", "volatile"), _method_message(error, context))
    if isinstance(error, exceptions.NotAcceptable):
        return error_answer(Kind(406, "error", "volatile"), _answers_message(context))
    if isinstance(error, exceptions.UnsupportedMediaType):
        return error_answer(Kind(415, "error", "volatile"), "Bodies must be application/json.")
    if isinstance(error, exceptions.PermissionDenied | PermissionDenied):
        return problem_answer(problems.Forbidden(str(error) or "This is not permitted."))
    if isinstance(error, Http404):
        return problem_answer(problems.NotFound("There is nothing at this address."))
    if isinstance(error, RequestDataTooBig):
        return problem_answer(problems.TooLarge("The body is too large."))
    if isinstance(error, BadRequest | SuspiciousOperation | UnreadablePostError):
        return problem_answer(problems.Unreadable("The request cannot be read."))
    if isinstance(error, AWAY):
        return unavailable(error, context.get("request") if context else None)
    if isinstance(error, exceptions.APIException):
        return error_answer(Kind(error.status_code, "error", "volatile"), str(error.detail))
    return None


def unavailable(error: Exception, request: Any) -> HttpResponse:
    """The database is away or at its limits: not the client's fault, and worth trying again (D153)."""
    away = note_that_it_is_away(error)
    request_id = getattr(request, "request_id", "unknown")
    return error_answer(
        Kind(503, CRITICAL, "permanent"),
        f"{away.message} The request id is {request_id}.",
        headers={"Retry-After": str(away.retry_after)},
    )


def note_that_it_is_away(error: BaseException) -> problems.Busy:
    """For the log and the pool; answers what to tell whoever asked."""
    log.error("database unavailable", error=str(error).splitlines()[0] if str(error) else type(error).__name__)
    renew_pool()
    if isinstance(error.__cause__, DiskFull):
        return problems.Busy(NO_ROOM, retry_after=30)
    return problems.Busy(UNREACHABLE, retry_after=2)


def _method_message(error: exceptions.MethodNotAllowed, context: dict[str, Any] | None) -> str:
    view = context.get("view") if context else None
    request = context.get("request") if context else None
    allowed = ", ".join(view.allowed_methods) if view else ""
    return f"{request.method if request else 'This method'} is not possible here; allowed: {allowed}."


def _answers_message(context: dict[str, Any] | None) -> str:
    media_type = getattr(context.get("view") if context else None, "answers", (JSON_TYPE,))[0]
    return f"Answers are {media_type} only."


def is_api_path(path: str) -> bool:
    return "_api" in path.split("/")


def server_error(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
    request_id = getattr(request, "request_id", "unknown")
    return error_answer(
        Kind(500, CRITICAL, "permanent"), f"Something went wrong on our side; the request id is {request_id}."
    )
