"""The back office of a storage: access, links and language."""

from __future__ import annotations

import pytest
from django.test import Client

from storage.models import StaffAccount, Storage, StorageMembership
from storage.options import Role
from tests.factories import StaffAccountFactory

pytestmark = pytest.mark.django_db
OFFICE = "/acme/handbook/admin/"


def signed_in(account: StaffAccount) -> Client:
    client = Client()
    client.force_login(account)
    return client


def member(storage: Storage, *roles: Role) -> Client:
    account = StaffAccountFactory.create()
    StorageMembership.objects.create(account=account, storage=storage, roles=[role.value for role in roles])
    return signed_in(account)


def test_anonymous_visitors_sign_in_and_return(storage: Storage) -> None:
    response = Client().get(OFFICE)
    assert (response.status_code, response["Location"]) == (302, f"{OFFICE}login/?next={OFFICE}")
    StaffAccountFactory.create(username="anna", is_superuser=True)
    client = Client()
    form = {"username": "anna", "password": "a good password", "next": OFFICE}
    assert client.post(f"{OFFICE}login/", form)["Location"] == f"{OFFICE}my-work/"
    assert client.get(OFFICE).status_code == 200


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.VIEWER])
def test_every_role_above_viewer_has_access(storage: Storage, role: Role) -> None:
    response = member(storage, role).get(OFFICE)
    assert response.status_code == 200
    assert "Handbook" in response.content.decode()
    assert "no-store" in response["Cache-Control"]


def test_a_viewer_is_redirected_to_the_reader_pages(storage: Storage) -> None:
    client = member(storage, Role.VIEWER)
    assert client.get(OFFICE)["Location"] == "/acme/handbook/"
    assert client.get(f"{OFFICE}password_change/").status_code == 403


def test_staff_of_another_storage_get_404(storage: Storage, other_storage: Storage) -> None:
    client = member(other_storage, Role.ADMINISTRATOR)
    assert client.get("/rival/handbook/admin/").status_code == 200
    assert client.get(OFFICE).status_code == 404
    assert client.get(f"{OFFICE}password_change/").status_code == 404


def test_links_stay_inside_the_storage(storage: Storage) -> None:
    page = signed_in(StaffAccountFactory.create(is_superuser=True)).get(OFFICE).content.decode()
    links = {part.split('"')[0] for part in page.split('href="')[1:]}
    inside = {link for link in links if "/admin/" in link}
    assert inside
    assert all(link.startswith(OFFICE) for link in inside), inside


def test_an_unknown_storage_is_not_found(storage: Storage) -> None:
    assert signed_in(StaffAccountFactory.create(is_superuser=True)).get("/acme/other/admin/").status_code == 404


def test_the_language_is_that_of_the_account_else_of_the_browser(storage: Storage) -> None:
    german = signed_in(StaffAccountFactory.create(is_superuser=True, language="de"))
    plain = signed_in(StaffAccountFactory.create(is_superuser=True))
    assert german.get(OFFICE)["Content-Language"] == "de"
    assert plain.get(OFFICE)["Content-Language"] == "en"
    assert plain.get(OFFICE, headers={"Accept-Language": "de-AT,en;q=0.5"})["Content-Language"] == "de"
