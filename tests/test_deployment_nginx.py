"""The example configuration of nginx, in front of a server that reports its requests."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.deployment_programs import FILES, program, run
from tests.server_process import free_port

HOST = "repository.example.org"
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


@dataclass(frozen=True, slots=True)
class Proxy:
    plain: int
    tls: int
    certificate: Path

    def get(self, path: str, *, plain: bool = False, length: int = 0) -> tuple[http.client.HTTPResponse, str]:
        if plain:
            connection = http.client.HTTPConnection("127.0.0.1", self.plain, timeout=10)
        else:
            context = ssl.create_default_context(cafile=self.certificate)
            context.check_hostname = False  # it is reached by its address
            connection = http.client.HTTPSConnection("127.0.0.1", self.tls, timeout=10, context=context)
        announced = {"Content-Length": str(length)} if length else {}
        with contextlib.closing(connection):
            connection.request("GET", path, headers={"Host": HOST, **LIES, **announced})
            response = connection.getresponse()
            return response, response.read().decode()


@pytest.fixture(scope="module")
def behind() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Behind) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def proxy(behind: ThreadingHTTPServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    nginx, openssl, folder = program("nginx"), program("openssl"), tmp_path_factory.mktemp("nginx")
    made = Proxy(free_port(), free_port(), folder / "fullchain.pem")
    run(
        openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
        "-subj", f"/CN={HOST}", "-keyout", str(folder / "key.pem"), "-out", str(made.certificate),
    )  # fmt: skip
    shutil.copy(FILES / "nginx-proxy.conf", folder / "repository-proxy.conf")
    site = (FILES / "nginx.conf").read_text(encoding="utf-8")
    for there, here in {
        "/etc/ssl/repository": str(folder),
        "/etc/nginx": str(folder),
        "server 127.0.0.1:8000;": f"server 127.0.0.1:{behind.server_port};",
        "    listen [::]:80;\n": "",
        "    listen [::]:443 ssl http2;\n": "",
        "listen 80;": f"listen 127.0.0.1:{made.plain};",
        "listen 443 ssl http2;": f"listen 127.0.0.1:{made.tls} ssl http2;",
    }.items():
        assert there in site
        site = site.replace(there, here)
    kept = " ".join(
        f"{name}_temp_path {folder}/{name};" for name in ("proxy", "fastcgi", "uwsgi", "scgi", "client_body")
    )
    account = "user root;" if os.geteuid() == 0 else ""
    whole = folder / "nginx.conf"
    whole.write_text(
        f"{account} daemon off; pid {folder}/pid; error_log stderr; events {{}} http {{ access_log off; {kept} {site} }}"
    )
    process = subprocess.Popen([nginx, "-p", str(folder), "-c", str(whole)], stderr=subprocess.PIPE, text=True)
    try:
        _wait_for(made, process)
        yield made
    finally:
        process.terminate()
        process.communicate(timeout=10)


def _wait_for(proxy: Proxy, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 10
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(ConnectionRefusedError):
            proxy.get("/", plain=True)
            return
        time.sleep(0.01)
    process.terminate()
    raise AssertionError(process.communicate(timeout=10)[1])


def test_headers_about_the_client(proxy: Proxy) -> None:
    response, body = proxy.get("/acme/handbook/?q=a%2Fb")
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
    response, _ = proxy.get("/acme/handbook/?x=1", plain=True)
    assert (response.status, response.getheader("Location")) == (301, f"https://{HOST}/acme/handbook/?x=1")
    message = "This service requires https. Send the request to an https address."
    for length in (0, 50 * 1024 * 1024):
        response, body = proxy.get(API, plain=True, length=length)
        assert (response.status, response.getheader("Content-Type")) == (400, "application/json")
        assert json.loads(body) == {
            "message": message, "output": "volatile", "type": "error", "data": [{"error": message}]
        }  # fmt: skip


@pytest.mark.parametrize("path", ["/metrics", "/metrics?x", "/%6detrics", "//metrics", "/a/../metrics"])
def test_metrics_are_not_passed_on(proxy: Proxy, path: str) -> None:
    response, body = proxy.get(path)
    assert response.status == 404
    assert "path" not in body


def test_a_body_that_is_too_large(proxy: Proxy) -> None:
    """It is refused before any of it is sent."""
    response, body = proxy.get(API, length=12 * 1024 * 1024)
    assert (response.status, response.getheader("Content-Type")) == (413, "application/json")
    assert json.loads(body)["message"] == "The request body is too large."


def test_an_unreachable_server(proxy: Proxy) -> None:
    response, body = proxy.get(AWAY)
    assert (response.status, response.getheader("Retry-After")) == (502, "5")
    answer = json.loads(body)
    assert answer == {
        "message": "The server does not respond. Check whether the change was made before you send it again.",
        "output": "volatile",
        "type": "error",
        "data": [{"error": answer["message"]}],
    }
