"""`$orderBy` of lists (D470): keys, cultures, missing values, pages, streams, entity tags and mistakes."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from elements.api import reading_viewset
from elements.reading import content_state
from elements.reading.lists.ordering import END, collation_pairs
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.handbook import ID
from tests.factories import token_for

pytestmark = [pytest.mark.django_db, pytest.mark.on_cluster]
LIST = "/acme/handbook/_api/rest/facets/processes/views/list/elements"
SYSTEMS = LIST.replace("processes", "it")
USERS = LIST.replace("processes/views/list", "users/views/detail")
REPORT = "/acme/handbook/_api/rest/facets/processes/reporting"
NAMES = {value: name for name, value in ID.items()}


def ordered(api: ApiClient, token: str, order: str, more: str = "", address: str = LIST) -> list[str]:
    answer = api.get(f"{address}?$orderBy={quote(order)}{more}", token=token)
    assert answer.status_code == 200, answer.content
    body = answer.json()
    return [NAMES.get(each["id"], each["id"]) for each in body.get("elements", body.get("values"))]


def create(api: ApiClient, token: str, *names: str, culture: str = "1031") -> dict[str, str]:
    """Create systems, each with its German name; return the names by id."""
    body = {"elements": [{"type": "system", "attributes": {"name": {"1033": "x", culture: name}}} for name in names]}
    answer = api.post(SYSTEMS, json.dumps(body), content_type="application/json", token=token)
    assert answer.status_code == 200, answer.content
    return {each["id"]: name for each, name in zip(answer.json()["elements"], names, strict=True)}


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("name[1033]", ["order", "invoice", "loose", "retired", "sales", "ship"]),
        ("name[1033] asc", ["order", "invoice", "loose", "retired", "sales", "ship"]),
        (" name [ 1033 ]  desc ", ["ship", "sales", "retired", "loose", "invoice", "order"]),
        ("type desc,name[1033]", ["order", "invoice", "loose", "retired", "ship", "sales"]),
        ("id desc", ["retired", "loose", "ship", "invoice", "order", "sales"]),
    ],
)
def test_orders_of_a_list(handbook: Storage, api: ApiClient, editor: str, order: str, expected: list[str]) -> None:
    assert ordered(api, editor, order) == expected


def test_states_and_times(handbook: Storage, api: ApiClient, editor: str) -> None:
    rows = api.get(f"{LIST}?$select=createdOn,changedOn,version", token=editor).json()["elements"]
    by_state = sorted(rows, key=lambda each: (each["state"].lower(), each["id"]))
    assert ordered(api, editor, "state") == [NAMES[each["id"]] for each in by_state]
    for name in ("createdOn", "changedOn"):
        by_time = sorted(rows, key=lambda each: each["id"])
        by_time.sort(key=lambda each: each["attributes"][name]["127"], reverse=True)
        assert ordered(api, editor, f"{name} desc") == [NAMES[each["id"]] for each in by_time]


def test_missing_values_come_last_in_both_directions(handbook: Storage, api: ApiClient, editor: str) -> None:
    rows = api.get(f"{LIST}?$select=relOn", token=editor).json()["elements"]
    missing = {NAMES[each["id"]] for each in rows if "relOn" not in each.get("attributes", {})}
    assert missing
    for order in ("relOn", "relOn desc"):
        found = ordered(api, editor, order)
        assert set(found[-len(missing) :]) == missing
        assert found[-len(missing) :] == sorted(missing, key=lambda each: ID[each])


def test_texts_are_sorted_as_people_expect(handbook: Storage, api: ApiClient, editor: str) -> None:
    """Letter case and accents count only between texts that are equal otherwise."""
    names = [
        "Zug",
        "Äpfel",
        "apfel",
        "Apfel",
        "über",
        "Uhr",
        "Straße",
        "Strasse",
        "strand",
        "Ärger",
        "10",
        "é",
        "e",
        "f",
    ]
    made = create(api, editor, *names)
    found = [made[each] for each in ordered(api, editor, "name[1031]", address=SYSTEMS) if each in made]
    assert found == [
        "10", "Apfel", "apfel", "Äpfel", "Ärger", "e", "é", "f", "strand", "Strasse", "Straße", "über", "Uhr", "Zug"
    ]  # fmt: skip


def test_letters_of_an_alphabet_follow_their_language() -> None:
    assert dict(collation_pairs("sv"))["ö"] == "z" + 3 * END
    assert dict(collation_pairs("pl"))["ż"] == "z" + 2 * END
    assert "ö" not in dict(collation_pairs("de"))
    assert dict(collation_pairs("de"))["ø"] == "o"


def test_pages_and_streams_of_an_ordered_list(
    handbook: Storage, api: ApiClient, editor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = ordered(api, editor, "name[1033] desc")
    for page in (1, 2, 3, 4):
        part = every[2 * page - 2 : 2 * page]
        assert ordered(api, editor, "name[1033] desc", f"&$page={page}&$pageSize=2") == part
    for place, name in enumerate(every):
        part = every[place // 2 * 2 : place // 2 * 2 + 2]
        key = f"&$pageSelectionKey={ID[name]}&$pageSize=2"
        assert ordered(api, editor, "name[1033] desc", key) == part
    filtered = "&$filter=" + quote("Contains(name,'e')")
    matching = ordered(api, editor, "name[1033] desc", filtered)
    assert matching == [each for each in every if each in matching] != every
    monkeypatch.setattr(content_state, "STEP", 2)
    assert ordered(api, editor, "name[1033] desc", "&$page=5&$pageSize=1") == every[4:5]
    monkeypatch.setattr(reading_viewset, "BATCH", 2)
    streamed = api.get(f"{LIST}?$orderBy=name[1033] desc", token=editor)
    assert hasattr(streamed, "was_streamed")
    assert [NAMES[each["id"]] for each in streamed.json()["elements"]] == every


def test_links_keep_the_order(handbook: Storage, api: ApiClient, editor: str) -> None:
    answer = api.get(f"{LIST}?$orderBy=name[1033]%20desc&$pageSize=2", token=editor)
    assert "$orderBy=name%5B1033%5D%20desc" in answer["Link"]


def test_each_order_has_its_own_entity_tag(handbook: Storage, api: ApiClient, editor: str) -> None:
    plain, up, down = (
        api.get(f"{LIST}{query}", token=editor)["ETag"]
        for query in ("", "?$orderBy=createdOn", "?$orderBy=createdOn desc")
    )
    assert len({plain, up, down}) == 3
    again = api.get(f"{LIST}?$orderBy=createdOn", token=editor, headers={"If-None-Match": up})
    assert again.status_code == 304


def test_reports_can_be_ordered(handbook: Storage, api: ApiClient, editor: str) -> None:
    up = ordered(api, editor, "name[1033]", address=REPORT)
    assert len(up) > 1
    assert ordered(api, editor, "name[1033] desc", address=REPORT) == up[::-1]
    assert ordered(api, editor, "majorVersion desc,minorVersion", address=REPORT)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("name", "$orderBy: name depends on the culture; write name[1031] or name[1033]."),
        ("name[127]", "$orderBy: name depends on the culture; write name[1031] or name[1033]."),
        ("name[1036]", "$orderBy: the storage has no culture 1036; it has 1031 and 1033."),
        ("nmae[1033]", "$orderBy: there is no attribute 'nmae' here; similar: name, images."),
        ("createdon", "$orderBy: there is no attribute 'createdon' here; similar: createdOn, changedOn."),
        ("cost[1033]", "$orderBy: cost does not depend on the culture; leave the culture out."),
        ("owner", "$orderBy: owner is a related context; sort by attributes, id, type, state or stereotype."),
        ("state[1033]", "$orderBy: only attributes have cultures; there is no attribute state."),
        ("description[1033]", "$orderBy: a list cannot be sorted by description, which has the type Html."),
        ("images", "$orderBy: a list cannot be sorted by images, which has the type Files."),
        ("gotoUrl[1033]", "$orderBy: a list cannot be sorted by gotoUrl, which has the type Url."),
        ("createdOn down", "$orderBy: expected keys such as name[1033] desc,createdOn, not 'createdOn down'."),
        ("createdOn,", "$orderBy: expected keys such as name[1033] desc,createdOn, not ''."),
        ("id,id,id,id,id,id", "$orderBy: 6 keys; at most 5 are allowed."),
        ("id," * 400, "$orderBy: at most 1,000 characters are allowed."),
        ("id;DROP TABLE x", "$orderBy: expected keys such as name[1033] desc,createdOn, not 'id;DROP TABLE x'."),
    ],
)
def test_mistakes(handbook: Storage, api: ApiClient, editor: str, order: str, message: str) -> None:
    answer = api.get(f"{LIST}?$orderBy={quote(order)}", token=editor)
    assert (answer.status_code, answer.json()["message"]) == (400, message)


def test_all_mistakes_are_reported_together(handbook: Storage, api: ApiClient, editor: str) -> None:
    answer = api.get(f"{LIST}?$orderBy=name,nmae[1033]&$pageSize=x", token=editor)
    assert answer.status_code == 400
    assert len(answer.json()["data"]) == 3


def test_private_attributes_cannot_be_sorted_by(handbook: Storage, api: ApiClient, editor: str) -> None:
    """An order would reveal which of two users has the larger value (D396)."""
    with tenant_scope(handbook):
        administrator = token_for(handbook, Role.ADMINISTRATOR)
    assert ordered(api, administrator, "roleEditor", address=USERS)
    refused = api.get(f"{USERS}?$orderBy=roleEditor", token=editor)
    assert refused.status_code == 400
    assert refused.json()["message"].startswith("$orderBy: there is no attribute 'roleEditor' here")


def test_viewers_order_what_they_see(handbook: Storage, api: ApiClient, editor: str) -> None:
    found = api.get(f"{LIST}?$orderBy=name[1033] desc").json()["elements"]
    every = ordered(api, editor, "name[1033] desc")
    assert [NAMES[each["id"]] for each in found] == [each for each in every if each != "invoice" and each != "retired"]
