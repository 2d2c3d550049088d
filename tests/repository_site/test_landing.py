"""The landing page: who sees which storages, and where it leads."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from repository_site.api_document.document import openapi_document
from repository_site.api_document.document_page import POLICY
from repository_site.dashboard import landing
from storage.models import StaffAccount, Storage, StorageMembership
from storage.options import Role
from tests.factories import StaffAccountFactory, StorageFactory
from tests.storage.office import member, signed_in

CARD = re.compile(r'<li class="card">(.*?)</li>', re.DOTALL)
LINK = re.compile(r'href="([^"]+)"')


def cards(client: Client, query: str = "") -> dict[str, list[str]]:
    """The links of each card, by the path of its storage."""
    page = client.get(f"/{query}").content.decode()
    found = CARD.findall(page)
    return {re.findall(r'card-path">([^<]+)<', each)[0]: LINK.findall(each) for each in found}


def links(path: str, *, office: bool) -> list[str]:
    pages = [f"/{path}/", f"/{path}/"]
    return [*pages, f"/{path}/admin/", f"/{path}/_api/docs"] if office else [*pages, f"/{path}/_api/docs"]


class TestAnonymousVisitors:
    def test_they_see_no_list(self, client: Client, storage: Storage, open_storage: Storage) -> None:
        response = client.get("/")
        assert response.status_code == 200
        assert response["Cache-Control"] == "private, no-cache"
        assert response["Vary"] == "Accept-Language, Cookie"
        page = response.content.decode()
        assert '<html lang="en">' in page
        assert ">Open<" not in page
        assert "acme/" not in page
        assert "Handbook" not in page
        assert 'href="/admin/login/?next=/"' in page
        assert cards(client) == {}

    def test_they_see_what_anybody_may_read_where_the_operator_allows_it(
        self, client: Client, storage: Storage, open_storage: Storage, settings: Settings
    ) -> None:
        settings.PUBLIC_STORAGE_LIST = True
        assert cards(client) == {"acme/open": links("acme/open", office=False)}

    def test_without_such_a_storage_the_page_says_so(
        self, client: Client, storage: Storage, settings: Settings
    ) -> None:
        settings.PUBLIC_STORAGE_LIST = True
        page = client.get("/").content.decode()
        assert "No storage can be read without signing in." in page

    def test_the_page_speaks_the_language_of_the_browser(self, client: Client, db: None) -> None:
        response = client.get("/", headers={"Accept-Language": "de"})
        assert response["Content-Language"] == "de"
        assert '<html lang="de">' in response.content.decode()

    def test_only_reading_is_possible(self, client: Client, db: None) -> None:
        assert client.head("/").status_code == 200
        assert client.post("/").status_code == 405


class TestApiReference:
    """`/api/` has the whole OpenAPI document for everybody, and nothing of any storage (D177)."""

    def test_the_landing_page_leads_to_it(self, client: Client, db: None) -> None:
        assert '<a href="/api/">API reference</a>' in client.get("/").content.decode()

    def test_anonymous_visitors_read_every_operation(
        self, client: Client, storage: Storage, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        with django_assert_num_queries(0):
            response = client.get("/api/")
        page = response.content.decode()
        paths = openapi_document()["paths"].values()
        ids = {operation["operationId"] for operations in paths for operation in operations.values()}
        # A read by POST is shown with its GET.
        repeated = {f"{operations['get']['operationId']}ByPost" for operations in paths if "get" in operations}
        assert set(re.findall(r'<details class="operation" id="([^"]+)"', page)) == ids - repeated
        assert (response.status_code, response["Content-Security-Policy"]) == (200, POLICY)
        assert response["Cache-Control"] == "private, no-cache"
        assert response["Vary"] == "Accept-Language, Cookie"
        assert 'href="/api/openapi.json"' in page
        assert 'data-name="collectionId"' in page
        assert "data-collection" not in page
        assert "handbook" not in page.lower().replace("process handbook", "")

    def test_the_document_is_that_of_every_storage(
        self, client: Client, open_storage: Storage, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        with django_assert_num_queries(0):
            response = client.get("/api/openapi.json")
        assert (response.status_code, response["Content-Type"]) == (200, "application/json")
        assert response["Cache-Control"] == "no-cache"
        assert response.content == client.get("/acme/open/_api/schema").content

    def test_the_page_speaks_german(self, client: Client) -> None:
        page = client.get("/api/", headers={"Accept-Language": "de"}).content.decode()
        assert "<h1>API-Referenz</h1>" in page

    @pytest.mark.parametrize("address", ["/api/", "/api/openapi.json"])
    def test_only_reading_is_possible(self, client: Client, address: str) -> None:
        assert client.head(address).status_code == 200
        assert client.post(address).status_code == 405


class TestStaff:
    def test_they_see_the_storages_of_their_memberships(self, storage: Storage, open_storage: Storage) -> None:
        assert cards(member(storage, Role.EDITOR)) == {"acme/handbook": links("acme/handbook", office=True)}

    def test_viewers_are_not_led_to_the_back_office(self, storage: Storage) -> None:
        assert cards(member(storage, Role.VIEWER)) == {"acme/handbook": links("acme/handbook", office=False)}

    def test_the_number_of_statements_is_fixed(
        self, storage: Storage, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        client = member(storage, Role.EDITOR)
        account = StaffAccount.objects.get(memberships__storage=storage)
        for key in ("a", "b", "c"):
            other = StorageFactory.create(collection="acme", key=key)
            StorageMembership.objects.create(account=account, storage=other, roles=["viewer"], user_id=uuid4())
        with django_assert_num_queries(4):
            assert len(cards(client)) == 4

    def test_public_storages_are_listed_as_well(
        self, storage: Storage, open_storage: Storage, settings: Settings
    ) -> None:
        settings.PUBLIC_STORAGE_LIST = True
        assert cards(member(storage, Role.EDITOR)) == {
            "acme/handbook": links("acme/handbook", office=True),
            "acme/open": links("acme/open", office=False),
        }

    def test_without_a_membership_they_learn_whom_to_ask(self, storage: Storage) -> None:
        page = signed_in(StaffAccountFactory.create()).get("/").content.decode()
        assert "You do not belong to any storage yet." in page
        assert "Handbook" not in page


class TestSiteAdministrators:
    @pytest.fixture
    def root(self, db: None) -> Client:
        return signed_in(StaffAccountFactory.create(is_superuser=True))

    def test_they_see_all_storages(self, root: Client, storage: Storage, open_storage: Storage) -> None:
        assert cards(root) == {
            path: links(path, office=True) for path in ("acme/handbook", "acme/open", "rival/handbook")
        }
        assert 'href="/_sysadmin/_admin/_api/docs"' in root.get("/").content.decode()

    def test_they_search_by_every_word(self, root: Client, storage: Storage, open_storage: Storage) -> None:
        assert list(cards(root, "?q=HANDbook")) == ["acme/handbook", "rival/handbook"]
        assert list(cards(root, "?q=rival+hand")) == ["rival/handbook"]
        assert "No storage has this name or title." in root.get("/?q=nothing").content.decode()

    def test_a_long_list_is_cut_and_can_be_searched(
        self, root: Client, storage: Storage, open_storage: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(landing, "MOST", 2)
        monkeypatch.setattr(landing, "FEW", 1)
        page = root.get("/").content.decode()
        assert list(cards(root)) == ["acme/handbook", "acme/open"]
        assert "Only the first 2 storages are shown." in page
        assert 'href="/admin/storage/storage/"' in page
        assert 'name="q"' in page

    def test_the_number_of_statements_is_fixed(
        self, root: Client, storage: Storage, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        for key in ("a", "b", "c"):
            StorageFactory.create(collection="acme", key=key)
        with django_assert_num_queries(3):
            assert len(cards(root)) == 5
