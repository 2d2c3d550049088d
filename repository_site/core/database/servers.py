"""Availability of the PostgreSQL servers that the settings name: each is asked over a connection of its own, in bounded
time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoAnswer
from dataclasses import dataclass
from typing import Any

from django.db import connections
from psycopg import Connection, Error

# Seconds that a server has to accept a connection (the driver waits no less), and that all have to answer.
CONNECT_SECONDS, ANSWER_SECONDS = 2, 3.0
DEFAULT_PORT = "5432"
LOCAL = "localhost"


@dataclass(frozen=True, slots=True)
class ServerState:
    host: str
    port: int
    is_standby: bool | None = None
    """None if the server does not answer."""
    problem: str = ""
    """Why the server does not answer."""


def server_states(alias: str) -> list[ServerState]:
    """Ask all servers of a database at the same time. An address can name several, for a fail-over."""
    parameters = connections[alias].get_connection_params()
    servers = list(_servers(parameters))
    threads = ThreadPoolExecutor(len(servers))
    asked = [threads.submit(_ask, parameters, host, port) for host, port in servers]
    end = time.monotonic() + ANSWER_SECONDS
    found = [_state(host, port, each, end) for (host, port), each in zip(servers, asked, strict=True)]
    # Looking up a name can take longer than a connection. Nothing waits for that.
    threads.shutdown(wait=False)
    return found


def _servers(parameters: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield hosts and ports. As in libpq, one port is for all hosts."""
    hosts = str(parameters.get("host") or "").split(",")
    ports = [port or DEFAULT_PORT for port in str(parameters.get("port") or "").split(",")]
    for place, host in enumerate(hosts):
        yield host, ports[place] if len(ports) > 1 else ports[0]


def _ask(parameters: dict[str, Any], host: str, port: str) -> bool:
    own = {"host": host, "port": port, "connect_timeout": CONNECT_SECONDS, "target_session_attrs": "any"}
    with Connection.connect(**{**parameters, **own, "autocommit": True}) as connection:
        row = connection.execute("SELECT pg_is_in_recovery()").fetchone()
        return row is not None and bool(row[0])


def _state(host: str, port: str, answer: Future[bool], end: float) -> ServerState:
    place = LOCAL if host == "" or host.startswith(("/", "@")) else host, int(port)
    try:
        return ServerState(*place, answer.result(max(0.0, end - time.monotonic())))
    except NoAnswer:
        return ServerState(*place, problem=f"no answer within {ANSWER_SECONDS:.0f} seconds")
    except Error as problem:
        return ServerState(*place, problem=" ".join(str(problem).split()))
