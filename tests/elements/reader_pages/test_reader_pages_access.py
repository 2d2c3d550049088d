"""Visibility follows the rules of the API: no page and no address shows viewers a version in process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from repository_site.core.environment.values import Rate
from repository_site.core.rest.throttling import Throttle
from storage.models import AnonymousAccess, Storage, StorageMembership
from storage.options import Role
from tests.conftest import StorageMaker
from tests.elements.handbook import ID
from tests.elements.reader_page import crawl, found_in, read_page
from tests.factories import StaffAccountFactory
from tests.release import house as releases

pytestmark = [pytest.mark.django_db, pytest.mark.long]
ROOT = "/acme/handbook"
PATHS = [
    "", "/", "/1033/", "/1031/processes/", "/1033/it/?as=list", f"/1033/processes/{ID['order-2']}",
    f"/1033/processes/{ID['order-2']}?shape={ID['shape-check-2']}", "/1033/search?q=order",
]  # fmt: skip
# Only callers who see versions in process see these elements, versions and names.
HIDDEN = [
    "erp-2", "crm", "crm-1", "old", "old-1", "order-1", "order-3", "invoice", "invoice-1", "start-3", "check-3", "retired",
    "retired-1", "shape-invoice-2", "shape-start-3", "shape-check-3",
]  # fmt: skip
HIDDEN_NAMES = [
    "ERP next",
    "CRM",
    "Old system",
    "Take order",
    "Handle every order",
    "Invoice",
    "Check again",
    "Retired",
]
# The buttons that only those see who are signed in, on pages of elements.
LONG_LINK = ("Link to this page:", "Link zu dieser Seite:")
SUBSCRIBING = {"Subscribe", "Subscribe with everything below", "Abonnieren", "Mit allem darunter abonnieren"}


def close(storage: Storage) -> None:
    Storage.objects.filter(pk=storage.pk).update(anonymous_access=AnonymousAccess.NONE)


def signed_in(storage: Storage | None, *roles: Role, **fields: object) -> Client:
    account = StaffAccountFactory.create(**fields)
    if storage is not None:
        StorageMembership.objects.create(account=account, storage=storage, roles=[role.value for role in roles])
    client = Client()
    client.force_login(account)
    return client


@pytest.mark.parametrize("path", PATHS)
def test_a_closed_storage_asks_to_sign_in_and_comes_back(handbook: Storage, path: str) -> None:
    assert Client().get(f"{ROOT}{path}").status_code in (200, 302)
    close(handbook)
    response = Client().get(f"{ROOT}{path}")
    assert response.status_code == 302
    where, _, following = response["Location"].partition("?next=")
    assert where == f"{ROOT}/admin/login/"
    client = Client()
    account = StaffAccountFactory.create(username="vera")
    StorageMembership.objects.create(account=account, storage=handbook, roles=[Role.VIEWER.value])
    form = {"username": "vera", "password": "a good password", "next": f"{ROOT}{path}"}
    signed = client.post(f"{where}?next={following}", form)
    assert (signed.status_code, signed["Location"]) == (302, f"{ROOT}{path}")
    assert client.get(f"{ROOT}{path}", follow=True).status_code == 200


@pytest.mark.parametrize("path", PATHS)
def test_staff_of_other_storages_find_nothing(handbook: Storage, path: str) -> None:
    close(handbook)
    other = Storage.objects.get(collection__key="rival", key="handbook")
    strangers = [signed_in(None), signed_in(other, Role.ADMINISTRATOR), signed_in(handbook), signed_in(handbook, Role.EDITOR, is_active=True, is_staff=False)]  # fmt: skip
    for client in strangers:
        response = client.get(f"{ROOT}{path}")
        assert response.status_code == 404
        page = read_page(response.content.decode())
        assert (len(page.headings), len(page.lines)) == (1, 3)
    assert signed_in(None, is_superuser=True).get(f"{ROOT}{path}", follow=True).status_code == 200


def test_staff_of_other_storages_read_an_open_storage_anonymously(handbook: Storage) -> None:
    other = Storage.objects.get(collection__key="rival", key="handbook")
    client = signed_in(other, Role.ADMINISTRATOR)
    html = client.get(f"{ROOT}/1033/processes/{ID['order']}").content.decode()
    assert found_in(html, "Handle order", "Back office") == ["Handle order"]
    assert client.get(f"{ROOT}/1033/processes/{ID['order-3']}").status_code == 404


def test_the_header_depends_on_the_visitor(handbook: Storage) -> None:
    place = f"/1033/processes/{ID['order-2']}"
    anonymous = read_page(Client().get(f"{ROOT}{place}").content.decode())
    assert (
        anonymous.address("Sign in")
        == f"{ROOT}/admin/login/?next=%2Facme%2Fhandbook%2F1033%2Fprocesses%2F{ID['order-2']}"
    )
    viewer = signed_in(handbook, Role.VIEWER).get(f"{ROOT}{place}").content.decode()
    assert ("Sign out" in viewer, "Back office" in viewer, "Edit in the back office" in viewer) == (True, False, False)
    editor = signed_in(handbook, Role.EDITOR)
    page = editor.get(f"{ROOT}{place}").content.decode()
    assert ("Sign out" in page, "Back office" in page, "Edit in the back office" in page) == (True, True, True)
    signed_out = editor.post(f"{ROOT}/admin/logout/", {"next": f"{ROOT}{place}"})
    assert (signed_out.status_code, signed_out["Location"]) == (302, f"{ROOT}{place}")
    assert found_in(page, f'name="next" value="{ROOT}{place}"')
    assert read_page(editor.get(f"{ROOT}{place}").content.decode()).address("Sign in")


def test_no_page_shows_viewers_a_version_in_process(handbook: Storage) -> None:
    searches = [f"/1033/search?q={name[:4]}" for name in HIDDEN_NAMES]
    starts = ["/1033/", "/1031/", "/1033/processes/?as=list&type=task", *searches]
    pages = dict(crawl(Client(), ROOT, *starts))
    assert len(pages) > 60
    for address, html in pages.items():
        # The heading of a search repeats its text.
        lines = "\n".join(
            line for line in read_page(html).lines if not line.startswith(("Search for “", "Suche nach „"))
        )
        assert found_in(html, *(ID[name] for name in HIDDEN), "Rival") == [], address
        assert found_in(lines, *HIDDEN_NAMES) == [], address
    viewer = signed_in(handbook, Role.VIEWER)
    for address in [*pages][::10]:
        shown = read_page(viewer.get(address).content.decode()).lines
        anonymous = [each for each in read_page(pages[address]).lines if not each.startswith(LONG_LINK)]
        assert [each for each in shown if each not in SUBSCRIBING] == anonymous


def test_editors_see_all_versions_in_process(handbook: Storage) -> None:
    """Prove that the test above can fail."""
    pages = dict(crawl(signed_in(handbook, Role.ANALYZER), ROOT, "/1033/", "/1033/processes/?as=list", within="/1033/"))
    seen = "".join(pages.values())
    assert [name for name in HIDDEN if ID[name] not in seen and not name.startswith("shape-")] == []
    assert [name for name in HIDDEN_NAMES if name not in seen] == []


# Published once: their addresses lead to what is valid today (tests/elements/reader_pages/test_former_versions.py).
FORMER = {"order-1", "old", "old-1", "retired", "retired-1"}


@pytest.mark.parametrize("name", [name for name in HIDDEN if not name.startswith("shape-") and name not in FORMER])
def test_a_viewer_finds_no_hidden_version_by_its_address(handbook: Storage, name: str) -> None:
    facet = "it" if name.startswith(("erp", "crm", "old")) else "processes"
    unknown = Client().get(f"{ROOT}/1033/{facet}/00000000-0000-4000-8000-ffffffffffff")
    for lcid in (1031, 1033):
        found = Client().get(f"{ROOT}/{lcid}/{facet}/{ID[name]}")
        assert found.status_code == 404
    assert found.content.decode().replace(ID[name], unknown.wsgi_request.path.rpartition("/")[2]) == (
        unknown.content.decode()
    )
    for lookup in (f"search?q={ID[name]}", f"processes/?open={ID[name]}", f"{facet}/?as=list&after={ID[name]}"):
        # Nor as a place in the list.
        unused = ID["token"][:-4] + "ffff"
        given = read_page(Client().get(f"{ROOT}/1033/{lookup}").content.decode()).lines
        other = read_page(Client().get(f"{ROOT}/1033/{lookup.replace(ID[name], unused)}").content.decode()).lines
        assert [line.replace(ID[name], unused) for line in given] == other


def test_a_hidden_shape_is_unknown(handbook: Storage) -> None:
    address = f"{ROOT}/1033/processes/{ID['order-2']}?shape="
    hidden = read_page(Client().get(address + ID["shape-invoice-2"]).content.decode())
    unknown = read_page(Client().get(f"{address}00000000-0000-4000-8000-ffffffffffff").content.decode())
    assert hidden.lines == unknown.lines


@pytest.fixture(scope="module")
def house(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """One process in every state, see `tests/release/house.py`."""
    file = releases.write_lines(tmp_path_factory.mktemp("house") / "lines.ndjson")
    with filled_storage(file, collection="acme", key="house", template="standard", anonymous="read") as storage:
        yield storage


def test_viewers_see_released_states_only(house: Storage) -> None:
    starts = ("/1033/", "/1033/processes/?as=list", "/1033/search?q=task")
    pages = dict(crawl(Client(), "/acme/house", *starts, within="/1033/"))
    html = "".join(pages.values())
    for state in releases.STATES:
        is_seen = state in releases.PUBLISHED
        parts = [releases.ID[f"{state}{part}"] for part in ("-1", "-start", "-task", "-end")]
        assert [each in html for each in parts] == [is_seen] * 4, state
        assert (f"{state}-1" in html, f"task of {state}-1" in html) == (is_seen, is_seen)
        status = Client().get(f"/acme/house/1031/processes/{releases.ID[state]}").status_code
        assert status == (200 if is_seen else 410 if state == "expired" else 404)
    assert found_in(html, releases.ID["order-1"]) == []


def test_content_of_another_tenant_is_not_found(handbook: Storage, house: Storage) -> None:
    """Ids of the other storage are unknown; ids that both have show this storage's content."""
    client = signed_in(handbook, Role.ADMINISTRATOR)
    assert len(releases.ID) > len(ID)
    for name in ("requestToExpire-1", "expired", "order-2-task"):
        assert client.get(f"{ROOT}/1033/processes/{releases.ID[name]}").status_code == 404
    rival = Client().get(f"/rival/handbook/1033/processes/{ID['order-2']}").content.decode()
    assert found_in(rival, "Rival Handle order")


def test_anonymous_readers_are_throttled(handbook: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.api.throttling.anonymous_throttle", Throttle(Rate(per_second=0.5, burst=2)))
    client = Client()
    assert [client.get(f"{ROOT}/1031/").status_code for _ in range(3)] == [200, 200, 429]
    response = client.get(f"{ROOT}/1033/it/")
    assert (response.status_code, response["Retry-After"]) == (429, "2")
    assert read_page(response.content.decode()).headings == [(1, "Too many requests")]
    assert signed_in(handbook, Role.VIEWER).get(f"{ROOT}/1033/it/").status_code == 200
    close(handbook)
    assert client.get(f"{ROOT}/1033/it/").status_code == 429


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_pages_only_read(handbook: Storage, method: str) -> None:
    response = getattr(Client(), method)(f"{ROOT}/1033/processes/{ID['order-2']}")
    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD")
    assert Client().head(f"{ROOT}/1033/processes/{ID['order-2']}").status_code == 200
