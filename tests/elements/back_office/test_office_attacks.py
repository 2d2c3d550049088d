"""Malicious and broken requests to the back office and the API."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from elements.admin.editing.typed import NoJson, read_typed
from elements.models import Element
from elements.people.administration import groups_of
from elements.values.markup import shown_markup
from facets.blueprint.data_types import DataType
from storage.models import Storage, StorageMembership
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.office import Office, main_text
from tests.elements.people_forms import ARCHITECT, OFFICE, TEAM, USERS, form_of
from tests.factories import StaffAccountFactory, token_for
from tests.storage.office import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.long]
API = "/demo/showcase/_api/rest/facets/users/views/detail/elements"
USER = str(ARCHITECT)


def user_with(storage: Storage, element: UUID) -> Any:
    with tenant_scope(storage):
        return Element.objects.select_related("newest").get(id=element).newest


class TestRolesOfUsers:
    @pytest.mark.parametrize("name", ["roleAdministrator", "roleInactive", "roleViewer"])
    def test_are_for_administrators_to_change(self, showcase: Storage, api: ApiClient, name: str) -> None:
        before = user_with(showcase, ARCHITECT).attributes
        body = {"elements": [{"id": USER, "type": "user", "attributes": {name: {"127": True}}}]}
        refused = api.post(API, body, "application/json", token=token_for(showcase, Role.ARCHITECT))
        assert refused.status_code == 403
        assert f"only administrators can change {name}" in refused.json()["data"][0]["error"]
        assert user_with(showcase, ARCHITECT).attributes == before
        assert api.post(API, body, "application/json", token=token_for(showcase, Role.ADMINISTRATOR)).status_code == 200
        assert user_with(showcase, ARCHITECT).attributes[name] == {"127": True}

    def test_only_administrators_create_users_with_roles(self, showcase: Storage, api: ApiClient) -> None:
        made = {"type": "user", "attributes": {"name": {"1033": "Me again"}, "roleAdministrator": {"127": True}}}
        assert (
            api.post(
                API, {"elements": [made]}, "application/json", token=token_for(showcase, Role.ARCHITECT)
            ).status_code
            == 403
        )

    def test_an_architect_changes_everything_else(self, showcase: Storage, api: ApiClient) -> None:
        body = {"elements": [{"id": USER, "type": "user", "attributes": {"firstName": {"127": "New"}}}]}
        assert api.post(API, body, "application/json", token=token_for(showcase, Role.ARCHITECT)).status_code == 200

    def test_an_account_does_not_widen_itself(self, showcase: Storage) -> None:
        office = Office(showcase, Role.ARCHITECT, Role.ADMINISTRATOR, user_id=USER)
        assert office.get("storage/apitoken/").status_code == 403
        office.post(f"elements/element/{USER}/edit/", {"a-roleAdministrator": "true", "read": "{}"})
        assert office.get("storage/apitoken/").status_code == 403


def test_messages_stay_in_their_storage(showcase: Storage, storage: Storage) -> None:
    account = StaffAccountFactory.create()
    for each in (showcase, storage):
        StorageMembership.objects.create(account=account, storage=each, roles=[Role.ADMINISTRATOR.value])
    browser = signed_in(account)
    page = browser.get(f"{USERS}{USER}/change/").content.decode()
    browser.post(f"{USERS}{USER}/change/", {**form_of(page), "name_1033": "Secret name"})
    assert "Secret name" not in browser.get("/acme/handbook/admin/").content.decode()
    assert "Secret name" in browser.get(OFFICE + "element/").content.decode()


def test_the_sign_in_page_does_not_name_a_storage(storage: Storage, other_storage: Storage) -> None:
    assert "Rival" not in Client().get("/rival/handbook/admin/login/").content.decode()
    stranger = StaffAccountFactory.create()
    StorageMembership.objects.create(account=stranger, storage=storage, roles=["administrator"])
    assert signed_in(stranger).get("/rival/handbook/admin/login/").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "../release/task/?state=%00",
        "../release/task/?type=%00",
        "../release/task/?stuck=%00",
        "../release/lifecycleentry/?step=%00",
        "../release/lifecycleentry/?p=99999999999999999999999",
        "../release/task/00000000-0000-4000-8000-000000000001/accept/?back=http://[",
        "../facets/property/?kind=%00",
        "../storage/apitoken/?created_on__year=0",
        "../storage/apitoken/?digest__startswith=a",
        "element/?state=%00",
        "element/?stage=%00",
        "element/?facet=%00",
        "element/?type=%00",
        "element/?p=99999999999999999999",
        "element/?q=%00",
        "choices/?types=user&page=" + "9" * 5000,
        "choices/?types=%00",
        "choices/?culture=%00&term=a",
        "element/%0A/new-version/",
        "element/%00/change/",
        "user/?q=%00",
        "tree/?facet=%00&open=%00",
    ],
)
def test_garbage_does_not_cause_server_errors(showcase: Storage, path: str) -> None:
    assert Office(showcase, *Role).get(f"elements/{path}").status_code < 500


def test_members_that_are_not_ids(showcase: Storage) -> None:
    office = Office(showcase, *Role)
    response = office.post("elements/usergroup/add/", {"name_1033": "Group", "members": ["zz"]})
    assert response.status_code == 200


def test_a_form_that_says_it_has_read_something_endless(showcase: Storage) -> None:
    response = Office(showcase, *Role).post(f"elements/element/{USER}/edit/", {"read": "[" * 100_000})
    assert response.status_code < 500


@pytest.mark.parametrize("typed", ["1e999999999", "1e-999999", "1_000", "１２", "NaN", "Infinity", "0x10", "1" * 500])
def test_a_text_that_is_not_a_number_stays_a_text(typed: str) -> None:
    assert read_typed(DataType.DECIMAL, typed) == typed


def test_files_that_are_not_json() -> None:
    with pytest.raises(NoJson):
        read_typed(DataType.FILES, "[" * 100_000)


def test_saving_an_unchanged_user_changes_nothing(showcase: Storage) -> None:
    office = Office(showcase, *Role)
    before, groups = user_with(showcase, ARCHITECT), groups_in(showcase)
    page = office.get(f"elements/user/{USER}/change/").content.decode()
    data = {**form_of(page), "groups": [str(each) for each in reversed(groups)]}
    assert office.post(f"elements/user/{USER}/change/", data).status_code == 302
    after = user_with(showcase, ARCHITECT)
    assert (after.revision, json.dumps(after.attributes)) == (before.revision, json.dumps(before.attributes))
    assert groups_in(showcase) == groups


def test_a_text_of_several_lines_is_saved_unchanged(showcase: Storage, api: ApiClient) -> None:
    body = {"elements": [{"id": USER, "type": "user", "attributes": {"name": {"1033": "Line one\nLine two"}}}]}
    token = token_for(showcase, Role.ADMINISTRATOR)
    assert api.post(API, body, "application/json", token=token).status_code == 200
    office, before = Office(showcase, *Role), user_with(showcase, ARCHITECT)
    page = office.get(f"elements/user/{USER}/change/").content.decode()
    data = {**form_of(page), "name_1033": "Line one\r\nLine two", "groups": [str(each) for each in groups_in(showcase)]}
    assert office.post(f"elements/user/{USER}/change/", data).status_code == 302
    after = user_with(showcase, ARCHITECT)
    assert (after.revision, after.attributes["name"]) == (before.revision, before.attributes["name"])


def test_a_user_of_an_account_cannot_be_deleted(showcase: Storage, api: ApiClient) -> None:
    made = {"type": "user", "attributes": {"name": {"1033": "Boss"}, "roleAdministrator": {"127": True}}}
    answer = api.post(API, {"elements": [made]}, "application/json", token=token_for(showcase, Role.ADMINISTRATOR))
    boss = answer.json()["elements"][0]["id"]
    account = StaffAccountFactory.create(username="the-boss")
    StorageMembership.objects.create(account=account, storage=showcase, roles=["administrator"], user_id=boss)
    office = Office(showcase, Role.ARCHITECT)
    form = office.form(f"elements/element/{boss}/delete/")
    refused = office.post(f"elements/element/{boss}/delete/", form)
    assert "a staff account belongs to this user: the-boss" in main_text(refused)
    assert api.delete(f"{API}/{boss}", token=token_for(showcase, Role.ARCHITECT)).status_code == 409
    assert signed_in(account).get("/demo/showcase/admin/").status_code == 200


@pytest.mark.parametrize("method", ["put", "patch", "delete", "options"])
def test_other_methods_are_not_taken_for_reading(showcase: Storage, method: str) -> None:
    office = Office(showcase, *Role)
    for path in ("", "elements/element/", f"elements/user/{USER}/change/"):
        assert getattr(office.client, method)(office.base + path).status_code == 405


def test_names_are_found_however_they_are_written(showcase: Storage) -> None:
    office = Office(showcase, *Role)
    assert office.post("elements/usergroup/add/", {"name_1033": "Straßenbau"}).status_code == 302
    for written in ("Straßenbau", "straße", "STRASSE", "Stra", "bau stra"):
        assert "Straßenbau" in office.page(f"elements/usergroup/?q={written}"), written


def test_a_cleaner_that_leaves_angles_in_values_would_show() -> None:
    """Markup that is added after cleaning must not be confused by the value."""
    shown = shown_markup('<p title="&lt;img onmouseover=alert(1) x=&gt;&lt;table&gt;">text</p>', "Table")
    assert shown == '<p title="&lt;img onmouseover=alert(1) x=&gt;&lt;table&gt;">text</p>'


def groups_in(storage: Storage) -> list[UUID]:
    with tenant_scope(storage):
        found = groups_of([ARCHITECT])[ARCHITECT]
    assert TEAM in found
    return found
