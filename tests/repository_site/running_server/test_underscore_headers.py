"""Headers with underscores never reach the application (D209): a real server, with requests as bytes."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from typing import Any

import pytest

from repository_site.operations.wsgi_worker import Gateway, environment_of
from tests.repository_site.request_scopes import scope
from tests.server_process import Server

INFO = "/demo/showcase/_api/rest/info"


def send(server: Server, *lines: str, method: str = "GET", path: str = INFO, body: str = "") -> tuple[int, Any, str]:
    """Send a request as bytes; return status, body and the log line of the request."""
    head = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", "Connection: close", *lines]
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(("\r\n".join(head) + "\r\n\r\n" + body).encode())
        answer = b""
        while piece := client.recv(65536):
            answer += piece
    headers, _, content = answer.partition(b"\r\n\r\n")
    return int(headers.split()[1]), json.loads(content) if content else None, headers.decode()


@pytest.mark.long
@pytest.mark.server
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_client_cannot_replace_headers_of_the_proxy(server: Server, order: tuple[int, int]) -> None:
    lines = ("X-Forwarded-Host: real.example", "X_Forwarded_Host: fake.example")
    _, info, _ = send(server, *(lines[each] for each in order))
    assert info["apiUrl"] == "http://real.example/demo/showcase/_api/"
    _, info, _ = send(server, "X_Forwarded_Host: fake.example", "X-Forwarded_Host: fake.example")
    assert info["apiUrl"] == f"http://127.0.0.1:{server.port}/demo/showcase/_api/"


@pytest.mark.long
@pytest.mark.server
def test_the_address_of_a_client_cannot_be_forged(server: Server) -> None:
    """Requests with wrong tokens are throttled by address; another spelling must not choose the address."""
    wrong = "Authorization: Bearer crt_wrong"
    for number in range(200):
        lines = ("X-Forwarded-For: 192.0.2.1", f"X_Forwarded_For: 198.51.100.{number}")
        status, _, _ = send(server, wrong, *lines[:: 1 if number % 2 else -1])
        if status == 429:
            break
    assert status == 429


@pytest.mark.long
@pytest.mark.server
def test_other_headers_with_underscores_are_ignored(server: Server) -> None:
    # An invalid token would get 401.
    assert send(server, "Symbio_Auth_Token: crt_wrong")[0] == 200
    assert send(server, "symbio-auth_token: crt_wrong")[0] == 200
    assert send(server, "symbio-auth-token: crt_wrong")[0] == 401
    assert send(server, "X_Request_Id: chosen")[2].count("chosen") == 0
    assert send(server, "Content_Length: 5", "Transfer_Encoding: chunked", "Content_Type: text/plain")[0] == 200
    elements = "/demo/showcase/_api/rest/facets/tags/views/list/elements?$pageSize=1"
    tag = next(
        line.partition(" ")[2]
        for line in send(server, path=elements)[2].split("\r\n")
        if line.lower().startswith("etag")
    )
    assert send(server, f"If_None_Match: {tag}", path=elements)[0] == 200
    assert send(server, f"If-None-Match: {tag}", path=elements)[0] == 304


def test_variables_of_the_process_are_no_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_IF_NONE_MATCH", "*")
    loop = asyncio.new_event_loop()
    assert not Gateway(lambda environ, start: [], loop).basic_environment.keys() & os.environ.keys()
    loop.close()


def test_the_environment_of_a_request() -> None:
    headers = [
        (b"host", b"example.com"), (b"content-type", b"text/plain"), (b"content-length", b"3"), (b"accept", b"a"),
        (b"accept", b"b"), (b"cookie", b"a=1"), (b"cookie", b"b=2"), (b"x-odd", "ü".encode()), (b"x_odd", b"2"),
    ]  # fmt: skip
    assert environment_of(scope(*headers)) == {
        "SERVER_PROTOCOL": "HTTP/1.1", "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "8000", "REMOTE_ADDR": "192.0.2.1",
        "REQUEST_METHOD": "GET", "PATH_INFO": "/a b/Ã¼", "QUERY_STRING": "x=%20", "wsgi.url_scheme": "http",
        "HTTP_HOST": "example.com", "CONTENT_TYPE": "text/plain", "CONTENT_LENGTH": "3", "HTTP_ACCEPT": "a,b",
        "HTTP_COOKIE": "a=1;b=2", "HTTP_X_ODD": "",
    }  # fmt: skip
