"""The site's back office: storages, collections, staff accounts and administrative tokens."""

from __future__ import annotations

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.utils import timezone

from storage.access.tokens import issue_token
from storage.models import (
    ApiToken,
    RequestCount,
    StaffAccount,
    Storage,
    StorageCollection,
    StorageMembership,
    StorageSize,
)
from storage.options import Role
from tests.api_client import ApiClient
from tests.factories import PLAIN_TEMPLATE, StaffAccountFactory, storage_context
from tests.storage.office import errors, signed_in, site_administrator, ticket

pytestmark = [pytest.mark.django_db, pytest.mark.long]
SITE = "/admin/storage/"
PLAIN = json.loads(PLAIN_TEMPLATE.read_text())


@pytest.fixture
def browser(db: None) -> Client:
    return site_administrator()


def template_file(document: Any) -> SimpleUploadedFile:
    return SimpleUploadedFile("mine.json", json.dumps(document).encode(), "application/json")


def request(**given: Any) -> dict[str, Any]:
    usual = {
        "new_collection": "acme",
        "key": "manual",
        "anonymous": "none",
        "stuck_after_days": "14",
        "event_days": "90",
        "past_days": "365",
    }
    return {**usual, "template_file": template_file(PLAIN), **given}


# Provisioning


def test_a_storage_is_provisioned_as_asked_for(browser: Client) -> None:
    given = request(
        title="Manual",
        description="Of the house.",
        cultures=["1033", "1036"],
        default_culture="1036",
        mandatory_cultures=["1033"],
        region="CH",
        time_zone="Europe/Zurich",
        anonymous="read",
        stuck_after_days="7",
        event_days="30",
        past_days="31",
    )
    response = browser.post(f"{SITE}storage/add/", given)
    storage = Storage.objects.get()
    assert response["Location"] == f"{SITE}storage/{storage.pk}/change/"
    cultures = storage.culture_set()
    assert (storage.event_days, storage.past_days) == (30, 31)
    assert (str(storage), storage.title, storage.description, storage.template) == (
        "acme/manual", "Manual", "Of the house.", "plain",
    )  # fmt: skip
    assert (set(cultures.data), cultures.default, cultures.mandatory) == ({1033, 1036}, 1036, (1033,))
    assert (storage.region, storage.time_zone, storage.anonymous_access, storage.stuck_after_days) == (
        "CH", "Europe/Zurich", "read", 7,
    )  # fmt: skip


def test_empty_fields_use_the_defaults(browser: Client, settings: Any) -> None:
    StorageCollection.objects.create(key="house", title="House")
    browser.post(f"{SITE}storage/add/", request(new_collection="", collection="house"))
    storage = Storage.objects.get()
    assert (str(storage), storage.title) == ("house/manual", "manual")
    assert (storage.region, storage.time_zone) == (settings.DEFAULT_REGION, settings.DEFAULT_TIME_ZONE)
    assert storage.culture_set().data == (1031, 1033)


