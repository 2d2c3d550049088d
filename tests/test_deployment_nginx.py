"""The example configuration of nginx, in front of a server that reports its requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.client import HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.nginx_process import HOST, Proxy, running_nginx

pytestmark = pytest.mark.long
API = "/acme/handbook/_api/rest/info"
AWAY = "/acme/away/_api/rest/info"
"""Path at which the server closes the connection without a response."""
# Headers of a client that must not be trusted.
LIES = {"X-Forwarded-For": "1.2.3.4", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example"}


class Behind(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == AWAY:
            self.close_connection = True
            return
        seen = {name: self.headers[name] for name in ("Host", *LIES)}
        body = json.dumps({"path": self.path, **seen}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log."""


@pytest.fixture(scope="module")
def behind() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Behind) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def proxy(behind: ThreadingHTTPServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with running_nginx(tmp_path_factory.mktemp("nginx"), [behind.server_port]) as made:
        yield made


def get(proxy: Proxy, path: str, *, plain: bool = False, length: int = 0) -> tuple[HTTPResponse, str]:
    return proxy.get(path, plain=plain, length=length, headers=LIES)


def test_headers_about_the_client(proxy: Proxy) -> None:
    response, body = get(proxy, "/acme/handbook/?q=a%2Fb")
    assert (response.status, response.getheader("Server")) == (200, "nginx")
    assert json.loads(body) == {
        "path": "/acme/handbook/?q=a%2Fb",
        "Host": HOST,
        "X-Forwarded-For": "127.0.0.1",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Host": HOST,
    }


def test_plain_http(proxy: Proxy) -> None:
    """Pages are redirected; calls to the API are refused as by the server, whatever the size of their body."""
    response, _ = get(proxy, "/acme/handbook/?x=1", plain=True)
    assert (response.status, response.getheader("Location")) == (301, f"https://{HOST}/acme/handbook/?x=1")
    message = "This service requires https. Send the request to an https address."
    for length in (0, 50 * 1024 * 1024):
        response, body = get(proxy, API, plain=True, length=length)
        assert (response.status, response.getheader("Content-Type")) == (400, "application/json")
        assert json.loads(body) == {
            "message": message, "output": "volatile", "type": "error", "data": [{"error": message}]
        }  # fmt: skip


@pytest.mark.parametrize("path", ["/metrics", "/metrics?x", "/%6detrics", "//metrics", "/a/../metrics"])
def test_metrics_are_not_passed_on(proxy: Proxy, path: str) -> None:
    response, body = get(proxy, path)
    assert response.status == 404
    assert "path" not in body


def test_a_body_that_is_too_large(proxy: Proxy) -> None:
    """It is refused before any of it is sent."""
    response, body = get(proxy, API, length=12 * 1024 * 1024)
    assert (response.status, response.getheader("Content-Type")) == (413, "application/json")
    assert json.loads(body)["message"] == "The request body is too large."


def test_an_unreachable_server(proxy: Proxy) -> None:
    response, body = get(proxy, AWAY)
    assert (response.status, response.getheader("Retry-After")) == (502, "5")
    answer = json.loads(body)
    assert answer == {
        "message": "The server does not respond. Check whether the change was made before you send it again.",
        "output": "volatile",
        "type": "error",
        "data": [{"error": answer["message"]}],
    }
