"""Differences between two versions of an element as data (D568)."""

from __future__ import annotations

from typing import Any

import pytest

from elements.models import ShapeFlow
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.element_parts import part, refused
from tests.elements.handbook import HTML, ID, IMAGE, NO_END, wire
from tests.factories import token_for

pytestmark = pytest.mark.django_db


@pytest.fixture
def editor(handbook: Storage) -> str:
    return token_for(handbook, Role.EDITOR)


def compare(element: str, query: str) -> str:
    return part(element, f"compare?{query}")


def named(name: str, english: str, german: str = "", **more: Any) -> Any:
    names = {"1031": german, "1033": english} if german else {"1033": english}
    return {**wire(name), "attributes": {"name": names, **more}}


def shape(name: str, shown: Any) -> Any:
    return {"properties": {"shapeId": ID[name]}, **shown}


ANNA = named("anna", "Anna Berg")
CHECK_2 = shape("shape-check-2", wire("check-2"))
SHIP, INVOICE = (shape(f"shape-{each}-2", wire(f"{each}-1")) for each in ("ship", "invoice"))
FROM_2_TO_3 = {
    "from": named("order-2", "Handle order", "Auftrag\nabwickeln", version={"127": "2.0"}),
    "to": named("order-3", "Handle every order", version={"127": "2.1"}),
    "state": {"from": "released", "to": "inProcess"},
    "attributes": {
        "cost": {"127": {"from": 12345678901234567890.125, "to": None}},
        "count": {"127": {"from": 3, "to": None}},
        "description": {"1033": {"from": f"{HTML}<p>From order to invoice.</p>", "to": None}},
        "dueDate": {"127": {"from": "2026-12-31", "to": None}},
        "images": {"127": {"from": [IMAGE], "to": None}},
        "name": {
            "1031": {"from": "Auftrag\nabwickeln", "to": None},
            "1033": {"from": "Handle order", "to": "Handle every order"},
        },
        "scope": {"1033": {"from": "Whole company", "to": None}},
        "validFrom": {"127": {"from": "2026-02-20T00:00:00", "to": None}},
    },
    "references": {
        "author": {"added": [ANNA]},
        "owner": {"removed": [ANNA]},
        "systems": {"removed": [named("crm-1", "CRM"), named("old-1", "Old system")]},
    },
    "shapes": {
        "changed": [
            {
                "from": shape("shape-check-2", named("check-2", "Check", "Prüfen")),
                "to": shape("shape-check-3", named("check-3", "Check again")),
            }
        ],
        "removed": [shape("shape-ship-2", named("ship-1", "ship")), shape("shape-invoice-2", named("invoice-1", "Invoice"))],
    },
    "flows": {
        "removed": [
            {"predecessor": INVOICE, "shape": CHECK_2},
            {"predecessor": CHECK_2, "shape": SHIP},
            {"predecessor": CHECK_2, "shape": INVOICE},
        ]
    },
}  # fmt: skip


def test_everything_that_differs_between_two_versions(api: ApiClient, editor: str) -> None:
    """Without `to`, the version that the caller reads now is the new side."""
    response = api.get(compare("order", "from=2.0"), token=editor)
    assert response.json() == FROM_2_TO_3
    assert list(response.json()) == list(FROM_2_TO_3)
    pairs = [(ID["order-2"], ID["order-3"]), (ID["order-2"].upper(), "2.1"), ("2.0", ID["order"])]
    for element in ("order", "order-1"):
        for old, new in pairs:
            assert api.get(compare(element, f"from={old}&to={new}"), token=editor).json() == FROM_2_TO_3
    posted = api.post(compare("order", "from=2.0"), "", "application/json", token=editor)
    assert posted.json() == FROM_2_TO_3


def test_equal_sides_have_no_differences(api: ApiClient, editor: str) -> None:
    side = named("order-3", "Handle every order", version={"127": "2.1"})
    assert api.get(compare("order", "from=2.1&to=2.1"), token=editor).json() == {"from": side, "to": side}


def test_words_and_flows_with_labels(api: ApiClient, handbook: Storage, editor: str) -> None:
    """`$select` limits the properties, not the diagram."""
    with tenant_scope(handbook):
        ShapeFlow.objects.filter(shape_id=ID["shape-check-2"]).update(label={"1033": "yes", "1031": "ja"})
        ShapeFlow.objects.filter(shape_id=ID["shape-check-3"]).update(label={"1033": "no", "1031": "ja"})
    found = api.get(compare("order", "from=1.0&to=2.0&$words=true&$select=name,validUntil"), token=editor).json()
    assert found["attributes"] == {
        "name": {
            "1031": {
                "from": None,
                "to": "Auftrag\nabwickeln",
                "words": {"from": [], "to": [{"mark": "added", "text": "Auftrag\nabwickeln"}]},
            },
            "1033": {
                "from": "Take order",
                "to": "Handle order",
                "words": {
                    "from": [{"mark": "removed", "text": "Take"}, {"mark": "same", "text": " order"}],
                    "to": [{"mark": "added", "text": "Handle"}, {"mark": "same", "text": " order"}],
                },
            },
        },
        "validUntil": {"127": {"from": "2026-02-20T00:00:00", "to": NO_END["127"]}},
    }
    assert "references" not in found
    assert [each.get("label") for each in found["flows"]["added"]] == [{"1031": "ja", "1033": "yes"}] * 2 + [None] * 2
    flows = api.get(compare("order", "from=2.0&to=2.1"), token=editor).json()["flows"]
    assert flows["changed"] == [
        {
            "predecessor": shape("shape-start-3", wire("start-3")),
            "shape": shape("shape-check-3", wire("check-3")),
            "label": {"1033": {"from": "yes", "to": "no"}},
        }
    ]


def test_readers_compare_published_versions_only(api: ApiClient, handbook: Storage, editor: str) -> None:
    viewer = token_for(handbook, Role.VIEWER)
    side = FROM_2_TO_3["from"]
    for token in (None, viewer):
        assert api.get(compare("order", "from=2.0"), token=token).json() == {"from": side, "to": side}
        for other in ("1.0", "2.1", ID["order-3"]):
            refused(api.get(compare("order", f"from={other}"), token=token), 404, f"has no version {other}.")
        assert api.get(compare("invoice", "from=0.1"), token=token).status_code == 404
    refused(api.get(compare("order", f"from={ID['erp-1']}"), token=editor), 404, ID["order"], ID["erp-1"])


@pytest.mark.parametrize("query", ["", "from=", "from=2", "from=02.0", "from=2.0&to=newest", "from=9999999999.0"])
def test_malformed_points_get_an_example(api: ApiClient, editor: str, query: str) -> None:
    refused(api.get(compare("order", query), token=editor), 400, "the id or the number of a version, such as 2.0")
