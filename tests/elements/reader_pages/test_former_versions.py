"""Links to versions that were published once (D411), and the 404 page of a storage (D412)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import timezone

from elements.models import Element, ElementVersion
from elements.reading.assembly.assembler import Reader
from elements.reading.former import find_former
from elements.reading.rows import Audience
from facets.clearance import Clearance, visible_to
from facets.configuration import configuration_of
from repository_site.core.environment.values import Rate
from repository_site.core.rest.throttling import Throttle
from storage.models import AnonymousAccess, Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.handbook import ID
from tests.elements.office import Office
from tests.elements.reader_page import ParsedReaderPage, found_in, read_page
from tests.factories import StaffAccountFactory, token_for

pytestmark = pytest.mark.django_db
ROOT = "/acme/handbook"
UNKNOWN = "00000000-0000-4000-8000-ffffffffffff"


def notes(page: ParsedReaderPage) -> list[str]:
    return [line for line in page.lines if "version" in line and not line.startswith("Version")]


def canonical(page: ParsedReaderPage) -> list[str]:
    return [each["href"] for each in page.attributes("link") if each["rel"] == "canonical"]


def release(api: ApiClient, storage: Storage, name: str) -> Any:
    token = token_for(storage, Role.ARCHITECT, Role.APPROVER)
    address = f"{ROOT}/_api/release/{ID[name]}/transitions/InProcessToReleased?ignoreWarnings=true"
    response = api.post(address, {}, "application/json", token=token)
    assert response.status_code == 200, response.content
    return response.json()


def test_a_former_version_leads_readers_to_the_version_of_today(handbook: Storage) -> None:
    response = Client().get(f"{ROOT}/1033/processes/{ID['order-1']}?shape={ID['shape-check-2']}")
    assert response.status_code == 200
    html = response.content.decode()
    page = read_page(html)
    assert notes(page) == ["The link leads to version 1.0, which is not valid any more. This is version 2.0."]
    assert (1, "Handle order") in page.headings
    assert canonical(page) == [f"{ROOT}/1033/processes/{ID['order-2']}"]
    assert found_in(html, "Take order") == []
    assert page.section("Diagram")[0] == "Selected: Check Task Clear the selection"
    german = read_page(Client().get(f"{ROOT}/1031/processes/{ID['order-1']}").content.decode())
    text = "Der Link führt zu Version 1.0, die nicht mehr gültig ist. Dies ist Version 2.0."
    assert text in german.lines
    other = Client().get(f"{ROOT}/1033/it/{ID['order-1']}")
    assert (other.status_code, other["Location"]) == (302, f"{ROOT}/1033/processes/{ID['order-1']}")


def test_members_of_the_back_office_open_the_former_version_and_compare(handbook: Storage) -> None:
    client = Office(handbook, Role.ANALYZER).client
    page = read_page(client.get(f"{ROOT}/1033/processes/{ID['order-1']}").content.decode())
    assert (1, "Take order") in page.headings
    assert notes(page)[0] == "This is an older version. Go to version 2.1 · Compare both versions"
    addresses = [address for text, address in page.links if text == "Compare both versions"]
    place = f"{ROOT}/admin/elements/element/{ID['order']}/change/?tab=versions&old={ID['order-1']}&new="
    assert addresses == [place + ID["order-3"], place + ID["order-2"]]
    compared = client.get(addresses[0])
    assert found_in(compared.content.decode(), "From version 1.0 to version 2.1") != []
    # Viewers must not see the content of the other version.
    viewer = Office(handbook, Role.VIEWER).client.get(f"{ROOT}/1033/processes/{ID['order-1']}").content.decode()
    assert found_in(viewer, "Compare both versions", "Take order") == []


def test_parts_of_a_former_diagram_lead_to_their_successors(handbook: Storage, api: ApiClient) -> None:
    release(api, handbook, "order-3")
    page = read_page(Client().get(f"{ROOT}/1033/processes/{ID['order-2']}").content.decode())
    assert notes(page) == ["The link leads to version 2.0, which is not valid any more. This is version 3.0."]
    part = read_page(Client().get(f"{ROOT}/1033/processes/{ID['check-2']}").content.decode())
    note = "The link leads to a part of an earlier version. This page shows its replacement."
    assert (notes(part)[0], (1, "Check again") in part.headings) == (note, True)
    assert canonical(part) == [f"{ROOT}/1033/processes/{ID['check-3']}"]
    # Without a copy that readers see, the diagram replaces the part.
    for changed in ({"published_id": None}, {"creation_id": UNKNOWN}):
        with tenant_scope(handbook):
            Element.objects.filter(id=ID["check-3"]).update(**changed)
        part = read_page(Client().get(f"{ROOT}/1033/processes/{ID['check-2']}").content.decode())
        assert (notes(part)[0], (1, "Handle every order") in part.headings) == (note, True)
    # A draft in a published diagram is not a part of it.
    assert Client().get(f"{ROOT}/1033/processes/{ID['invoice']}").status_code == 404


@pytest.mark.parametrize("name", ["old", "old-1"])
def test_what_has_expired_says_so(handbook: Storage, name: str) -> None:
    response = Client().get(f"{ROOT}/1033/it/{ID[name]}")
    assert response.status_code == 410
    html = response.content.decode()
    page = read_page(html)
    assert page.lines == [
        "Not valid any more",
        "This content was published once. It is no longer valid, and nothing has replaced it.",
        "Search for a name above, or choose what to browse. Go to the start page",
    ]
    assert found_in(html, "Old system") == []
    assert page.address("Processes") == f"{ROOT}/1033/processes/"
    assert [each["action"] for each in page.attributes("form")] == [f"{ROOT}/1033/search"]
    german = read_page(Client().get(f"{ROOT}/1031/it/{ID[name]}").content.decode())
    assert german.headings[0] == (1, "Nicht mehr gültig")


@pytest.mark.parametrize("name", ["erp-2", "crm", "crm-1", "order-3", "invoice", "check-3", "shape-check-2", "token"])
def test_what_was_never_published_looks_unknown(handbook: Storage, name: str) -> None:
    found, unknown = (Client().get(f"{ROOT}/1033/it/{each}") for each in (ID[name], UNKNOWN))
    assert (found.status_code, unknown.status_code) == (404, 404)
    assert found.content.decode().replace(ID[name], UNKNOWN) == unknown.content.decode()


def test_a_version_that_was_retired_without_a_release_looks_unknown(handbook: Storage) -> None:
    with tenant_scope(handbook):
        ElementVersion.objects.filter(id__in=[ID["order-1"], ID["old-1"]]).update(released_on=None)
    for path in (f"processes/{ID['order-1']}", f"it/{ID['old']}", f"it/{ID['old-1']}"):
        assert Client().get(f"{ROOT}/1033/{path}").status_code == 404, path


def test_a_draft_looks_unknown_whatever_its_release_date(handbook: Storage) -> None:
    with tenant_scope(handbook):
        ElementVersion.objects.filter(id=ID["order-3"]).update(released_on=timezone.now())
    assert Client().get(f"{ROOT}/1033/processes/{ID['order-3']}").status_code == 404


def test_former_versions_of_private_types_are_unknown(handbook: Storage) -> None:
    with tenant_scope(handbook):
        configuration = visible_to(Clearance.READER, configuration_of(handbook))
        reader = Reader(configuration, Audience(sees_drafts=False), ZoneInfo("UTC"), "")
        former = find_former(reader, ID["order-1"])
        assert former is not None
        assert (former.major, former.minor, former.successor) == (1, 0, ID["order-2"])
        closed = replace(reader, audience=Audience(sees_drafts=False, closed=frozenset({former.type})))
        assert find_former(closed, ID["order-1"]) is None


@pytest.mark.parametrize(
    ("path", "language", "heading"),
    [
        ("/1031/processes/nothing", "de-DE", "Seite nicht gefunden"),
        ("/1033/nothing/", "en-US", "Page not found"),
        ("/nothing/at/all", "en-US", "Page not found"),
        ("/1036/", "en-US", "Page not found"),
        ("/_l/2345678923", "en-US", "Page not found"),
    ],
)
def test_the_404_page_has_header_search_and_facets(handbook: Storage, path: str, language: str, heading: str) -> None:
    response = Client(headers={"Accept-Language": "en"}).get(f"{ROOT}{path}")
    page = read_page(response.content.decode())
    assert (response.status_code, response["Content-Language"]) == (404, language)
    assert page.headings[0] == (1, heading)
    lcid = "1031" if language == "de-DE" else "1033"
    assert [each["action"] for each in page.attributes("form")] == [f"{ROOT}/{lcid}/search"]
    assert f"{ROOT}/{lcid}/it/" in page.addresses
    # Signing in leads back to the page.
    assert [address for address in page.addresses if "/admin/login/?next=" in address]
    assert "no-cache" in response["Cache-Control"]


def stranger() -> Client:
    """Return the client of an account that is not a member of the storage."""
    client = Client()
    client.force_login(StaffAccountFactory.create(password="!"))
    return client


def test_others_get_a_plain_404_page(handbook: Storage) -> None:
    assert found_in(Client().post(f"{ROOT}/nothing").content.decode(), "<form") == []
    member = Office(handbook, Role.EDITOR).client
    for path in ("nothing/", "elements/element/nothing/change/"):
        page = read_page(member.get(f"{ROOT}/admin/{path}").content.decode())
        assert page.headings == [(1, "Page not found")]
        assert page.links == [("Back office", f"{ROOT}/admin/"), ("Go to the start page", f"{ROOT}/")]
    Storage.objects.filter(pk=handbook.pk).update(anonymous_access=AnonymousAccess.NONE)
    for client in (Client(), stranger()):
        html = client.get(f"{ROOT}/nothing/at/all").content.decode()
        assert found_in(html, "Processes", "<form") == []


def test_unknown_addresses_are_throttled(handbook: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.api.throttling.anonymous_throttle", Throttle(Rate(per_second=0.001, burst=2)))
    client = Client()
    assert [client.get(f"{ROOT}/nothing/at/all").status_code for _ in range(3)] == [404, 404, 429]


def test_a_page_of_an_element_that_does_not_exist_counts_once(
    handbook: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.api.throttling.anonymous_throttle", Throttle(Rate(per_second=0.001, burst=2)))
    client = Client()
    assert [client.get(f"{ROOT}/1033/it/nothing").status_code for _ in range(3)] == [404, 404, 429]


def test_a_printed_page_has_a_header(handbook: Storage) -> None:
    html = Client().get(f"{ROOT}/1033/processes/{ID['order-1']}").content.decode()
    head = html.partition('<div class="print-head">')[2].partition("</div>")[0]
    shown = [" ".join(line.split()) for line in head.replace("<p", "\n<p").splitlines() if line.strip()]
    texts = [line.partition(">")[2].removesuffix("</p>").strip() for line in shown]
    day = texts[1].rpartition("Printed on ")[2]
    assert texts == [
        "Handle order",
        f"handbook · Version 2.0 · Released · Printed on {day}",
        f"http://testserver{ROOT}/1033/processes/{ID['order-2']}",
        "This printed copy is uncontrolled. The valid version is at this address.",
    ]
    assert day.endswith(tuple("0123456789"))
