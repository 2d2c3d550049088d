"""Problems that only the content of the storage shows refuse the elements that have them, and no others (D471)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from elements.bulk.steps import Refusals, in_parts
from elements.reading.bounds import TooHeavy
from tests.release.bulk.bulk_calls import bulk, numbers, reasons
from tests.release.house import ID, HouseClient

pytestmark = [pytest.mark.django_db, pytest.mark.on_cluster]
NOTHING = "00000000-0000-4000-8000-00000000ffff"


def make(client: HouseClient, *names: str, parent: str = ID["house"]) -> list[str]:
    body = [
        {"type": "subProcess", "attributes": {"name": {"1033": name}}, "rootPath": [{"id": parent}]} for name in names
    ]
    return [each["id"] for each in client.update(*body).json()["elements"]]


def test_an_unknown_file_refuses_each_element(caller: HouseClient) -> None:
    operation = {"set": {"attributes": {"workshopImages": {"127": [{"id": NOTHING}]}}}}
    report = bulk(caller, operation, ids=[ID["inProcess"], ID["released"]])
    text = f"workshopImages: there is no file {NOTHING} in this storage; upload it first."
    assert reasons(report) == {"inProcess": [text], "released": [text]}


def test_a_full_parent_refuses_each_new_child(caller: HouseClient, settings: Any) -> None:
    made = make(caller, "Ash", "Beech", "Cedar")
    bulk(caller, {"move": {"parent": made[2]}}, ids=made[:1])
    settings.MAX_CHILDREN = 1
    report = bulk(caller, {"move": {"parent": made[2]}}, ids=[*made[:2], ID["inProcess"]])
    text = "rootPath: 3 children; the installation allows 1 for an element."
    assert numbers(report) == (0, 1, 2)
    assert reasons(report) == {made[1]: [text], "inProcess": [text]}


def test_steps_are_taken_in_parts_that_fit_into_memory() -> None:
    def take(few: Sequence[int]) -> Refusals:
        if len(few) > 2 or 3 in few:
            raise TooHeavy
        return {str(each): ["taken"] for each in few}

    found = list(in_parts(range(5), take, lambda each, texts: {str(each): texts}))
    merged = {name: texts for part in found for name, texts in part.items()}
    assert [*merged] == ["0", "1", "2", "3", "4"]
    assert merged["2"] == merged["4"] == ["taken"]
    assert "too large" in merged["3"][0]
