"""A part of `make attack` with every run: every operation gets its share of wrong and right requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attack.attack import Battlefield, prepare
from tests.server_process import free_port

pytestmark = [pytest.mark.server, pytest.mark.long]


@pytest.fixture(scope="module")
def battlefield(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Battlefield]:
    server = prepare(tmp_path_factory.mktemp("attack"), free_port())
    server.start("serve", "--workers", "2")
    try:
        yield Battlefield(server)
    finally:
        if server.process is not None and server.process.poll() is None:
            server.process.kill()
            server.process.wait(10)
    server.wait_until_nothing_is_left()


@pytest.mark.parametrize("caller", ["administrator", "stranger"])
def test_every_kind_of_request(battlefield: Battlefield, caller: str) -> None:
    """Each constraint of the document kept and broken in turn."""
    outcome = battlefield.attack(caller, "examples,coverage", 1)
    assert outcome.failures == []
    assert outcome.cases > 1_000
