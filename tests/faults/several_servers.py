"""Two `manage.py serve`, as on two machines: with data folders of their own, one database and one secret key."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.elements.handbook import write_lines
from tests.faults.installation import FILL, STORAGE, template
from tests.postgres_nodes import PostgresNode
from tests.server_process import Server, free_port

SECRET_KEY = "a key that only the servers of this test have in common: 4711 0815"
WORKERS = 1
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class ServerReply:
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content) if self.content else None


class SeveralServers:
    """Two servers on one database, and a token of an architect in acme/handbook."""

    def __init__(self, folder: Path, **environ: str) -> None:
        self.folder = folder
        self.primary = PostgresNode(folder / "primary")
        self.servers: list[Server] = []
        for number in range(2):
            place = folder / f"server{number}"
            place.mkdir()
            server = Server(place / "var", free_port())
            server.environ |= {
                "DATABASE_URL": self.primary.url,
                "REPOSITORY_SECRET_KEY": SECRET_KEY,
                "REPOSITORY_BODY_LIMIT": "10000000",
                "REPOSITORY_POOL_SIZE": "4",
                "REPOSITORY_STORAGE_BUDGET": "off",
                "REPOSITORY_CALLER_BUDGET": "off",
                **environ,
            }
            self.servers.append(server)
        self.token = ""
        self.headers: dict[str, str] = {}
        """Headers of the proxy, for requests that do not pass it."""

    def start(self) -> None:
        """Start both servers at once on an empty database: one of them migrates it."""
        self.primary.create()
        for server in self.servers:
            server.launch("serve", "--workers", str(WORKERS))
        for server in self.servers:
            server.wait_until_ready()
        (self.folder / "template.json").write_text(json.dumps(template()))
        for collection, rename in (("acme", ""), ("rival", "Rival ")):
            write_lines(self.folder / f"{collection}.ndjson", rename)
        self.token, _ = self.shell(FILL.replace("FOLDER", str(self.folder))).split()

    def manage(self, *words: str, at: int = 0) -> str:
        done = self.servers[at].manage(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def shell(self, code: str, at: int = 0) -> str:
        return self.manage("shell", "--no-imports", "-c", code, at=at)

    def connect(self, at: int) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.servers[at].port, timeout=60)

    def call(self, at: int, method: str, path: str, body: Any = None, **headers: str) -> ServerReply:
        """Send a request to one of the servers, with the token unless another one is given."""
        given = {**self.headers, "Authorization": f"Bearer {self.token}", **named(headers)}
        return send(self.connect(at), method, path, body, {name: value for name, value in given.items() if value})

    def end(self) -> None:
        for server in self.servers:
            server.kill()
        self.primary.stop()


def named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def send(
    connection: http.client.HTTPConnection, method: str, path: str, body: Any, headers: dict[str, str]
) -> ServerReply:
    try:
        content = body if body is None or isinstance(body, str) else json.dumps(body)
        connection.request(method, path, content, {"Content-Type": JSON, **headers})
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return ServerReply(response.status, found, response.read())
    finally:
        connection.close()


API = f"{STORAGE}/_api"
