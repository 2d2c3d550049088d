"""A part of `make attack`: valid and invalid requests to every operation, by all callers in turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attack.attack import AGENT, CALLERS, OUTSIDERS, OWN, Battlefield, prepare
from tests.server_process import DataFolders, free_port

pytestmark = [pytest.mark.server, pytest.mark.long]


@pytest.fixture(scope="module")
def battlefield(tmp_path_factory: pytest.TempPathFactory, data_folders: DataFolders) -> Iterator[Battlefield]:
    server = prepare(tmp_path_factory.mktemp("attack"), free_port())
    data_folders.copy(server.data_dir, "migrate")
    server.start("serve", "--workers", "2")
    try:
        yield Battlefield(server)
    finally:
        server.kill()


def test_requests_at_random_and_those_that_follow_from_others(battlefield: Battlefield) -> None:
    outcome = battlefield.attack(CALLERS, "examples,fuzzing,stateful", 2)
    # In a comparison, pytest would cut what the attack tells.
    assert not outcome.told, outcome.told
    assert outcome.wrong == 0
    assert outcome.cases > 200


@pytest.mark.parametrize("caller", [*CALLERS, AGENT])
def test_messages_of_agents(battlefield: Battlefield, caller: str) -> None:
    """Every tool and method, with existing, foreign and hostile arguments."""
    numbers, wrong = battlefield.send_messages(caller, 8)
    assert wrong == []
    expected = 401 if caller in OUTSIDERS else 200
    assert numbers[expected] > numbers.total() / 2


def test_reads_of_the_past_comparisons_and_compatible_paths(battlefield: Battlefield) -> None:
    names = (
        "compareElement",
        "compareStorage",
        "queryElements",
        "listReport",
        "getReport",
        "listDataElements",
        "getDataElement",
    )
    only = [word for each in names for word in ("--include-operation-id", each)]
    outcome = battlefield.attack(CALLERS, "fuzzing", 10, *only, "--seed", "1")
    # In a comparison, pytest would cut what the attack tells.
    assert not outcome.told, outcome.told
    assert outcome.wrong == 0


def test_preflight_requests_allow_nothing(battlefield: Battlefield) -> None:
    assert battlefield.preflights() == []


def test_an_id_that_must_not_be_there_is_noticed(battlefield: Battlefield) -> None:
    """Swap the storages: the lists then contain ids that must be reported."""
    only = ("--include-operation-id", "listElements", "--seed", "1")
    outcome = battlefield.attack(["anonymous", "viewer"], "fuzzing", 30, *only, forbidden=OWN)
    assert f"{OWN} of another storage stands in the answer." in outcome.told
    assert outcome.wrong > 0
