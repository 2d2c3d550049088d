"""Answers that would need gigabytes: a worker needs at most 150 MB more than idle for any request (D188)."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from elements.bpmn.document.parsing import MAX_PARTS
from tests.elements.bpmn.documents import definitions
from tests.faults.heavy_content import (
    CHAIN,
    DETAIL,
    DISTINCT,
    EXPANDED,
    PROCESSES,
    RISKS,
    STORAGE,
    VIEWS,
    HeavyInstallation,
)
from tests.figures import note
from tests.server_process import DataFolders

pytestmark = [pytest.mark.server, pytest.mark.fault]
MOST = 150
MEGABYTE = 1024**2
AT_ONCE = 8
HINT = "Ask for less"


@pytest.fixture(scope="module")
def heavy(tmp_path_factory: pytest.TempPathFactory, data_folders: DataFolders) -> Iterator[HeavyInstallation]:
    found = HeavyInstallation(tmp_path_factory.mktemp("memory"))
    data_folders.copy(found.server.data_dir, "migrate")
    try:
        found.server.start("serve", "--workers", "1")
        found.fill()
        for _ in range(3):
            # Loads the code that every request needs.
            assert found.ask(f"{PROCESSES}?$page=1&$pageSize=1")[0] == 200
        yield found
    finally:
        found.server.kill()


def check(name: str, growth: float) -> None:
    note("memory", name, megabytes=round(growth))
    assert growth < MOST, f"{name}: {growth:.0f} MB"


@pytest.mark.parametrize("which", ["repeated", "distinct"])
def test_expanded_references_are_refused(heavy: HeavyInstallation, which: str) -> None:
    for address in (f"{DETAIL}/{getattr(heavy, which)}", f"{DETAIL}/{getattr(heavy, which)}/related/systems"):
        found = heavy.measure("GET", f"{address}?$expandRelated=systems")
        assert (found.status, HINT in found.text) == (422, True), found
        check(f"{'2,500' if which == 'repeated' else '50'} times 2,500 references expanded, {which}", found.growth)


def test_expanded_references_of_a_list_are_streamed(heavy: HeavyInstallation) -> None:
    found = heavy.measure("GET", f"{DETAIL}?$filter=name%20-eq%20'expanded%202'&$expandRelated=systems&$select=systems")
    assert found.status == 200
    assert found.size > DISTINCT * EXPANDED * 100
    check("a list with such references", found.growth)


def test_page_of_the_deepest_elements(heavy: HeavyInstallation) -> None:
    found = heavy.measure("GET", f"{DETAIL}?$page=2&$pageSize=1000&$filter=StartsWith(name,'chain')")
    assert found.status == 200
    assert found.size > CHAIN * CHAIN / 3 * 300
    check("a page of the 1,000 deepest of 2,000 elements", found.growth)


def test_writing_the_deepest_elements_answers_identities(heavy: HeavyInstallation) -> None:
    elements = heavy.ask(f"{PROCESSES.replace('tree', 'list')}?$page=2&$pageSize=1000&$resources=versions&$select=name")
    assert elements[0] == 200, elements
    ids = [each["versionId"] for each in elements[1]["elements"]]
    change = {"elements": [{"versionId": each, "stereotype": ""} for each in ids]}
    found = heavy.write(DETAIL, json.dumps(change).encode(), Idempotency_Key="deep")
    assert (found.status, found.headers.get("preference-applied")) == (200, "return=minimal"), found
    check("an update of the 1,000 deepest elements", found.growth)


@pytest.mark.parametrize("query", ["", "?$page=1&$pageSize=1000"])
def test_large_attributes_are_streamed(heavy: HeavyInstallation, query: str) -> None:
    found = heavy.measure("GET", f"{VIEWS}/risks/views/detail/elements{query}")
    assert (found.status, found.size > RISKS * 8 * 10**6) == (200, True), found.text
    check(f"{RISKS} risks of 8 MB, {'a page' if query else 'the whole list'}", found.growth)


def test_slow_readers_of_large_responses(heavy: HeavyInstallation) -> None:
    """A response stays in memory until it is read: many of 24 MB would fill it (D220)."""
    path = f"{VIEWS}/risks/views/detail/elements?$page=1&$pageSize=3"
    worker = heavy.server.workers()[0]
    before = worker.memory_info().rss
    with contextlib.ExitStack() as clients:
        statuses = []
        for _ in range(8):
            client = clients.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(60)
            client.connect(("127.0.0.1", heavy.server.port))
            client.sendall(
                f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {heavy.token}\r\n\r\n".encode()
            )
            statuses.append(client.recv(12)[-3:])
        growth = (worker.memory_info().rss - before) / MEGABYTE
        assert statuses == [b"200"] * 3 + [b"429"] * 5
        assert heavy.ask(f"{PROCESSES}?$page=1&$pageSize=1")[0] == 200
    note("memory", "eight slow readers of 24 MB each", megabytes=round(growth))
    assert growth < 250
    found = heavy.measure("GET", path, Authorization=f"Bearer {heavy.token}", Accept_Encoding="identity")
    assert (found.status, found.size > 24 * 10**6, found.headers["content-length"]) == (200, True, str(found.size))


def test_large_lists_at_the_same_time(heavy: HeavyInstallation) -> None:
    """Lists that are sent at once are up to 32 MB, so only one of them is written at a time (D301)."""
    path = f"{VIEWS}/risks/views/detail/elements?$page=1&$pageSize=3"
    [worker] = heavy.server.workers()
    before = worker.memory_info().rss
    heavy.server.forget_peak_memory()
    with ThreadPoolExecutor(AT_ONCE) as clients:
        small = clients.submit(heavy.ask, f"{PROCESSES}?$page=1&$pageSize=1")
        found = list(clients.map(lambda _: heavy.read(path), range(AT_ONCE)))
    growth = (heavy.server.peak_memory() - before) / MEGABYTE
    assert {status for status, _ in found} <= {200, 429}, found
    assert {size > 24 * 10**6 for status, size in found if status == 200} == {True}
    assert small.result()[0] == 200
    note("memory", f"{AT_ONCE} lists of 24 MB at the same time", megabytes=round(growth))
    assert growth < MOST + 50


def test_search_that_finds_large_elements(heavy: HeavyInstallation) -> None:
    found = heavy.measure("GET", f"{STORAGE}/_api/rest/search?q=risk&$pageSize=1000")
    assert (found.status, f'"count":{RISKS}' in found.text) == (200, True), found.text
    check(f"a search that finds {RISKS} risks of 8 MB", found.growth)


def test_document_of_bpmn_with_many_parts(heavy: HeavyInstallation) -> None:
    """As many elements as a document can have, of which each needs an entry in the report."""
    notes = "".join(f'<textAnnotation id="n{number}" name="{"x" * 70}"/>' for number in range(MAX_PARTS - 10))
    document = definitions(f'<process id="P"><task id="T"/>{notes}</process>').encode()
    assert 9 * MEGABYTE < len(document) < 10 * MEGABYTE
    made = heavy.write(DETAIL, b'{"elements":[{"type":"subProcess","attributes":{"name":{"1033":"Drawn"}}}]}')
    address = f"{STORAGE}/_api/v1/bpmn/{json.loads(made.text)['elements'][0]['id']}"
    headers = {"Authorization": f"Bearer {heavy.token}", "Content_Type": "application/xml"}
    found = heavy.measure("POST", address, document, **headers)
    assert (found.status, '"kept":' in found.text) == (200, True), found
    check("a BPMN document with as many parts as possible", found.growth)
    exported = heavy.measure("GET", address, Authorization=headers["Authorization"])
    assert (exported.status, exported.size >= len(document)) == (200, True), exported
    check("its export", exported.growth)


def test_body_with_millions_of_values(heavy: HeavyInstallation) -> None:
    found = heavy.write(DETAIL, b'{"elements":[' + b"{}," * 3_400_000 + b"{}]}")
    assert (found.status, "more than 200000 values" in found.text) == (413, True), found
    check("a body with 3,400,000 values", found.growth)


def test_change_of_many_large_elements_is_refused(heavy: HeavyInstallation) -> None:
    listed = heavy.ask(f"{VIEWS}/risks/views/detail/elements?$resources=versions&$page=1")
    change = [{"id": each["id"], "attributes": {"name": {"1031": "Risiko"}}} for each in listed[1]["elements"]]
    found = heavy.write(f"{VIEWS}/risks/views/detail/elements", json.dumps({"elements": change}).encode())
    assert (found.status, "Nothing was changed" in found.text.replace("\\n", " ")) == (422, True), found
    check("a change of 60 risks of 8 MB", found.growth)
