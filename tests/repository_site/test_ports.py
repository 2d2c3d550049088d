"""Ports that are in use: the message proposes one that is free."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from repository_site.core import ports
from repository_site.core.ports import Bind, main, suggest_port

HOST = "127.0.0.1"


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Two neighbouring ports that are in use. The first is the one that is usually proposed."""
    with ExitStack() as stack:
        while True:
            first = stack.enter_context(socket.socket())
            second = stack.enter_context(socket.socket())
            first.bind((HOST, 0))
            port: int = first.getsockname()[1]
            try:
                second.bind((HOST, port + 1))
            except (OSError, OverflowError):
                continue
            first.listen()
            second.listen()
            monkeypatch.setattr(ports, "SUGGESTED_PORT", port)
            yield port
            return


def test_a_free_port_is_proposed(taken: int) -> None:
    suggested = suggest_port(HOST)
    assert suggested >= taken + 2
    with socket.socket() as probe:
        probe.bind((HOST, suggested))


def test_make_names_the_call_with_the_free_port(taken: int) -> None:
    with pytest.raises(SystemExit) as caught:
        main(str(taken), "PORT={port} make demo")
    assert str(caught.value) == (
        f"error: Port {taken} is in use. Stop the process that uses this port, or choose another:"
        f" PORT={suggest_port(HOST)} make demo"
    )
    with pytest.raises(SystemExit) as caught:
        main("http", "PORT={port} make demo")
    assert str(caught.value) == (
        f"error: PORT=http: expected a number from 1 to 65535, such as: PORT={suggest_port(HOST)} make demo"
    )


@pytest.mark.parametrize(
    ("bind", "text"), [(Bind("::1", 80), "[::1]:80"), (Bind("example.org", 8000), "example.org:8000")]
)
def test_addresses_as_text(bind: Bind, text: str) -> None:
    assert (str(bind), bind.url) == (text, f"http://{text}")
    assert Bind.argument(text) == bind
