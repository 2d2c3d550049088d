"""Every address in API responses and every link on a page opens, and stored texts never become markup."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from storage.models import Storage
from tests.conftest import StorageMaker
from tests.elements.handbook import ID, TEMPLATE, write_lines
from tests.elements.reader_page import crawl, found_in, read_page
from tests.scale import only_at_full_scale

pytestmark = [pytest.mark.django_db, pytest.mark.long]
SCRIPTS = ("/static/elements/diagram.js", "/static/pages/copy_link.js", "/static/search_box.js")
HOSTILE = "\"'><script>alert(1)</script><b onclick='x()'>\"'&amp;%s{{ 7 }}</b><!-- "


def goto_addresses(client: Client, root: str) -> Iterator[dict[str, str]]:
    """Return `gotoUrl` of every element and shape that the API lists, by culture."""
    facets = client.get(f"{root}/_api/rest/facets").json()["values"]
    for facet in facets:
        view = f"{root}/_api/rest/facets/{facet['name']}/views/detail/elements"
        response = client.get(f"{view}?$resources=attributes,content")
        if response.status_code == 404:
            continue  # a facet without the view
        for element in json.loads(b"".join(response) if response.streaming else response.content)["elements"]:
            if "gotoUrl" in element["attributes"]:
                yield element["attributes"]["gotoUrl"]
            if "content" in element:
                identity = element.get("versionId", element["id"])
                for shape in client.get(f"{view}/{identity}/content").json()["elements"]:
                    yield shape["attributes"]["gotoUrl"]


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=only_at_full_scale)])
def test_every_address_of_the_demo_opens(showcase: Storage, step: int) -> None:
    """The usual run takes every fifth address; all of them take too long."""
    client = Client()
    addresses = list(goto_addresses(client, "/demo/showcase"))
    assert len(addresses) > 500
    facets = set()
    for number, by_culture in enumerate(addresses[::step]):
        address = by_culture["1031" if number % 2 else "1033"]
        response = client.get(address.removeprefix("http://testserver"))
        assert response.status_code == 200, address
        assert found_in(response.content.decode(), 'class="note missing"') == [], address
        facets.add(urlsplit(address).path.split("/")[4])
    assert {"processes", "it", "users", "roles"} <= facets


def test_every_address_of_the_handbook_opens(handbook: Storage) -> None:
    client = Client()
    for by_culture in goto_addresses(client, "/acme/handbook"):
        for address in by_culture.values():
            assert client.get(address.removeprefix("http://testserver")).status_code == 200, address


@pytest.fixture(scope="module")
def hostile(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """The handbook, with markup in every name and in every text of the configuration."""
    folder = tmp_path_factory.mktemp("hostile")
    template = folder / "template.json"
    template.write_text(json.dumps(_poisoned(TEMPLATE)), encoding="utf-8")
    fields = {"key": "hostile", "title": HOSTILE, "description": HOSTILE, "anonymous": "read"}
    lines = write_lines(folder / "lines.ndjson", HOSTILE)
    with filled_storage(lines, collection="acme", template=str(template), **fields) as storage:
        yield storage


def _poisoned(node: Any, name: str = "") -> Any:
    if isinstance(node, dict):
        texts = name in ("displayNames", "descriptions", "tooltips")
        return {key: f"{HOSTILE}{value}" if texts else _poisoned(value, key) for key, value in node.items()}
    return node


def foreign_tags(page: Any) -> set[str]:
    """Return the names of all tags without our own scripts."""
    ours = [("script", {"src": address, "defer": ""}) for address in SCRIPTS]
    return {tag for tag, given in page.tags if (tag, given) not in ours}


def test_stored_texts_never_become_markup(hostile: Storage) -> None:
    starts = ["/1033/", "/1033/processes/?as=list&type=task", "/1033/search?q=alert(1)", f"/1033/search?q={HOSTILE}"]
    pages = dict(crawl(Client(), "/acme/hostile", *starts, within="/1033/"))
    assert len(pages) > 30
    shown = 0
    for address, html in pages.items():
        page = read_page(html)
        assert not {"script", "b", "style"} & foreign_tags(page), address
        assert not [each for _, each in page.tags if any(name.startswith("on") for name in each)], address
        assert found_in(html.replace("{{ 7 }}", ""), "{{", "{%") == [], address
        shown += "<script>alert(1)</script>" in "\n".join(page.lines)
    assert shown > 30


def test_a_query_never_becomes_markup(handbook: Storage) -> None:
    client = Client()
    for path in (
        "/1033/search?q={0}",
        "/1033/search?q=x&facet={0}",
        "/1033/search?q=order&type={0}",
        "/1033/search?q=order&state={0}",
        "/1033/search/suggestions?q={0}",
        "/1033/processes/?as=list&begins={0}",
        "/1033/processes/?open={0}",
        f"/1033/processes/{ID['order-2']}?shape={{0}}&layout={{0}}&children={{0}}",
        "/1033/{0}/",
        "/1033/processes/{0}",
    ):
        response = client.get(f"/acme/handbook{path.format(HOSTILE)}")
        assert response.status_code in (200, 404), path
        page = read_page(response.content.decode())
        assert not {"script", "b"} & foreign_tags(page), path
