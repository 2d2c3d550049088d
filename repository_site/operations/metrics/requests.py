"""Counts and times every request once, for `/metrics` and for the traffic of the storages."""

from __future__ import annotations

import time

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from repository_site.core.fairness.admission import when_sent
from repository_site.core.middleware import Middleware
from repository_site.operations.metrics.instruments import RequestLabels, instruments
from storage import traffic

# Other methods share one label, so that clients cannot add series.
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestCountMiddleware(Middleware):
    """The outermost middleware, so that it measures all others. A streamed list is timed until it begins.

    `StoragePathMiddleware` and the API set `request.storage`; requests without a storage count for none.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        recorded = instruments()
        if recorded is not None:
            recorded.request_began()
        started = time.perf_counter()
        # Django turns every exception into a response, so this does not raise.
        response = self.get_response(request)
        seconds = time.perf_counter() - started

        def count() -> None:
            storage = getattr(request, "storage", None)
            if storage is not None:
                traffic.counter.count(storage.id, response.status_code, seconds)
            if recorded is not None:
                recorded.request_ended(_labels(request, response.status_code), seconds)

        when_sent(request, response, count)
        return response


def _labels(request: HttpRequest, status: int) -> RequestLabels:
    method = request.method if request.method in METHODS else "other"
    labels = (operation_name(request), str(method), f"{status // 100}xx")
    if settings.METRICS_STORAGES:
        storage = getattr(request, "storage", None)
        return (*labels, str(storage) if storage is not None else "")
    return labels


def operation_name(request: HttpRequest) -> str:
    """Return the operation id of the OpenAPI document, or the name of a page's address."""
    match = request.resolver_match
    if match is None:
        return request.path_info[1:] if request.path_info in ("/healthz", "/readyz", "/metrics") else "none"
    actions = getattr(match.func, "actions", None)  # a viewset of the API
    if actions:
        action = actions.get(str(request.method).lower()) or next(iter(actions.values()))
        return str(getattr(match.func.cls, action).operation.id)  # type: ignore[attr-defined]  # the viewset
    # For an address without a name, this is the dotted path of the view.
    return match.view_name.rpartition(".")[2]
