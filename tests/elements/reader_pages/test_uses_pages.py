"""The uses of an element on its page and on their own page, by context, process and step (D417 to D419)."""

from __future__ import annotations

import pytest
from django.test import Client

from elements.pages import element_pages
from elements.pages import uses as uses_module
from storage.models import Storage, StorageMembership
from storage.options import Role
from tests.elements.reader_page import ParsedReaderPage, read_page
from tests.elements.uses_desk import FACET_OF, ID
from tests.factories import StaffAccountFactory

pytestmark = pytest.mark.django_db
ROOT = "/acme/uses"
DUTIES = [
    "Performed by", "A repair Sub process Released", "Inspect Task", "Build Sub process Released", "Weld Task", "Cut Task",
    "Accountable", "Build Sub process Released", "Weld Task",
    "Informed", "A repair Sub process Released", "Inspect Task",
]  # fmt: skip
COURSE = ["Target group", "Welding course Training course Released"]


def address(name: str, type: str, lcid: int = 1033) -> str:
    return f"{ROOT}/{lcid}/{FACET_OF[type]}/{ID[name]}"


def page_of(path: str, client: Client | None = None) -> ParsedReaderPage:
    response = (client or Client()).get(path)
    assert response.status_code == 200, (path, response.status_code, response.get("Location"))
    return read_page(response.content.decode())


@pytest.fixture
def analyzer(uses: Storage) -> Client:
    account = StaffAccountFactory.create()
    StorageMembership.objects.create(account=account, storage=uses, roles=[Role.ANALYZER.value])
    client = Client()
    client.force_login(account)
    return client


def test_the_page_of_a_role_tells_what_people_do(uses: Storage) -> None:
    page = page_of(address("assembler-1", "role"))
    assert page.section("As Assembler you do:") == DUTIES
    assert page.section("Where used") == COURSE
    assert page.address("Weld") == address("weld", "task")
    assert page.address("Build") == address("build-2", "subProcess")
    assert page.address("Where used") == "#uses"
    ids = [each["id"] for each in page.attributes("h2") if each.get("id", "").startswith("uses")]
    assert ids == ["uses", "uses-1"]


def test_headings_are_in_the_language_of_the_page(uses: Storage) -> None:
    page = page_of(address("assembler-1", "role", 1031))
    assert page.section("Ihre Aufgaben in der Rolle Assembler:")[:3] == [
        "Ausführende Rollen", "A repair Teilprozess Freigegeben", "Inspect Aufgabe",
    ]  # fmt: skip
    assert page.section("Verwendungen")[0] == "Zielgruppe"


def test_members_who_see_drafts_see_their_uses(uses: Storage, analyzer: Client) -> None:
    page = page_of(address("assembler-1", "role"), analyzer)
    assert page.section("As Assembler you do:") == [
        "Performed by", "A repair Sub process Released", "Inspect Task",
        "Build better Sub process In process", "Cut quickly Task",
        "Gone Sub process Expired", "Pack Task", "Idea Sub process In process", "Dream Task",
        "Informed", "A repair Sub process Released", "Inspect Task",
    ]  # fmt: skip


def test_a_system_names_further_diagrams_of_a_step(uses: Storage) -> None:
    page = page_of(address("saw-1", "system"))
    assert page.section("Where used") == [
        "Systems", "A repair Sub process Released", "Check Sub process Released Also in Build",
        "Build Sub process Released", "Cut Task",
        "Further systems (input)", "Build Sub process Released", "Cut Task",
    ]  # fmt: skip


def test_private_uses_are_hidden_from_readers(uses: Storage, analyzer: Client) -> None:
    path = address("measure-1", "measure")
    assert "Where used" not in page_of(path).lines
    assert page_of(path, analyzer).section("Where used") == ["Measures", "Fire Risk Released"]
    assert "Fire" not in Client().get(f"{path}/uses").content.decode()
    assert Client().get(f"{path}/uses?context=measures").status_code == 404


def test_an_element_without_uses_has_no_section(uses: Storage) -> None:
    page = page_of(address("idle-1", "role"))
    assert [line for line in page.lines if "used" in line or "you do" in line] == []
    assert page_of(f"{address('idle-1', 'role')}/uses").lines[-2:] == ["Where Idle is used", "No element uses it."]


class TestAllUses:
    def test_the_element_page_leads_to_all_uses(self, uses: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(element_pages, "USES_SHOWN", 2)
        page = page_of(address("assembler-1", "role"))
        shown = page.section("As Assembler you do:")
        assert shown == [*DUTIES[:5], "Show all 6 uses"]
        assert page.address("Show all 6 uses") == f"{address('assembler-1', 'role')}/uses"
        assert "Show all 6 uses" not in page_of(address("idle-1", "role")).lines

    def test_the_page_shows_them_in_the_same_form(self, uses: Storage) -> None:
        page = page_of(f"{address('assembler-1', 'role')}/uses")
        assert page.lines == [
            "uses", "Roles", "Assembler", "Where used",
            "Role", "Where Assembler is used", "6 uses",
            "Context", "Performed by 3", "Accountable 1", "Informed 1", "Target group 1",
            "As Assembler you do:", *DUTIES, "Where used", *COURSE,
        ]  # fmt: skip
        assert page.title == "Where Assembler is used · uses"

    def test_pages_follow_each_other(self, uses: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(uses_module, "PAGE", 2)
        path = f"{address('assembler-1', 'role')}/uses"
        first = page_of(path)
        assert first.lines[-2:] == [DUTIES[4], "Page 1 of 3 Next page"]
        assert first.address("Next page") == f"{path}?page=2"
        second = page_of(f"{path}?page=2")
        assert second.section("As Assembler you do:")[:3] == ["Performed by", DUTIES[3], "Cut Task"]
        beyond = page_of(f"{path}?page=99999")
        assert beyond.address("Previous page") == f"{path}?page=3"
        assert page_of(f"{path}?page=many").lines == first.lines

    def test_a_context_narrows_them(self, uses: Storage) -> None:
        path = f"{address('assembler-1', 'role')}/uses"
        page = page_of(f"{path}?context=accountable")
        assert page.section("As Assembler you do:") == DUTIES[6:9]
        assert "1 use" in page.lines
        assert page.address("Performed by 3") == f"{path}?context=roles"
        back = "Accountable 1 (chosen; follow the link to show the others again)"
        assert page.address(back) == path
        assert Client().get(f"{path}?context=unknown").status_code == 404

    def test_a_list_that_is_not_complete_says_so(self, uses: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("elements.reading.referrers.PAGE_READ", 3)
        lines = page_of(f"{address('assembler-1', 'role')}/uses").lines
        assert any("so often that only some of its uses are listed" in line for line in lines)

    def test_addresses_of_others_lead_to_the_right_page(self, uses: Storage) -> None:
        path = f"{address('assembler-1', 'role')}/uses"
        wrong = Client().get(path.replace("/roles/", "/it/") + "?context=roles")
        assert (wrong.status_code, wrong["Location"]) == (302, f"{path}?context=roles")
        assert page_of(f"{address('assembler', 'role')}/uses").lines == page_of(path).lines
        for missing in (address("painter-1", "role"), f"{ROOT}/1033/roles/none"):
            assert Client().get(f"{missing}/uses").status_code == 404

    def test_another_storage_has_its_own_uses(self, uses: Storage) -> None:
        lines = page_of(f"{address('assembler-1', 'role')}/uses".replace("/acme/", "/rival/")).lines
        assert "As Rival Assembler you do:" in lines
        assert "Rival Weld Task" in lines
