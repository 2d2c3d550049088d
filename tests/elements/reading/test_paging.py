"""Pages of a list (D12), and whole lists in pieces."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings as ChangedSettings

from elements.api import reading_viewset
from elements.demo.sample import sample_lines
from elements.reading.lists import selection
from elements.reading.lists.streams import Stream
from repository_site.core.fairness import admission
from repository_site.core.fairness.gate import Ticket
from repository_site.core.fairness.presence import Presence
from repository_site.core.problems import TooManyRequests
from repository_site.core.rest import rendering
from storage.models import Storage
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.handbook import FACETS, ID

pytestmark = pytest.mark.django_db
LIST = "/acme/handbook/_api/rest/facets/processes/views/list/elements"
HOST = f"{FACETS}/processes/views/list/elements"
# Elements for a caller who sees drafts, in order.
EVERY = ["order", "invoice", "loose", "retired", "sales", "ship"]


def page(api: ApiClient, token: str, query: str) -> tuple[list[str], str, str]:
    answer = api.get(f"{LIST}?{query}", token=token)
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert body["count"] == len(body["elements"])
    known = {value: name for name, value in ID.items()}
    return [known[each["id"]] for each in body["elements"]], answer["X-Total-Count"], answer["Link"]


def links(size: int, **pages: int) -> str:
    return ", ".join(f'<{HOST}?$page={page}&$pageSize={size}>; rel="{name}"' for name, page in pages.items())


@pytest.mark.parametrize(
    ("query", "expected", "expected_links"),
    [
        ("$page=1&$pageSize=4", EVERY[:4], links(4, first=1, next=2, last=2)),
        ("$page=2&$pageSize=4", EVERY[4:], links(4, first=1, prev=1, last=2)),
        ("$page=2&$pageSize=2", EVERY[2:4], links(2, first=1, prev=1, next=3, last=3)),
        ("$page=3&$pageSize=3", [], links(3, first=1, prev=2, last=2)),
        ("$page=9&$pageSize=3", [], links(3, first=1, prev=2, last=2)),
        ("$page=1", EVERY, links(100, first=1, last=1)),
        ("$page=1&$pageSize=1000", EVERY, links(1000, first=1, last=1)),
    ],
)
def test_a_page_of_a_list(
    handbook: Storage, api: ApiClient, editor: str, query: str, expected: list[str], expected_links: str
) -> None:
    assert page(api, editor, query) == (expected, "6", expected_links)


def test_a_page_size_alone_means_the_first_page(handbook: Storage, api: ApiClient, editor: str) -> None:
    found, total, header = page(api, editor, "$pageSize=5")
    assert (found, total) == (EVERY[:5], "6")
    assert header == (
        f'<{HOST}?$pageSize=5&$page=1>; rel="first", <{HOST}?$pageSize=5&$page=2>; rel="next", '
        f'<{HOST}?$pageSize=5&$page=2>; rel="last"'
    )


@pytest.mark.parametrize(
    ("key", "number"),
    [("order", 1), ("order-2", 1), ("order-3", 1), ("retired", 2), ("sales-1", 3), ("ship", 3), ("house", None)],
)
def test_the_page_of_a_given_element(
    handbook: Storage, api: ApiClient, editor: str, key: str, number: int | None
) -> None:
    """By the id of the element or of one of its versions; a key overrides the page number."""
    query = f"$pageSelectionKey={ID[key].upper()}&$pageSize=2&$page=9"
    if number is None:
        missing = api.get(f"{LIST}?{query}", token=editor)
        assert (missing.status_code, missing.json()["message"]) == (404, f"There is no element {ID[key]} in this list.")
    else:
        found, total, header = page(api, editor, query)
        assert (found, total) == (EVERY[2 * number - 2 : 2 * number], "6")
        assert "$pageSelectionKey" not in header


def test_links_quote_names(handbook: Storage, api: ApiClient) -> None:
    """The long s is a small s in another letter case."""
    address = LIST.replace("processes", "proce\u017f\u017fes")
    assert api.get(f"{address}?$pageSize=4")["Link"].startswith(
        "<http://testserver/acme/handbook/_api/rest/facets/proce%C5%BF%C5%BFes/"
    )


def test_a_key_alone_uses_the_default_page_size(handbook: Storage, api: ApiClient, editor: str) -> None:
    assert page(api, editor, f"$pageSelectionKey={ID['ship']}")[0] == EVERY


def test_pages_of_a_filtered_list_count_matches(handbook: Storage, api: ApiClient, editor: str) -> None:
    found, total, header = page(api, editor, "$filter=Contains(name,'e')&$page=2&$pageSize=2")
    assert (found, total) == (["loose", "retired"], "5")
    assert f'<{HOST}?$filter=Contains%28name,%27e%27%29&$page=3&$pageSize=2>; rel="next"' in header
    hidden = api.get(f"{LIST}?$filter=state -eq inProcess&$pageSelectionKey={ID['ship']}", token=editor)
    assert hidden.status_code == 404


def test_totals_of_a_viewer_count_visible_elements(handbook: Storage, api: ApiClient) -> None:
    answer = api.get(f"{LIST}?$pageSize=2")
    assert (answer["X-Total-Count"], answer.json()["count"]) == ("4", 2)
    assert api.get(f"{LIST}?$pageSelectionKey={ID['invoice']}").status_code == 404
    assert api.get(f"{LIST}?$pageSelectionKey={ID['order-3']}").status_code == 404


def test_a_page_of_no_elements_counts_them(handbook: Storage, api: ApiClient, editor: str) -> None:
    """The response is the number of elements that the caller sees. No element is read."""
    reporting = LIST.replace("views/list/elements", "reporting")
    expected = [
        (f"{LIST}?$pageSize=0", editor, {"count": 6, "elements": []}),
        (f"{LIST}?$pageSize=0&$page=9&$orderBy=id", None, {"count": 4, "elements": []}),
        (f"{LIST}?$pageSize=0&$filter=Contains(name,'e')&api-version=3.0", editor, {"count": 5, "values": []}),
        (f"{reporting}?$pageSize=0&$filter=type -eq processHouse", editor, {"count": 1, "values": []}),
    ]
    for address, token, body in expected:
        credential: dict[str, Any] = {"token": token} if token else {}
        with CaptureQueriesContext(connection) as captured:
            answer = api.get(address, **credential)
        assert (answer.json(), answer["X-Total-Count"], "Link" in answer) == (body, str(body["count"]), False)
        assert not [each["sql"] for each in captured if "ORDER BY v." in each["sql"]]
        again = api.get(address, HTTP_IF_NONE_MATCH=answer["ETag"], **credential)
        assert again.status_code == 304
    table = api.get(f"{LIST}?$pageSize=0&$format=csv&$select=name", token=editor)
    assert (table.content.decode("utf-8-sig").count("\n"), table["X-Total-Count"]) == (1, "6")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("$page=0", "$page: expected a whole number from 1 to 1000000000, not '0'."),
        ("$page=-1", "$page: expected a whole number from 1 to 1000000000, not '-1'."),
        ("$page=1.0", "$page: expected a whole number from 1 to 1000000000, not '1.0'."),
        ("$page=٣", "$page: expected a whole number from 1 to 1000000000, not '٣'."),
        ("$pageSize=1001", "$pageSize: expected a whole number from 0 to 1000, not '1001'."),
        ("$pageSize=99999999999999999999", "$pageSize: expected a whole number from 0 to 1000, not '99999999999999999999'."),
        ("$pageSelectionKey=order", "$pageSelectionKey: 'order' is not a GUID."),
        (f"$pageSelectionKey={ID['ship']}&$pageSize=0", "$pageSelectionKey: $pageSize=0 returns no page; leave one of them out."),
    ],
)  # fmt: skip
def test_bad_pages(handbook: Storage, api: ApiClient, query: str, message: str) -> None:
    answer = api.get(f"{LIST}?{query}")
    assert (answer.status_code, answer.json()["message"]) == (400, message)


def test_the_largest_page_size_is_a_setting(handbook: Storage, api: ApiClient, settings: ChangedSettings) -> None:
    settings.MAX_PAGE_SIZE = 3
    assert api.get(f"{LIST}?$pageSize=4").status_code == 400
    assert api.get(f"{LIST}?$page=1").json()["count"] == 3


def test_a_long_list_is_written_in_pieces_and_is_the_same(
    handbook: Storage, api: ApiClient, editor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = [LIST, LIST.replace("list", "detail"), f"{LIST}?$filter=Contains(name,'e')&$select=name"]
    whole = [api.get(address, token=editor) for address in addresses]
    assert not any(hasattr(each, "was_streamed") for each in whole)
    for size in (1, 2, 3):
        monkeypatch.setattr(reading_viewset, "BATCH", size)
        pieces = [api.get(address, token=editor) for address in addresses]
        assert all(hasattr(each, "was_streamed") for each in pieces)
        assert [each.content for each in pieces] == [each.content for each in whole]
        assert [each["api-version"] for each in pieces] == ["4.0"] * 3


def test_a_long_list_is_not_read_for_its_headers(
    handbook: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_viewset, "BATCH", 1)
    monkeypatch.setattr(selection, "stream_keys", lambda *_: pytest.fail("was read"))
    answer = api.head(LIST)
    assert (answer.status_code, answer.content, answer["Content-Type"]) == (200, b"", "application/json")


def test_a_list_that_becomes_empty_before_it_is_written(
    handbook: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_viewset, "BATCH", 1)
    monkeypatch.setattr(selection, "stream_keys", lambda *_: iter(()))
    assert api.get(LIST).json() == {"count": 0, "elements": []}


def test_the_number_of_concurrent_long_lists_is_limited(
    handbook: Storage, api: ApiClient, editor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stream uses a connection while its client reads; other requests must still be served."""
    ticket = Ticket(("acme/handbook", 1))
    monkeypatch.setattr(reading_viewset, "BATCH", 1)
    monkeypatch.setattr(admission.gate, "presence", Presence())
    assert api.get(f"{LIST}?$pageSize=1", token=editor).status_code == 200
    monkeypatch.setattr(admission.gate, "presence", Presence())
    # One of four places is left for other storages.
    begun = [Stream(iter([b"x"]), ticket) for _ in range(settings.POOL_SIZE // 2 - 1)]
    refused = api.get(LIST, token=editor)
    assert (refused.status_code, refused["Retry-After"]) == (429, "5")
    assert refused.json()["message"] == "Too many whole lists are being read; read pages with $page, or retry later."
    assert api.get(f"{LIST}?$pageSize=1", token=editor).status_code == 200
    # A client that left before it had read anything, one that read to the end, and one in the middle.
    begun[0].close()
    assert api.get(LIST, token=editor).json()["count"] == 6
    assert list(begun[1]) == [b"x"]
    next(begun[2])
    for each in begun:
        each.close()
    again = [Stream(iter(()), ticket) for _ in begun]
    with pytest.raises(TooManyRequests):
        Stream(iter(()), ticket)
    for each in again:
        each.close()


@pytest.mark.long
@pytest.mark.parametrize(("coding", "least"), [("identity", 400_000), ("gzip", 20_000)])
def test_memory_does_not_grow_with_the_length_of_a_list(
    filled_storage: StorageMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, coding: str, least: int
) -> None:
    """A long list uses no more memory than its first pieces: written pieces are released."""
    lines = tmp_path / "lines.ndjson"
    lines.write_bytes(b"".join(sample_lines(80)))
    monkeypatch.setattr(reading_viewset, "BATCH", 5)
    monkeypatch.setattr(rendering, "PIECE", 4_096)
    with filled_storage(lines, key="long", template="standard", anonymous="read") as storage:
        address = f"/{storage}/_api/rest/facets/processes/views/detail/elements"
        client = Client(headers={"Accept-Encoding": coding})
        b"".join(client.get(address))
        answer: Any = client.get(address)
        pieces = iter(answer)
        tracemalloc.start()
        peaks, length = [], 0
        for piece in pieces:
            length += len(piece)
            peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert length > least
    assert peaks[-1] < peaks[5] + 100_000