def test_an_installed_template_is_chosen_by_name(browser: Client) -> None:
    given = request(template="standard")
    del given["template_file"]
    browser.post(f"{SITE}storage/add/", given)
    assert Storage.objects.get().template == "standard"
    page = browser.post(f"{SITE}storage/add/", {**given, "key": "x", "template": "../../etc/passwd"}).content.decode()
    assert errors(page) == ["Select a valid choice. ../../etc/passwd is not one of the available choices."]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"new_collection": "a b", "key": "admin", "stuck_after_days": "0", "event_days": "4000"},
            [
                "&#x27;a b&#x27; is not a valid id; use up to 63 letters, digits, dots, hyphens and underscores,"
                " starting with a letter or digit",
                "&#x27;admin&#x27; is reserved",
                "Expected 1 to 3650 days, not 0",
                "Expected 1 to 3650 days, not 4000",
            ],
        ),
        ({"new_collection": ""}, ["Choose a collection or enter the id of a new one, not both."]),
        ({"collection": "rival"}, ["Choose a collection or enter the id of a new one, not both."]),
        ({"key": ""}, ["This field is required."]),
        (
            {"new_collection": "Rival"},
            ["The collection rival already exists; ids must differ in more than case."],
        ),
        (
            {"new_collection": "", "collection": "rival", "key": "HANDBOOK"},
            ["The storage rival/HANDBOOK already exists; ids are case-insensitive."],
        ),
        ({"title": "x" * 201}, ["Longer than 200 characters"]),
        (
            {"cultures": ["1033"], "default_culture": "1031"},
            ["The default culture 1031 is not among the data cultures"],
        ),
        ({"template_file": SimpleUploadedFile("a.json", b"{")}, ["The template a.json "]),
        ({"template_file": template_file({"name": "x"})}, ["title: expected a text", "cultures: expected an object"]),
        (
            {"template_file": template_file({**PLAIN, "types": {"note": {"facet": "nowhere"}}})},
            ["types.note"],
        ),
    ],
)
def test_problems_are_shown_at_their_fields(
    browser: Client, other_storage: Storage, given: dict[str, Any], told: list[str]
) -> None:
    page = browser.post(f"{SITE}storage/add/", request(description="Kept words.", **given)).content.decode()
    found = errors(page)
    assert len(found) >= len(told)
    for text, expected in zip(found, told, strict=False):
        assert text.startswith(expected), found
    assert "Kept words." in page
    assert list(Storage.objects.all()) == [other_storage]
    assert [each.key for each in StorageCollection.objects.all()] == ["rival"]


# Storages and collections


def test_the_list_shows_sizes_traffic_and_the_way_in(browser: Client, storage: Storage, other_storage: Storage) -> None:
    StorageSize.objects.create(
        storage=storage, measured_on=timezone.now() - timedelta(hours=3), elements=1234, bytes=5 * 1024 * 1024
    )
    RequestCount.objects.create(
        storage=storage, hour=timezone.now(), requests=4321, client_errors=17, server_errors=3, milliseconds=9
    )
    RequestCount.objects.create(storage=other_storage, hour=timezone.now() - timedelta(hours=30), requests=9876543)
    page = browser.get(f"{SITE}storage/").content.decode()
    ours, theirs = (page[page.index(f"{each.pk}/change/") :].split("</tr>")[0] for each in (storage, other_storage))
    for text in ("acme/handbook", "Handbook", "1,234", "5.0", "3", "hours ago", "4,321", "3 × 5xx", "17 × 4xx"):
        assert text in ours, text
    assert 'href="/acme/handbook/admin/"' in ours
    assert 'href="/acme/handbook/"' in ours
    assert "not measured" in theirs
    assert "9,876,543" not in theirs


