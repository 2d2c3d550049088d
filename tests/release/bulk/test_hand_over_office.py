"""The page on which administrators hand over everything of one person to another (D474)."""

from __future__ import annotations

import re

import pytest

from storage.models import Storage
from storage.options import Role
from tests.elements.office import Office, main_text
from tests.release.house import ID, STATES, HouseClient, MakeClient

pytestmark = pytest.mark.django_db
PAGE = "handover/"


@pytest.fixture
def office(house: Storage) -> Office:
    return Office(house, Role.ADMINISTRATOR)


@pytest.fixture
def cora(desk: MakeClient) -> HouseClient:
    return desk(user="cora")


def owner(client: HouseClient, name: str) -> str:
    return str(client.element(name)["related"]["owner"][0]["id"])


def test_everything_is_handed_over_after_a_preview(office: Office, cora: HouseClient, rival: Storage) -> None:
    assert "Before somebody leaves" in office.page(PAGE)
    response = office.post(PAGE, {"from": ID["ben"], "to": ID["dora"].upper()})
    assert response.status_code == 302
    preview = office.get(response["Location"])
    assert "Hand over: Ben → Dora" in main_text(preview)
    assert f"Change {len(STATES) + 1} elements" in main_text(preview)
    assert owner(cora, "released") == ID["ben"]
    report = office.get(office.post(response["Location"])["Location"])
    assert "9 of 9 elements, done" in main_text(report)
    assert owner(cora, "released") == ID["dora"]
    assert "Hand over: Ben → Dora" in office.page("elements/bulk/runs/")


def test_a_link_can_choose_the_person(office: Office) -> None:
    page = office.get(f"{PAGE}?from={ID['ben']}").content.decode()
    assert re.search(rf'name="from" value="{ID["ben"]}"', page)
    assert 'name="to" value=""' in page


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("", ID["dora"], "Choose a person."),
        (ID["ben"], "nobody", "Choose a person."),
        (ID["ben"], ID["ben"], "Expected another user."),
        (ID["ben"], ID["eve"], "is inactive."),
        (ID["erp"], ID["dora"], "There is no user"),
        (ID["vera"], ID["dora"], "This person has nothing to hand over."),
    ],
)
def test_mistakes_are_shown_beside_the_field(office: Office, old: str, new: str, text: str) -> None:
    response = office.post(PAGE, {"from": old, "to": new})
    assert response.status_code == 422
    assert main_text(response).count(text) == 1


def test_only_administrators_hand_over(house: Storage) -> None:
    architect = Office(house, Role.ARCHITECT)
    assert architect.get(PAGE).status_code == 403
    assert architect.post(PAGE, {"from": ID["ben"], "to": ID["dora"]}).status_code == 403
    assert b"/handover/" not in architect.get("elements/tree/").content
    assert b"/handover/" in Office(house, Role.ADMINISTRATOR).get("elements/tree/").content


def test_the_page_speaks_german(house: Storage) -> None:
    page = Office(house, Role.ADMINISTRATOR, language="de").page(PAGE)
    assert "Bevor jemand ausscheidet" in page
    assert "Ausscheidende Person" in page
