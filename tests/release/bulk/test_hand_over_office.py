"""The page on which administrators hand over everything of one person to another (D474)."""

from __future__ import annotations

import re
from uuid import UUID

import pytest

from release.admin import hand_over
from storage.access.user_directory import user_names
from storage.admin.staff import AccountMembershipForm
from storage.models import IdentityProvider, StaffAccount, Storage, StorageMembership
from storage.options import Role
from tests.elements.office import Office, main_text
from tests.factories import StaffAccountFactory
from tests.identity_provider import rule
from tests.release.house import ID, STATES, HouseClient, MakeClient
from tests.storage.scim.directory import directory_of

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


@pytest.mark.long
def test_the_work_of_people_who_have_left_is_offered(
    office: Office, house: Storage, desk: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory deactivates a person with a user element (D545)."""
    # Somebody else has left, and has nothing.
    monkeypatch.setattr(hand_over, "MOST_SHOWN", 1)
    former = StaffAccountFactory.create(is_active=False)
    StorageMembership.objects.create(account=former, storage=house, roles=[], user_id=ID["vera"])
    provider = IdentityProvider.objects.create(
        key="acme", name="Acme ID", collection=house.collection, issuer="x", client_id="r", mail_domains=["example.org"]
    )
    ben = desk(user="ben")
    name = user_names(house, [UUID(ID["ben"])])[UUID(ID["ben"])]
    rule(provider, house, "approver", claim="title", value="Clerk", user_claim="name", user_attribute="name")
    directory = directory_of(provider)
    made = directory.person("ben", title="Clerk", displayName=name)
    membership = StorageMembership.objects.get(account__email="ben@example.org")
    assert (membership.roles, str(membership.user_id)) == (["approver"], ID["ben"])
    assert "can no longer sign in" not in office.page(PAGE)
    assert ben.get("rest/info").status_code == 200
    directory.patch(f"Users/{made['id']}", {"op": "Replace", "path": "active", "value": "False"})
    assert ben.get("rest/info").status_code == 401
    membership.refresh_from_db()
    assert membership.roles == []
    # Site administrators can still save the account.
    assert AccountMembershipForm({"storage": house.pk, "user_id": ID["ben"]}, instance=membership).is_valid()
    page = office.get(PAGE).content.decode()
    assert re.search(rf'can no longer sign in.*<a class="el-link" href="\?from={ID["ben"]}">{name}</a>', page)
    directory.patch(f"Users/{made['id']}", {"op": "Replace", "path": "active", "value": "True"})
    membership.refresh_from_db()
    assert (membership.roles, str(membership.user_id)) == (["approver"], ID["ben"])
    assert "can no longer sign in" not in office.page(PAGE)
    # The same after the last role is gone (D561), and after somebody has deactivated the account by hand.
    again = desk(user="ben")
    directory.patch(f"Users/{made['id']}", {"op": "Replace", "path": "title", "value": "Guest"})
    membership.refresh_from_db()
    assert (membership.roles, again.get("rest/info").status_code) == ([], 200)
    StaffAccount.objects.filter(pk=membership.account_id).update(is_active=False)
    directory.patch(f"Users/{made['id']}", {"op": "Replace", "path": "active", "value": "False"})
    assert again.get("rest/info").status_code == 401
    assert "can no longer sign in" in office.page(PAGE)


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
