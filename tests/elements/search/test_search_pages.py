"""The results page of readers, the suggestions of the search box, and Ctrl+K in the back office (D401 to D404)."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from elements.models import Element
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.handbook import ID
from tests.elements.office import Office
from tests.elements.reader_page import ParsedReaderPage, read_page
from tests.factories import StaffAccountFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("handbook")]
ROOT = "/acme/handbook"
OPTION = re.compile(
    r'<li role="option" aria-selected="false" data-address="([^"]*)"><span[^>]*>([^<]*)</span>(?: <span class="option-about">([^<]*)</span>)?</li>'
)
LIST = f"{ROOT}/admin/elements/element/"
UNKNOWN = "00000000-0000-4000-8000-ffffffffffff"


def page_of(client: Client, query: str, lcid: int = 1033) -> ParsedReaderPage:
    response = client.get(f"{ROOT}/{lcid}/search?{query}")
    assert response.status_code == 200
    return read_page(response.content.decode())


def lines(query: str, client: Client | None = None, lcid: int = 1033) -> list[str]:
    found = page_of(client or Client(), query, lcid).lines
    return found[3:] if found[2].startswith(("Search", "Suche")) else found


def options(response: Any) -> list[tuple[str, ...]]:
    """Return title, about and address of each option."""
    assert response.status_code == 200
    return [
        tuple(html.unescape(each) for each in (title, about, address))
        for address, title, about in OPTION.findall(response.content.decode())
    ]


def test_hits_have_marked_excerpts(handbook: Storage) -> None:
    assert lines("q=order") == [
        "1 element found.",
        "Handle order Sub process Released Processes · From order to invoice.",
    ]
    raw = Client().get(f"{ROOT}/1033/search?q=order").content.decode()
    assert "<span>From <mark>order</mark> to invoice.</span>" in raw
    # The name in another language, which the page does not show otherwise.
    assert lines("q=Auftr%C3%A4ge")[1] == "Handle order Sub process Released Processes · Auftrag abwickeln"
    raw = Client().get(f"{ROOT}/1033/search?q=Auftr%C3%A4ge").content.decode()
    assert '<span lang="de-DE"><mark>Auftrag</mark> abwickeln</span>' in raw
    assert lines("q=Auftrag", lcid=1031)[1] == "Auftrag abwickeln Teilprozess Freigegeben Prozesse"


def test_links_narrow_the_results_and_show_how_many_follow(handbook: Storage) -> None:
    page = page_of(Client(), "q=anna")
    narrowing = [each for each in page.links if "search?" in each[1] and each[0] not in ("Deutsch", "English")]
    start = f"{ROOT}/1033/search?q=anna"
    assert narrowing == [
        ("Processes 2", f"{start}&facet=processes"),
        ("Users 1", f"{start}&facet=users"),
        ("Process house 1", f"{start}&type=processHouse"),
        ("Sub process 1", f"{start}&type=subProcess"),
        ("User 1", f"{start}&type=user"),
    ]
    page = page_of(Client(), "q=anna&facet=PROCESSES&state=released")
    narrowing = [each for each in page.links if "search?" in each[1] and each[0] not in ("Deutsch", "English")]
    chosen = "(chosen; follow the link to show the others again)"
    start = f"{ROOT}/1033/search?q=anna"
    assert narrowing == [
        (f"Processes 1 {chosen}", f"{start}&state=released"),
        (f"Released 1 {chosen}", f"{start}&facet=processes"),
    ]
    assert [each for each in page.lines if each.endswith("found.")] == ["1 element found."]


@pytest.mark.parametrize("query", ["q=anna&facet=users&state=released", "q=anna&state=nothing", "q=anna&page=9"])
def test_a_filter_or_page_without_hits_leads_back(handbook: Storage, query: str) -> None:
    page = page_of(Client(), query)
    assert [each for each in page.links if "/processes/" in each[1] and ID["house"] in each[1]] == []
    assert [address for _, address in page.links if "search?q=anna" in address and address != query]


def test_a_page_after_the_last_one_leads_back_to_it(handbook: Storage) -> None:
    found = [address for text, address in page_of(Client(), "q=anna&page=9").links if text == "Previous page"]
    assert found == [f"{ROOT}/1033/search?q=anna"]


@pytest.mark.parametrize("query", ["type=nothing", "type=authToken", "facet=nothing", "facet=automation"])
def test_an_unknown_or_private_filter_has_no_page(handbook: Storage, query: str) -> None:
    assert Client().get(f"{ROOT}/1033/search?q=anna&{query}").status_code == 404


def test_numbers_respect_the_other_choices(handbook: Storage) -> None:
    def choices(query: str) -> list[tuple[str, str]]:
        start = f"{ROOT}/1033/search?q=anna"
        page = page_of(Office(handbook, Role.ANALYZER).client, f"q=anna{query}")
        found = [(text.partition(" (")[0], address) for text, address in page.links if address.startswith(start)]
        return [(text, address.removeprefix(start)) for text, address in found if text not in ("Deutsch", "English")]

    chosen = "&type=subProcess&state=inProcess"
    assert choices(chosen) == [
        # Another facet has other types.
        ("IT 1", "&facet=it&state=inProcess"),
        ("Processes 1", "&facet=processes&state=inProcess"),
        ("Sub process 1", "&state=inProcess"),
        ("System 1", "&type=system&state=inProcess"),
        ("In process 1", "&type=subProcess"),
    ]
    # A choice without hits can be taken back.
    assert choices("&facet=users&state=inProcess") == [
        ("IT 1", "&facet=it&state=inProcess"),
        ("Processes 1", "&facet=processes&state=inProcess"),
        ("Users 0", "&state=inProcess"),
        ("In process 0", "&facet=users"),
    ]


def test_an_id_finds_what_the_reader_may_see(handbook: Storage) -> None:
    with tenant_scope(handbook):
        Element.objects.filter(id__in=[ID["check-2"], ID["token"]]).update(creation_id=UNKNOWN)
    found = [address for _, address in page_of(Client(), f"q={UNKNOWN}").links if "/processes/0" in address]
    assert found == [f"{ROOT}/1033/processes/{ID['check-2']}"]
    for client in (Client(), Office(handbook, Role.ANALYZER).client):
        assert [each for each in lines(f"q={UNKNOWN}", client) if "found" in each] == ["1 element found."]
    # These are not published, so they do not tell to which element they belong.
    for name in ("order-1", "order-3", "invoice", "invoice-1", "token"):
        assert lines(f"q={ID[name]}") == ["No element found."]


def test_texts_that_find_nothing(handbook: Storage) -> None:
    assert lines("q=zeppelin") == ["No element found."]
    assert lines("q=handel+ordre") == ["No element found.", "Did you mean handle order?"]
    assert page_of(Client(), "q=handel+ordre").address("handle order") == f"{ROOT}/1033/search?q=handle+order"
    # The word is in a draft only.
    assert lines("q=everry") == ["No element found."]
    refusal = "Search for at most ten words, one of which must not be excluded by a minus sign."
    assert lines("q=-order") == [refusal]
    assert lines("q=" + "+".join("abcdefghijk")) == [refusal]
    assert lines("q=")[0].startswith("Type words that an element contains")
    assert lines("q=%00+%0A")[0].startswith("Type words that an element contains")
    assert lines("q=zeppelin", lcid=1031) == ["Kein Element gefunden."]


def test_every_hit_is_on_one_page(handbook: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Office(handbook, Role.ANALYZER).client
    whole = [each for each in page_of(client, "q=anna").links if ID["anna"][:-3] in each[1]]
    assert len(whole) > 3
    monkeypatch.setattr("elements.pages.search.PAGE", 2)
    found, query = [], "q=anna"
    while query:
        page = page_of(client, query)
        found += [each for each in page.links if ID["anna"][:-3] in each[1]]
        following = [address for text, address in page.links if text == "Next page"]
        query = following[0].partition("?")[2] if following else ""
    assert found == whole
    assert f"Previous page Page {len(whole) // 2 + len(whole) % 2} of" in " ".join(page.lines)


def test_a_frequent_word_is_not_searched_to_the_end(handbook: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not [each for each in lines("q=order") if "so frequent" in each]
    monkeypatch.setattr("elements.search.finding.PAGE_CANDIDATES", 1)
    assert [each for each in lines("q=order") if "so frequent" in each]
    # The API tests more (D650).
    found = Client().get(f"{ROOT}/_api/rest/search?q=order").json()
    assert (found["isComplete"], found["count"]) == (True, 1)
    monkeypatch.setattr("elements.search.finding.MOST_CANDIDATES", 0)
    assert [each for each in lines("q=order") if "so frequent" in each]


def test_suggestions_are_what_the_reader_may_see(handbook: Storage) -> None:
    released = ("Handle order", "Sub process", f"{ROOT}/1033/processes/{ID['order-2']}")
    draft = ("Handle every order", "Sub process", f"{ROOT}/1033/processes/{ID['order-3']}")
    address = f"{ROOT}/1033/search/suggestions?q="
    assert options(Client().get(f"{address}ord")) == [released]
    assert options(Office(handbook, Role.ANALYZER).get(f"{address}ord")) == [draft]
    assert options(Client().get(f"{address}ever")) == []
    for text in ("", "-order", "%00", "x" * 300, "+".join("abcdefghijk")):
        assert options(Client().get(address + text)) == []
    german = Client().get(f"{ROOT}/1031/search/suggestions?q=ord")
    assert options(german) == [("Auftrag abwickeln", "Teilprozess", f"{ROOT}/1031/processes/{ID['order-2']}")]
    assert 'data-status="1 Vorschlag"' in german.content.decode()


def test_ctrl_k_finds_pages_and_elements(handbook: Storage) -> None:
    office = Office(handbook, Role.ANALYZER)
    erp = ("ERP next", "System · In process", f"{LIST}{ID['erp']}/change/")
    assert options(office.get("search/?extended=1&s=erp")) == [
        erp,
        ("Check", "Task", f"{LIST}{ID['check-2']}/change/"),
        ("Handle every order", "Sub process · In process", f"{LIST}{ID['order']}/change/"),
    ]
    assert options(office.get("search/?s=TREE")) == [("Tree", "Content", f"{ROOT}/admin/elements/tree/")]
    assert options(office.get(f"search/?s={ID['erp-1']}")) == [erp]
    assert options(office.get("search/?s=everry")) == [
        ("Did you mean “every”?", "", f"{LIST}?q=every&diagrams=with"),
    ]
    for text in ("", "-order", "zeppelin"):
        assert options(office.get(f"search/?s={text}")) == []


def test_ctrl_k_leads_to_the_list_if_there_is_more(handbook: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elements.admin.palette.MOST_ELEMENTS", 1)
    found = options(Office(handbook, Role.ANALYZER, language="de").get("search/?s=erp"))
    assert [each[0] for each in found] == ["ERP next", "Alle Elemente mit „erp“"]
    assert found[1][2] == f"{LIST}?q=erp&diagrams=with"


def test_ctrl_k_shows_few_pages(handbook: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    def pages() -> list[str]:
        found = options(Office(handbook, Role.ADMINISTRATOR).get("search/?s=e"))
        return [title for title, _, address in found if not address.startswith((f"{LIST}0", f"{LIST}?"))]

    monkeypatch.setattr("elements.admin.palette.MOST_PAGES", 100)
    everything = pages()
    assert len(everything) > 3
    monkeypatch.setattr("elements.admin.palette.MOST_PAGES", 2)
    assert pages() == everything[:2]


def test_the_list_shows_tokens_to_administrators_only(handbook: Storage) -> None:
    for role, is_shown in {Role.ADMINISTRATOR: True, Role.ANALYZER: False}.items():
        assert (ID["token"] in Office(handbook, role).get("elements/element/").content.decode()) is is_shown, role


def test_ctrl_k_shows_only_pages_that_the_role_may_open(handbook: Storage) -> None:
    by_role = {
        role: [each[0] for each in options(Office(handbook, role).get("search/?s=token"))]
        for role in (Role.EDITOR, Role.ADMINISTRATOR)
    }
    assert by_role == {Role.EDITOR: [], Role.ADMINISTRATOR: ["API tokens"]}
    assert Office(handbook, Role.VIEWER).get("search/?s=order").status_code == 403
    assert Client().get(f"{ROOT}/admin/search/?s=order").status_code == 302
    rival = Storage.objects.get(collection__key="rival", key="handbook")
    found = Office(rival, Role.ANALYZER).get("search/?s=erp").content.decode()
    assert ROOT not in found


def test_the_site_finds_its_pages(handbook: Storage) -> None:
    client = Client()
    client.force_login(StaffAccountFactory.create(is_superuser=True))
    assert options(client.get("/admin/search/?extended=1&s=stor")) == [
        ("Storages", "Installation", "/admin/storage/storage/"),
    ]
    assert options(client.get("/admin/search/")) == []


@pytest.mark.long
@pytest.mark.on_cluster
def test_statements_of_search_boxes(handbook: Storage) -> None:
    """Each number is constant: it does not depend on how much is found."""
    office = Office(handbook, Role.ANALYZER)
    counts: dict[str, set[int]] = {}
    for path in (
        "search/?s={}",
        "elements/choices/?types=subProcess,system,task&term={}",
        f"{ROOT}/1033/search/suggestions?q={{}}",
    ):
        for text in ("erp", "erp next", "order"):
            office.get(path.format(text))
            with CaptureQueriesContext(connection) as captured:
                office.get(path.format(text))
            counts.setdefault(path, set()).add(len(captured))
    assert [len(each) for each in counts.values()] == [1, 1, 1], counts
