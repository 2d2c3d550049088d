"""Traces: a span for each request in the trace of the caller, statements without values, and no import by default."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pytest_django import Settings as ChangedSettings

from repository_site.core.environment import PROJECT_DIR
from repository_site.operations import tracing
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.factories import token_for

pytestmark = pytest.mark.django_db
INFO = "/acme/handbook/_api/rest/info"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture(autouse=True)
def traced(settings: ChangedSettings) -> Iterator[None]:
    after_log = settings.MIDDLEWARE.index("repository_site.core.middleware.RequestLogMiddleware") + 1
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE[:after_log],
        "repository_site.operations.tracing.TracingMiddleware",
        *settings.MIDDLEWARE[after_log:],
    ]
    yield
    tracing.stop_tracing()


@pytest.fixture
def spans() -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    tracing.start_tracing(SimpleSpanProcessor(exporter))
    return exporter


def ask(api: ApiClient, storage: Storage) -> str:
    token = token_for(storage, Role.VIEWER)
    headers = {"authorization": f"Bearer {token}", "traceparent": f"00-{TRACE}-{PARENT}-01", "x-request-id": "mine"}
    assert api.get(INFO, headers=headers).status_code == 200
    return token


def test_a_span_in_the_trace_of_the_caller(api: ApiClient, storage: Storage, spans: InMemorySpanExporter) -> None:
    token = ask(api, storage)
    *statements, request = spans.get_finished_spans()
    assert request.name == "GET getStorageInfo"
    assert request.attributes == {
        "http.request.method": "GET",
        "http.response.status_code": 200,
        "repository.operation": "getStorageInfo",
        "repository.request_id": "mine",
    }
    assert request.parent is not None
    assert (f"{request.context.trace_id:032x}", f"{request.parent.span_id:016x}") == (TRACE, PARENT)
    assert statements
    for each in statements:
        assert each.parent is not None
        assert each.parent.span_id == request.context.span_id
        assert each.attributes is not None
        text = str(each.attributes["db.query.text"])
        assert "SELECT" in text or "SAVEPOINT" in text or "UPDATE" in text or "SET LOCAL" in text
        for value in (token, str(storage.id), "handbook", "acme"):
            assert value not in text


def test_storages_are_named_only_when_that_is_set(
    api: ApiClient, storage: Storage, spans: InMemorySpanExporter, settings: ChangedSettings
) -> None:
    ask(api, storage)
    assert "handbook" not in "".join(each.to_json() for each in spans.get_finished_spans())
    settings.METRICS_STORAGES = True
    ask(api, storage)
    attributes = spans.get_finished_spans()[-1].attributes
    assert attributes is not None
    assert attributes["repository.storage"] == "acme/handbook"


@pytest.mark.long
def test_spans_are_sent_as_otlp(api: ApiClient, storage: Storage) -> None:
    received: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *words: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            exporter = OTLPSpanExporter(f"http://127.0.0.1:{server.server_port}/v1/traces")
            provider = tracing.start_tracing(SimpleSpanProcessor(exporter))
            ask(api, storage)
            provider.shutdown()
        finally:
            server.shutdown()
            thread.join()
    found = [ExportTraceServiceRequest.FromString(body).resource_spans[0] for body in received]
    names = [each.scope_spans[0].spans[0].name for each in found]
    assert names[-1] == "GET getStorageInfo"
    about = {each.key: each.value.string_value for each in found[-1].resource.attributes}
    assert about["service.name"] == "content-repository"


@pytest.mark.long
@pytest.mark.parametrize(("endpoint", "imported"), [("", "False"), ("http://127.0.0.1:9", "True")])
def test_opentelemetry_is_imported_only_with_an_endpoint(endpoint: str, imported: str) -> None:
    program = (
        "import sys, django; django.setup(); from django.core.handlers.wsgi import WSGIHandler; WSGIHandler();"
        "print(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    environ = {
        **os.environ,
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "DJANGO_SETTINGS_MODULE": "repository_site.settings",
    }
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=PROJECT_DIR,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert result.stdout.strip() == imported