def test_the_number_of_statements_does_not_grow(
    browser: Client, storage: Storage, django_assert_num_queries: Any
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as few:
        browser.get(f"{SITE}storage/")
    for number in range(5):
        other = Storage.objects.get(pk=storage.pk)
        other.pk, other.key = None, f"copy{number}"
        Storage.objects.bulk_create(
            [Storage(collection=storage.collection, key=other.key, template="x", region="DE", time_zone="UTC")]
        )
    with django_assert_num_queries(len(few)):
        browser.get(f"{SITE}storage/")


def test_measuring_requires_post(browser: Client, storage: Storage) -> None:
    address = f"{SITE}storage/{storage.pk}/measure/"
    assert browser.get(address).status_code == 404
    assert not StorageSize.objects.exists()
    assert browser.post(address)["Location"] == f"{SITE}storage/{storage.pk}/change/"
    assert StorageSize.objects.get().storage == storage


def test_several_are_measured_at_once(browser: Client, storage: Storage, other_storage: Storage) -> None:
    ids = [str(storage.pk), str(other_storage.pk)]
    page = browser.post(f"{SITE}storage/", {"action": "measure_selected", "_selected_action": ids}, follow=True)
    assert "2 storages have been measured." in page.content.decode()
    assert StorageSize.objects.count() == 2


def test_editable_settings_of_a_storage(browser: Client, storage: Storage) -> None:
    given = {
        "title": "New", "description": "Words", "anonymous_access": "read", "stuck_after_days": "3", "key": "other",
        "event_days": "60", "past_days": "61", "region": "FR", "time_zone": "UTC", "template": "x",
    }  # fmt: skip
    browser.post(f"{SITE}storage/{storage.pk}/change/", given)
    after = Storage.objects.get(pk=storage.pk)
    assert (after.event_days, after.past_days) == (60, 61)
    assert (after.title, after.description, after.anonymous_access, after.stuck_after_days, after.is_valid) == (
        "New", "Words", "read", 3, False,
    )  # fmt: skip
    same = ("key", "region", "time_zone", "template", "token_in_query")
    assert [getattr(after, name) for name in same] == [getattr(storage, name) for name in same]
    page = browser.get(f"{SITE}storage/{storage.pk}/change/").content.decode()
    assert "manage.py remove_storage acme handbook" in page


def test_collections_are_created_and_deleted_while_empty(browser: Client, storage: Storage) -> None:
    address = f"{SITE}storagecollection/"
    for key, told in (
        ("a b", "is not a valid id"),
        ("admin", "is reserved"),
        ("ACME", "The collection acme already exists"),
    ):
        assert told in errors(browser.post(f"{address}add/", {"key": key}).content.decode())[0]
    browser.post(f"{address}add/", {"key": "new", "title": "New", "description": ""})
    made = StorageCollection.objects.get(key="new")
    browser.post(f"{address}{made.pk}/change/", {"key": "renamed", "title": "Better", "description": "x"})
    made.refresh_from_db()
    assert (made.key, made.title, made.description) == ("new", "Better", "x")
    assert browser.post(f"{address}{storage.collection_id}/delete/", {"post": "yes"}).status_code == 403
    browser.post(f"{address}{made.pk}/delete/", {"post": "yes"})
    assert not StorageCollection.objects.filter(key="new").exists()


# Tokens


def test_a_token_of_an_administrative_context_is_shown_once_and_works(
    browser: Client, storage: Storage, api: ApiClient
) -> None:
    address = f"{SITE}apitoken/add/"
    for place, path in (("", "/_sysadmin/_admin"), (str(storage.collection_id), "/acme/_admin")):
        given = {"name": f"Ops {path}", "place": place, "ticket": ticket(browser.get(address).content.decode())}
        response = browser.post(address, given)
        found = re.search(r'id="copy-secret"[^>]*>([^<]+)<', response.content.decode())
        assert found
        assert "no-store" in response["Cache-Control"]
        assert f"http://testserver{path}/_api/rest/info" in response.content.decode()
        headers = {"Authorization": f"Bearer {found[1]}"}
        assert api.get(f"{path}/_api/rest/info", headers=headers).status_code == 200
        assert api.get("/acme/handbook/_api/rest/info", headers=headers).status_code == 401
        assert found[1] not in browser.post(address, given, follow=True).content.decode()
    assert [token.roles for token in ApiToken.objects.all()] == [["administrator"], ["administrator"]]


def test_tokens_of_storages_are_listed_and_revoked_but_not_issued(browser: Client, storage: Storage) -> None:
    token = issue_token(storage_context(storage), "importer", [Role.EDITOR]).token
    listed = browser.get(f"{SITE}apitoken/").content.decode()
    assert f'href="/acme/handbook/admin/storage/apitoken/{token.pk}/change/"' in listed
    for scope, number in ((str(storage.pk), 1), (str(storage.collection_id), 0), ("site", 0), ("nonsense", 1)):
        page = browser.get(f"{SITE}apitoken/?scope={scope}").content.decode()
        assert page.count(f'value="{token.pk}"') == number
    given = {
        "name": "x",
        "place": str(storage.pk),
        "ticket": ticket(browser.get(f"{SITE}apitoken/add/").content.decode()),
    }
    assert errors(browser.post(f"{SITE}apitoken/add/", given).content.decode())
    assert f"{token.pk}/replace/" not in browser.get(f"{SITE}apitoken/{token.pk}/change/").content.decode()
    browser.post(f"{SITE}apitoken/{token.pk}/revoke/")
    assert ApiToken.objects.get().revoked_on is not None


# Staff accounts


def membership_form(*rows: dict[str, Any], initial: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = {"memberships-TOTAL_FORMS": len(rows), "memberships-INITIAL_FORMS": initial}
    for number, row in enumerate(rows):
        found |= {f"memberships-{number}-{name}": value for name, value in row.items()}
    return found


def test_an_account_shows_only_whether_a_password_is_set(browser: Client) -> None:
    account = StaffAccountFactory.create(username="anna", password="a rather good one")
    address = f"{SITE}staffaccount/{account.pk}/change/"
    page = browser.get(address).content.decode()
    assert ("A password is set." in page, "pbkdf2" in page, "iterations" in page) == (True, False, False)
    account.set_unusable_password()
    account.save()
    assert "No password is set." in browser.get(address).content.decode()
    added = browser.get(f"{SITE}staffaccount/add/").content.decode()
    assert ("nobody can sign in with this account" in added, "LDAP" in added) == (True, False)


def test_titles_lead_from_the_page_to_the_installation(browser: Client) -> None:
    account = StaffAccountFactory.create(username="anna")

    def title(path: str) -> str:
        found = re.search("<title>(.*?)</title>", browser.get(f"{SITE}{path}").content.decode(), re.DOTALL)
        return " ".join(found[1].split()) if found else ""

    assert title("staffaccount/") == "Staff accounts | Content repository"
    assert (
        title(f"staffaccount/{account.pk}/change/")
        == "anna | Change staff account | Staff accounts | Content repository"
    )


def test_an_empty_list_tells_the_reason(browser: Client) -> None:
    assert "No entry matches" in browser.get(f"{SITE}staffaccount/?q=nobody").content.decode()
    assert "This list is empty." in browser.get(f"{SITE}failedsignin/").content.decode()


def test_an_account_is_created_and_added_to_storages(browser: Client, storage: Storage) -> None:
    password = {"usable_password": "true", "password1": "a rather good one", "password2": "a rather good one"}
    response = browser.post(f"{SITE}staffaccount/add/", {"username": "anna", "language": "de", **password})
    anna = StaffAccount.objects.get(username="anna")
    assert response["Location"] == f"{SITE}staffaccount/{anna.pk}/change/"
    assert (anna.is_staff, anna.is_superuser, anna.language) == (True, False, "de")
    assert Client().login(username="anna", password="a rather good one")
    row = {"storage": str(storage.pk), "roles": ["editor", "viewer"], "user_id": ""}
    given = {"username": "anna", "is_active": "on", **membership_form(row)}
    browser.post(f"{SITE}staffaccount/{anna.pk}/change/", given)
    made = StorageMembership.objects.get()
    assert (made.account, made.storage, made.roles, made.user_id) == (anna, storage, ["viewer", "editor"], None)
    assert "acme/handbook" in browser.get(f"{SITE}staffaccount/?storage={storage.pk}").content.decode()


def test_an_invalid_membership_is_refused(browser: Client, storage: Storage) -> None:
    anna = StaffAccountFactory.create(username="anna")
    nobody = "00000000-0000-4000-8000-000000000001"
    for row, told in (
        ({"storage": str(storage.pk), "roles": [], "user_id": ""}, "Choose at least one role."),
        (
            {"storage": str(storage.pk), "roles": ["viewer"], "user_id": nobody},
            "This user does not exist in acme/handbook.",
        ),
    ):
        given = {"username": "anna", "is_active": "on", **membership_form(row)}
        assert told in browser.post(f"{SITE}staffaccount/{anna.pk}/change/", given).content.decode()
    assert not StorageMembership.objects.exists()


def test_administrators_cannot_lock_themselves_out() -> None:
    root = StaffAccountFactory.create(username="root", is_superuser=True)
    browser = signed_in(root)
    address = f"{SITE}staffaccount/{root.pk}/"
    for given in ({"is_superuser": "on"}, {"is_active": "on"}):
        page = browser.post(f"{address}change/", {"username": "root", **given, **membership_form()}).content.decode()
        assert errors(page) == ["You cannot change this for your own account. Ask another site administrator."]
    assert browser.post(f"{address}delete/", {"post": "yes"}).status_code == 403
    browser.post(f"{SITE}staffaccount/", {"action": "delete_selected", "_selected_action": [root.pk], "post": "yes"})
    browser.post(f"{address}password/", {"usable_password": "false", "unset-password": "1"})
    root.refresh_from_db()
    assert (root.is_active, root.is_superuser, root.has_usable_password()) == (True, True, True)


@pytest.mark.django_db(transaction=True)
def test_two_administrators_cannot_lock_each_other_out() -> None:
    """The second waits for the first and is then no administrator."""
    pair = [StaffAccountFactory.create(username=name, is_superuser=True) for name in ("anna", "ben")]
    browsers = [signed_in(each) for each in pair]
    barrier = threading.Barrier(2)

    def demote(place: int) -> int:
        other = pair[1 - place]
        barrier.wait(60)
        try:
            given = {"username": other.username, "is_active": "on", **membership_form()}
            return browsers[place].post(f"{SITE}staffaccount/{other.pk}/change/", given).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        answers = sorted(pool.map(demote, range(2)))
    assert StaffAccount.objects.filter(is_superuser=True).count() == 1
    assert answers in ([200, 302], [302, 403])


def test_another_account_is_deactivated_or_deleted(browser: Client) -> None:
    anna = StaffAccountFactory.create(username="anna", is_superuser=True)
    browser.post(f"{SITE}staffaccount/{anna.pk}/change/", {"username": "anna", **membership_form()})
    anna.refresh_from_db()
    assert (anna.is_active, anna.is_superuser) == (False, False)
    browser.post(f"{SITE}staffaccount/{anna.pk}/delete/", {"post": "yes"})
    assert not StaffAccount.objects.filter(pk=anna.pk).exists()


def test_permissions_and_groups_of_django_are_not_offered(browser: Client) -> None:
    anna = StaffAccountFactory.create(username="anna")
    page = browser.get(f"{SITE}staffaccount/{anna.pk}/change/").content.decode()
    assert "user_permissions" not in page
    assert 'name="groups"' not in page


# The overview


def test_the_overview_of_a_site_administrator(browser: Client, storage: Storage, other_storage: Storage) -> None:
    issue_token(storage_context(storage), "importer", [Role.EDITOR])
    RequestCount.objects.create(
        storage=storage, hour=timezone.now(), requests=40, client_errors=3, server_errors=1, milliseconds=400
    )
    page = browser.get("/admin/").content.decode()
    numbers = re.findall(r'text-2xl text-important tracking-tight">(\d+)<', page)
    assert numbers == ["2", "2", "1", "1"]
    assert page.count("Successful: 36, Client errors: 3, Server errors: 1") == 2
    assert page.index("acme/handbook") < page.index("rival/handbook")
    assert "10 ms" in page


def test_other_staff_see_their_storages(storage: Storage, other_storage: Storage) -> None:
    account = StaffAccountFactory.create()
    StorageMembership.objects.create(account=account, storage=storage, roles=["editor"])
    page = signed_in(account).get("/admin/").content.decode()
    assert 'href="/acme/handbook/admin/"' in page
    assert "Editor" in page
    assert "rival" not in page
    assert "/admin/storage/" not in page
    reader = StaffAccountFactory.create()
    StorageMembership.objects.create(account=reader, storage=storage, roles=["viewer"])
    assert 'href="/acme/handbook/admin/"' not in signed_in(reader).get("/admin/").content.decode()
    assert "do not belong to any storage" in signed_in(StaffAccountFactory.create()).get("/admin/").content.decode()
