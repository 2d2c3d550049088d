"""Users and groups in a storage's back office: permissions, and changes by the rules of the API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from elements.models import Element, ElementChange
from elements.people.administration import groups_of, members_of
from storage.access.tokens import issue_token
from storage.models import Storage, StorageMembership
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.conftest import StorageMaker
from tests.elements.people_forms import ARCHITECT, GROUPS, OFFICE, TEAM, USERS, form_of
from tests.factories import StaffAccountFactory, storage_context
from tests.storage.office import checked_roles, errors, member, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.long]
AUDITOR = UUID("fac4d8a8-3006-5a09-a585-dfaf3f8364fe")
FORMER = UUID("12f6b6b4-2305-5412-bfb5-85ed7355c624")
READERS = UUID("1370be45-82e6-540a-b1ff-91c1e505e03e")
SPY = UUID("00000000-0000-4000-8000-000000000077")


@pytest.fixture(scope="module")
def rival(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """Another tenant with a user of its own, so that a leak shows."""
    lines = tmp_path_factory.mktemp("rival") / "users.ndjson"
    spy = {"facetName": "users", "id": str(SPY), "creationId": str(SPY), "type": "user"}
    lines.write_text(json.dumps({**spy, "attributes": {"name": {"1033": "Spy"}, "roleEditor": {"127": True}}}) + "\n")
    with filled_storage(lines, collection="rival", key="house", template="standard") as storage:
        yield storage


@pytest.fixture
def browser(db: None, showcase: Storage, rival: Storage) -> Client:
    return member(showcase, Role.ADMINISTRATOR)


def attributes(storage: Storage, element: UUID) -> dict[str, Any]:
    with tenant_scope(storage):
        found: dict[str, Any] = Element.objects.select_related("newest").get(id=element).newest.attributes
        return found


def rows(page: str) -> list[str]:
    return re.findall(rf'href="{OFFICE}user(?:group)?/([\w-]{{36}})/change/', page)


def test_the_list_shows_users_with_roles_and_groups(browser: Client, showcase: Storage) -> None:
    issue_token(storage_context(showcase), "Her script", [Role.EDITOR], user_id=ARCHITECT)
    anna = StaffAccountFactory.create(username="anna")
    StorageMembership.objects.create(account=anna, storage=showcase, roles=["editor"], user_id=ARCHITECT)
    page = browser.get(USERS).content.decode()
    assert len(rows(page)) == 12
    row = page[page.index(f"{ARCHITECT}/change/") :].split("</tr>")[0]
    cells = [re.sub(r"<[^>]+>|\s+", " ", cell).split(">")[-1].strip() for cell in row.split("<td")]
    assert cells[0].endswith("Process architect")
    assert [" ".join(cell.split()) for cell in cells[1:]] == [
        "Process Architect", "Architect", "Repository team", "2026-10-30 10:12", "1", "anna",
    ]  # fmt: skip
    former = page[page.index(f"{FORMER}/change/") :].split("</tr>")[0]
    assert "Inactive" in former


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("?q=auditor", 1),
        ("?q=manager+sales", 2),
        ("?role=administrator", 1),
        ("?role=editor", 7),
        ("?status=inactive", 1),
        ("?status=active", 11),
        (f"?group={TEAM}", 3),
        (f"?group={TEAM}&role=architect", 1),
        ("?role=nonsense", 12),
        ("?q=Spy", 0),
    ],
)
def test_search_and_filters(browser: Client, query: str, number: int) -> None:
    assert len(rows(browser.get(f"{USERS}{query}").content.decode())) == number


def test_the_list_takes_as_many_statements_for_many(browser: Client, django_assert_max_num_queries: Any) -> None:
    browser.get(USERS)
    with django_assert_max_num_queries(22):
        browser.get(USERS)


def test_the_statement_names_the_id_of_the_type(browser: Client, showcase: Storage) -> None:
    """With the key alone, the database reads the elements of all types."""
    with tenant_scope(showcase):
        user = Element.objects.filter(type__key="user").values_list("type_id", flat=True)[0]
    with CaptureQueriesContext(connection) as statements:
        browser.get(USERS)
    listed = [each["sql"] for each in statements if 'FROM "elements_element"' in each["sql"]]
    assert listed
    assert all(f"'{user.hex}'::uuid" in sql or f"'{user}'::uuid" in sql for sql in listed)


def test_a_user_is_changed_as_the_api_would(browser: Client, showcase: Storage) -> None:
    address = f"{USERS}{ARCHITECT}/change/"
    given = form_of(browser.get(address).content.decode())
    assert (given["name_1033"], given["roles"], given["groups"]) == ("Process architect", ["architect"], [str(TEAM)])
    before = attributes(showcase, ARCHITECT)
    given |= {"lastName_127": "Builder", "roles": ["architect", "approver"], "groups": [str(TEAM), str(READERS)]}
    assert browser.post(address, given)["Location"] == address
    after = attributes(showcase, ARCHITECT)
    assert after == before | {"lastName": {"127": "Builder"}, "roleApprover": {"127": True}}
    with tenant_scope(showcase):
        assert groups_of([ARCHITECT]) == {ARCHITECT: [TEAM, READERS]}
        entry = ElementChange.objects.filter(element_id=ARCHITECT).latest("changed_on")
    assert entry.caller_label.startswith("staff:")
    assert entry.after == {
        "attributes": {"lastName[127]": "Builder", "roleApprover[127]": True},
        "related": {"userGroups": [str(TEAM), str(READERS)]},
    }


def test_an_empty_text_removes_the_value_and_unset_values_stay_unset(browser: Client, showcase: Storage) -> None:
    made = browser.post(f"{USERS}add/", {"name_1033": "New", "name_1031": "", "roles": ["viewer"]})
    user = UUID(made["Location"].split("/")[-3])
    assert attributes(showcase, user) == {"name": {"1033": "New"}, "roleViewer": {"127": True}}
    given = form_of(browser.get(made["Location"]).content.decode())
    browser.post(made["Location"], given | {"roles": [], "inactive": "on", "firstName_127": "x"})
    assert attributes(showcase, user) == {
        "name": {"1033": "New"},
        "firstName": {"127": "x"},
        "roleViewer": {"127": False},
        "roleInactive": {"127": True},
    }
    browser.post(made["Location"], form_of(browser.get(made["Location"]).content.decode()) | {"firstName_127": ""})
    assert "firstName" not in attributes(showcase, user)


def test_problems_are_shown_at_their_fields_and_input_is_kept(browser: Client, showcase: Storage) -> None:
    given = {"name_1033": "", "firstName_127": "two\nlines", "roles": ["editor"]}
    page = browser.post(f"{USERS}add/", given).content.decode()
    assert errors(page) == ["This field is required."]
    page = browser.post(f"{USERS}add/", given | {"name_1033": "New"}).content.decode()
    assert [text.split(";")[0] for text in errors(page)] == ["Must be a single line."]
    assert checked_roles(page) == ["editor"]
    with tenant_scope(showcase):
        assert not Element.objects.filter(newest__sort_name="new").exists()


def test_a_concurrent_change_is_noticed(browser: Client, showcase: Storage) -> None:
    address = f"{USERS}{AUDITOR}/change/"
    mine, theirs = (form_of(browser.get(address).content.decode()) for _ in range(2))
    browser.post(address, theirs | {"lastName_127": "Theirs"})
    page = browser.post(address, mine | {"lastName_127": "Mine"}).content.decode()
    assert "Someone else has changed this in the meantime" in page
    assert attributes(showcase, AUDITOR)["lastName"] == {"127": "Theirs"}
    browser.post(address, form_of(page))
    assert attributes(showcase, AUDITOR)["lastName"] == {"127": "Mine"}


def test_users_who_would_lose_their_own_access_are_warned(showcase: Storage) -> None:
    account = StaffAccountFactory.create()
    admin = UUID("5e2fb998-9616-58b7-9888-009dd6036e20")
    StorageMembership.objects.create(account=account, storage=showcase, roles=["administrator"], user_id=admin)
    browser, address = signed_in(account), f"{USERS}{admin}/change/"
    given = form_of(browser.get(address).content.decode()) | {"roles": ["editor"]}
    page = browser.post(address, given).content.decode()
    assert "you would no longer administer this storage" in page
    assert attributes(showcase, admin)["roleAdministrator"] == {"127": True}
    browser.post(address, given | {"confirmed": "on"})
    assert attributes(showcase, admin)["roleAdministrator"] == {"127": False}


def test_groups_are_listed_created_and_filled(browser: Client, showcase: Storage) -> None:
    page = browser.get(GROUPS).content.decode()
    assert len(rows(page)) == 4
    assert "Process architect, Quality manager, Repository administrator" in page
    made = browser.post(f"{GROUPS}add/", {"name_1033": "Auditors", "members": [str(AUDITOR), str(ARCHITECT)]})
    group = UUID(made["Location"].split("/")[-3])
    with tenant_scope(showcase):
        assert {user for user, _ in members_of([group])} == {AUDITOR, ARCHITECT}
        assert groups_of([ARCHITECT]) == {ARCHITECT: [TEAM, group]}
    given = form_of(browser.get(made["Location"]).content.decode())
    browser.post(made["Location"], given | {"members": [str(AUDITOR)]})
    with tenant_scope(showcase):
        assert members_of([group]) == [(AUDITOR, group)]
        assert groups_of([ARCHITECT]) == {ARCHITECT: [TEAM]}


def test_an_unknown_member_is_refused(browser: Client, showcase: Storage) -> None:
    page = browser.post(f"{GROUPS}add/", {"name_1033": "Ghosts", "members": [str(SPY)]}).content.decode()
    assert "there is no such element" in page
    with tenant_scope(showcase):
        assert not Element.objects.filter(newest__sort_name="ghosts").exists()


@pytest.mark.parametrize("role", [Role.ANALYZER, Role.EDITOR, Role.ARCHITECT])
def test_other_roles_can_see_but_not_change(browser: Client, showcase: Storage, role: Role) -> None:
    looking = member(showcase, role)
    issue_token(storage_context(showcase), "Secret script", [Role.EDITOR], user_id=AUDITOR)
    given = form_of(browser.get(f"{USERS}{AUDITOR}/change/").content.decode())
    page = looking.get(f"{USERS}{AUDITOR}/change/").content.decode()
    assert "Internal" in page
    assert "Secret script" in browser.get(f"{USERS}{AUDITOR}/change/").content.decode()
    assert "Secret script" not in page
    assert re.search(r'name="firstName_127"[^>]*\sdisabled', page)
    assert 'form="user_form"' not in page
    assert len(rows(looking.get(USERS).content.decode())) == 12
    before = attributes(showcase, AUDITOR)
    for address in (f"{USERS}{AUDITOR}/change/", f"{USERS}add/", f"{GROUPS}add/", f"{GROUPS}{TEAM}/change/"):
        assert looking.post(address, given | {"roles": ["administrator"]}).status_code == 403
    assert looking.get(f"{USERS}add/").status_code == 403
    assert attributes(showcase, AUDITOR) == before


def test_users_of_another_storage_are_not_there(browser: Client, rival: Storage) -> None:
    for address in (f"{USERS}{SPY}/change/", f"{GROUPS}{SPY}/change/", f"{GROUPS}{AUDITOR}/change/"):
        assert browser.get(address).status_code == 404
        assert browser.post(address, {"name_1033": "x"}).status_code == 404
    assert attributes(rival, SPY)["name"] == {"1033": "Spy"}


def test_tokens_and_accounts_of_another_storage_do_not_show(browser: Client, rival: Storage, showcase: Storage) -> None:
    """Two storages can have the same ids."""
    account = StaffAccountFactory.create(username="foreigner")
    StorageMembership.objects.create(account=account, storage=rival, roles=["editor"], user_id=ARCHITECT)
    token = issue_token(storage_context(rival), "Foreign", [Role.EDITOR]).token
    type(token).objects.filter(pk=token.pk).update(user_id=ARCHITECT)
    for address in (USERS, f"{USERS}{ARCHITECT}/change/"):
        page = browser.get(address).content.decode()
        assert "foreigner" not in page
        assert "Foreign" not in page


def test_a_storage_without_users_has_empty_lists(storage: Storage) -> None:
    browser = member(storage, Role.ADMINISTRATOR)
    for page in ("user", "usergroup"):
        assert browser.get(f"/acme/handbook/admin/elements/{page}/").status_code == 200
        assert browser.get(f"/acme/handbook/admin/elements/{page}/add/").status_code == 403


def test_users_are_found_by_name_for_tokens(browser: Client) -> None:
    page = browser.get("/demo/showcase/admin/storage/apitoken/add/").content.decode()
    address = re.search(r'data-ajax--url="([^"]+)"', page)
    assert address
    found = browser.get(f"{address[1]}&term=auditor").json()
    assert [(each["id"], each["text"]) for each in found["results"]] == [(str(AUDITOR), "Internal auditor")]
