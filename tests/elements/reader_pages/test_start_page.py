"""The start page: process map, latest releases, and entry points by role and organisation (D423)."""

from __future__ import annotations

import pytest
from django.test import Client

from elements.appearance import AppearanceInput, change_appearance
from elements.models import ElementVersion
from facets.configuration import configuration_of
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.handbook import ID
from tests.elements.office import Office
from tests.elements.reader_page import ParsedReaderPage, read_page

pytestmark = pytest.mark.django_db
DEMO = "/demo/showcase/1033/"


def start(client: Client, path: str = DEMO) -> ParsedReaderPage:
    response = client.get(path)
    assert response.status_code == 200
    return read_page(response.content.decode())


def test_the_demo_has_a_process_map_news_and_entry_points(showcase: Storage) -> None:
    page = start(Client())
    assert page.headings == [
        (1, "showcase"), (2, "Processes"), (3, "Management processes"), (3, "Core processes"), (3, "Support processes"),
        (2, "What is new"), (2, "Roles"), (2, "Organisation"),
    ]  # fmt: skip
    assert page.section("Processes") == [
        "Management processes", "Set direction", "Assure and improve quality",
        "Core processes", "From idea to market", "From order to delivery", "Serve customers",
        "Support processes", "Recruit and develop people", "Manage finance", "Run IT",
        "Customer view",
    ]  # fmt: skip
    assert len(page.section("What is new")) == 10
    assert page.section("What is new")[0] == "Raise pre-season stock Measure September 14, 2026"
    for title in ("Roles", "Organisation"):
        assert len(page.section(title)) == 13
        assert page.section(title)[-1] == f"Show all: {title}"
    assert page.address("Show all: Roles") == f"{DEMO}roles/"


def test_tokens_are_on_no_start_page(showcase: Storage) -> None:
    for client in (Client(), Office(showcase, Role.VIEWER).client, Office(showcase, Role.ADMINISTRATOR).client):
        assert not [address for address in start(client).addresses if "/automation/" in address]


def test_drafts_are_shown_to_those_who_may_see_them_only(handbook: Storage) -> None:
    with tenant_scope(handbook):
        ElementVersion.objects.filter(id=ID["order-2"]).update(attributes={"name": {"1033": "Released name"}})
        ElementVersion.objects.filter(id=ID["order-3"]).update(attributes={"name": {"1033": "Draft name"}})
    for client in (Client(), Office(handbook, Role.EDITOR).client):
        lines = start(client, "/acme/handbook/1033/").section("What is new")
        assert lines[0] == "Released name Sub process February 20, 2026"
        assert not [line for line in lines if "Draft name" in line]


def test_a_storage_without_a_map_shows_its_facets(handbook: Storage) -> None:
    with tenant_scope(handbook):
        change_appearance(handbook, configuration_of(handbook), AppearanceInput(hidden=["processes"]))
    page = start(Client(), "/acme/handbook/1033/")
    assert page.headings == [(1, "handbook"), (2, "What is new"), (2, "IT"), (2, "Users"), (2, "Cultures")]
    assert page.section("What is new") == ["ERP System February 10, 2026"]


def test_stored_texts_of_the_look_never_become_markup(handbook: Storage) -> None:
    hostile = "\"'><script>alert(1)</script>{{ 7 }}"
    with tenant_scope(handbook):
        given = AppearanceInput({"1033": hostile}, {"1033": hostile})
        change_appearance(handbook, configuration_of(handbook), given)
    page = start(Client(), "/acme/handbook/1033/")
    assert page.lines[:2] == [hostile, hostile]
    assert all(each.get("src", "").startswith("/static/") for each in page.attributes("script"))
