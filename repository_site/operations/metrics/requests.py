"""Counts and times every request, by what it asked for."""

from __future__ import annotations

import time

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from repository_site.core import metrics as board
from repository_site.core.middleware import GetResponse

IN_FLIGHT = board.GAUGES.index("in_flight")
# Whatever else a client writes there must not become a label.
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class MetricsMiddleware:
    """Outermost, so that it sees what everything together takes. A list that is streamed is timed to its beginning."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        part = board.own()
        started = time.perf_counter()
        part.add(IN_FLIGHT, 1)
        # It does not raise: Django answers for whatever is raised inside.
        response = self.get_response(request)
        board.request_ended(part, _label(request, response.status_code), time.perf_counter() - started)
        return response


def _label(request: HttpRequest, status: int) -> board.Label:
    method = request.method if request.method in METHODS else "other"
    label = ("request", operation_name(request), str(method), f"{status // 100}xx")
    if settings.METRICS_STORAGES:
        storage = getattr(request, "storage", None)
        return (*label, str(storage) if storage is not None else "")
    return label


def operation_name(request: HttpRequest) -> str:
    """As the OpenAPI document calls it; pages by the name of their address, which are as few."""
    match = request.resolver_match
    if match is None:
        return request.path_info[1:] if request.path_info in ("/healthz", "/readyz", "/metrics") else "none"
    view = getattr(match.func, "view_class", None)
    operation = getattr(view, "operation_id", None)
    if operation is not None:
        return str(view.writing_ids.get(request.method, operation))  # type: ignore[union-attr]  # an Operation
    # Of an address without a name it is the path of the function.
    return match.view_name.rpartition(".")[2]
