"""OpenTelemetry traces (D163).

Only the list of middleware in the settings imports this module, and only if an address for traces is set. Other
installations do not need its packages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from multiprocessing.util import Finalize
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from repository_site import __version__
from repository_site.core.database.base import watch_trips
from repository_site.core.middleware import Middleware
from repository_site.operations.metrics.requests import METHODS, operation_name

try:
    from opentelemetry import propagate, trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer
except ImportError as problem:
    raise ImproperlyConfigured(
        f"OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed ({problem}). Run: pip install"
        " --require-hashes -r requirements-traces.txt, or remove the variable."
    ) from None

__all__ = ["TracingMiddleware", "start_tracing"]
SERVICE = "content-repository"
_tracer: Tracer | None = None
_stop_watching: Callable[[], None] | None = None


def start_tracing(processor: SpanProcessor | None = None) -> TracerProvider:
    """Start traces in this process. Called after the fork, because the thread of the sender does not survive one."""
    global _tracer, _stop_watching
    stop_tracing()
    about = Resource.create({SERVICE_VERSION: __version__})
    if str(about.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        about = about.merge(Resource({SERVICE_NAME: SERVICE}))
    provider = TracerProvider(resource=about, shutdown_on_exit=False)
    provider.add_span_processor(processor or BatchSpanProcessor(OTLPSpanExporter()))
    _tracer = provider.get_tracer(SERVICE)
    _stop_watching = watch_trips(_note_trip)
    if processor is None:
        # A worker is a multiprocessing process, which does not call functions registered with atexit.
        Finalize(None, provider.shutdown, exitpriority=5)
    return provider


def stop_tracing() -> None:
    global _tracer, _stop_watching
    if _stop_watching is not None:
        _stop_watching()
    _tracer = _stop_watching = None


class TracingMiddleware(Middleware):
    """Records a span for each request, in the trace of the caller if the request names one."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if _tracer is None:
            start_tracing()
        assert _tracer is not None  # noqa: S101  started above
        context = propagate.extract(
            {name: request.headers.get(name, "") for name in propagate.get_global_textmap().fields}
        )
        method = request.method if request.method in METHODS else "_OTHER"
        attributes = {"http.request.method": str(method), "repository.request_id": getattr(request, "request_id", "")}
        with _tracer.start_as_current_span(str(method), context, SpanKind.SERVER, attributes) as span:
            structlog.contextvars.bind_contextvars(trace_id=f"{span.get_span_context().trace_id:032x}")
            response = self.get_response(request)
            operation = operation_name(request)
            span.update_name(f"{method} {operation}")
            span.set_attribute("repository.operation", operation)
            span.set_attribute("http.response.status_code", response.status_code)
            storage = getattr(request, "storage", None)
            if settings.METRICS_STORAGES and storage is not None:
                span.set_attribute("repository.storage", str(storage))
            if response.status_code >= 500:
                span.set_status(Status(StatusCode.ERROR))
        return response


def _note_trip(kind: str, statements: Sequence[str], started: float, problem: BaseException | None) -> None:
    """Record a span for a trip to the database, with statements but without values. Only inside requests."""
    if _tracer is None or not statements or not trace.get_current_span().is_recording():
        return
    now = time.time_ns()
    began = now - round((time.perf_counter() - started) * 1e9)
    attributes: dict[str, Any] = {"db.system.name": "postgresql", "db.query.text": ";\n".join(statements)}
    if len(statements) > 1:
        attributes["db.operation.batch.size"] = len(statements)
    name = statements[0].split(maxsplit=1)[0].upper() if statements[0].strip() else "database"
    span = _tracer.start_span(name, kind=SpanKind.CLIENT, attributes=attributes, start_time=began)
    if problem is not None:
        span.set_attribute("error.type", type(problem).__name__)
        span.set_status(Status(StatusCode.ERROR))
    span.end(now)
