"""Every read operation and page agrees with a plain evaluation of the rules of permission sets (D491)."""

from __future__ import annotations

import random

import pytest

from storage.models import Storage
from storage.options import Role
from tests.release.house import ID, MakeClient
from tests.release.limited_reads import LimitedReads, RandomSets
from tests.scale import scaled

pytestmark = [pytest.mark.django_db, pytest.mark.long]
CALLERS = [("anna", Role.EDITOR), ("ben", Role.APPROVER), ("vera", Role.VIEWER), ("dora", Role.APPROVER)]
# Quick tests read a part.
SOME = 40
SEEDS = range(1, 2 + scaled(36))


@pytest.mark.parametrize("seed", SEEDS)
def test_hidden_elements_are_as_if_deleted(house: Storage, desk: MakeClient, seed: int) -> None:
    pick = random.Random(seed)
    sets, (user, role) = RandomSets(pick), pick.choice(CALLERS)
    reads = LimitedReads(house, desk, user, role)
    if seed == 1:
        reads.choose(pick, SOME)
    expected = reads.expected(sets)
    sets.write(house)
    found = reads.read()
    for address, answer in expected.items():
        assert found[address] == answer, (sets, user, role, address)
    assert sum(status == 200 for status, _ in found.values()) > SOME / 4, "too little was read"


@pytest.mark.parametrize("seed", SEEDS)
def test_no_response_names_what_facets_hide(house: Storage, desk: MakeClient, seed: int) -> None:
    pick = random.Random(-seed)
    sets, (user, role) = RandomSets(pick, with_facets=True), pick.choice(CALLERS)
    sets.write(house)
    reads = LimitedReads(house, desk, user, role)
    if seed == 1:
        reads.choose(pick, SOME)
    hidden = {ID[name] for name in reads.hidden(sets)} - {ID[user]}
    for address, (_status, text) in reads.read().items():
        told = {each for each in hidden if each in text.replace(address, "") and each not in address}
        assert not told, (sets, user, role, address)
