"""Positions in bulk moves (D477): elements are placed together, in the order of the selection."""

from __future__ import annotations

from typing import Any

import pytest

from elements.bulk import runs
from storage.models import Storage
from tests.jobs import run_jobs
from tests.release.bulk.bulk_calls import BULK, bulk, numbers, reasons, report_of
from tests.release.house import ID, HouseClient, error

pytestmark = [pytest.mark.django_db, pytest.mark.on_cluster]
CHILDREN = f"rest/facets/processes/views/detail/elements/{ID['inProcess']}/children"


class Nursery:
    """A parent with the children a, b and c, and the elements x, y and z elsewhere."""

    def __init__(self, client: HouseClient) -> None:
        self.client = client
        self.ids = {
            **dict(zip("abc", self._make("inProcess", "abc"), strict=True)),
            **dict(zip("xyz", self._make("house", "xyz"), strict=True)),
        }

    def _make(self, parent: str, names: str) -> list[str]:
        body = [
            {"type": "subProcess", "attributes": {"name": {"1033": name}}, "rootPath": [{"id": ID[parent]}]}
            for name in names
        ]
        return [each["id"] for each in self.client.update(*body).json()["elements"]]

    def move(self, names: str, position: Any, **more: Any) -> dict[str, Any]:
        operation = {"move": {"parent": ID["inProcess"], "position": position}}
        return bulk(self.client, operation, ids=[self.ids[each] for each in names], **more)

    @property
    def order(self) -> str:
        names = {id: name for name, id in self.ids.items()}
        return "".join(names[each["id"]] for each in self.client.get(CHILDREN).json()["elements"])


@pytest.fixture
def nursery(caller: HouseClient) -> Nursery:
    return Nursery(caller)


@pytest.mark.parametrize("is_large", [False, True])
def test_elements_are_placed_together(
    nursery: Nursery, house: Storage, monkeypatch: pytest.MonkeyPatch, is_large: bool
) -> None:
    if is_large:
        monkeypatch.setattr(runs, "SMALL", 1)
        monkeypatch.setattr(runs, "BATCH", 1)
    ids = nursery.ids
    for names, position, expected in (
        ("xy", 1, "axybc"),
        ("yx", 0, "yxabc"),
        ("bx", {"after": ids["a"].upper()}, "yabxc"),
        ("cay", {"before": ids["x"]}, "bcayx"),
        ("zb", 99, "cayxzb"),
    ):
        nursery.move(names, position, status=202 if is_large else 200)
        run_jobs()
        assert nursery.order == expected


def test_an_element_that_has_its_place_is_left_alone(nursery: Nursery) -> None:
    assert numbers(nursery.move("ab", 0)) == (0, 2, 0)
    assert numbers(nursery.move("xb", 1)) == (2, 0, 0)
    assert nursery.order == "axbc"


def test_a_preview_moves_nothing_and_shows_the_sibling(nursery: Nursery) -> None:
    report = nursery.move("xy", 1, dryRun=True)
    assert numbers(report) == (2, 0, 0)
    assert report["operations"][0]["move"]["position"] == {"before": nursery.ids["b"]}
    assert nursery.order == "abc"


def test_strangers_are_not_siblings(nursery: Nursery) -> None:
    text = "operations[0]: move: position: {} is not a sibling; name another child of the same parent, or a number."
    for sibling in ("x", "z"):
        operation = {"move": {"parent": ID["inProcess"], "position": {"after": nursery.ids[sibling]}}}
        body = {"ids": [nursery.ids["x"]], "operations": [operation]}
        status, _, _, problems = error(nursery.client.post(BULK, body))
        assert (status, problems) == (422, [text.format(nursery.ids[sibling])])


def test_a_sibling_that_moves_away_refuses_the_rest(
    nursery: Nursery, house: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "SMALL", 1)
    monkeypatch.setattr(runs, "BATCH", 1)
    report = nursery.move("xy", {"before": nursery.ids["b"]}, status=202)
    assert runs._next_batch(house, report["id"])
    nursery.client.update({"id": nursery.ids["b"], "rootPath": [{"id": ID["house"]}]})
    run_jobs()
    found = report_of(nursery.client, report["id"])
    assert numbers(found) == (1, 0, 1)
    text = f"position: {nursery.ids['b']} is not a sibling; name another child of the same parent, or a number."
    assert reasons(found) == {nursery.ids["y"]: [text]}
    assert nursery.order == "axc"
