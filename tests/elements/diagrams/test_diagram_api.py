"""Diagrams as SVG, `rest/diagram/{elementId}/render/{cultureId}/{layoutKey}`: picture, headers, visibility, errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4
from xml.etree import ElementTree

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from elements.api.diagrams import diagram_viewset
from elements.diagrams.drawables import LayoutKey
from elements.diagrams.svg import STYLE_SHEET
from elements.models import ElementVersion, Shape, ShapeFlow
from elements.reading.diagrams import pictures
from repository_site.api_document.document import openapi_document
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.handbook import BASE, ID
from tests.factories import token_for

pytestmark = pytest.mark.django_db

SVG = "{http://www.w3.org/2000/svg}"
SVG_TYPE = "image/svg+xml"
LAYOUTS = "detailed, vertical, horizontal, verticalSwimlane, horizontalSwimlane, graphic or processMatrix"
NOT_THERE = "00000000-0000-4000-8000-00000000ffff"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


def address(element: str, culture: object = 1033, layout: str = "vertical", storage: str = "acme/handbook") -> str:
    return f"/{storage}/_api/rest/diagram/{ID.get(element, element)}/render/{culture}/{layout}"


def drawn(response: Any) -> dict[str, tuple[str, str]]:
    """Return text and link of each shape in a picture."""
    assert (response.status_code, response["Content-Type"]) == (200, SVG_TYPE), response.content
    root = ElementTree.fromstring(response.content)
    found = {}
    for link in root.iter(f"{SVG}a"):
        (group,) = link
        text = " ".join(each.text or "" for each in group.iter(f"{SVG}tspan"))
        found[str(group.get("id"))] = (text, str(link.get("href")))
    return found


def arrows(response: Any) -> int:
    root = ElementTree.fromstring(response.content)
    return len(
        root.findall(f".//{SVG}g[@class='flow']/{SVG}path") + root.findall(f".//{SVG}g[@class='flow back']/{SVG}path")
    )


def refused(response: Any, status: int) -> str:
    body = response.json()
    kinds = {400: ("error", "inline"), 401: ("unauthorized", "volatile")}
    assert (response.status_code, (body["type"], body["output"])) == (status, kinds.get(status, ("error", "volatile")))
    assert body["data"] == [{"error": body["message"]}]
    return str(body["message"])


def test_the_whole_answer(api: ApiClient, editor: str) -> None:
    response = api.get(address("order-3", 1031), token=editor)
    style = STYLE_SHEET.read_text(encoding="utf-8").strip()
    page = f"{BASE}/1031/processes"
    assert (
        response.content.decode()
        == f"""\
<svg xmlns="http://www.w3.org/2000/svg" class="diagram" role="group" lang="de-DE" xml:lang="de-DE" width="220" height="180" viewBox="0 0 220 180" font-family="Arial, 'Liberation Sans', Helvetica, sans-serif" font-size="13">
<title>Handle every order</title>
<desc>Formen: 2, Pfeile: 1.</desc>
<style>{style}</style>
<rect class="ground" width="220" height="180" fill="#FFFFFF"/>
<g transform="translate(24 24)">
<g class="arrows" fill="none" stroke-width="1.5" aria-hidden="true">
<g class="flow" stroke="#52606D">
<path d="M86 36L86 72"/>
</g>
<path class="flow" d="M86 80L82 70L90 70Z" fill="#52606D"/>
</g>
<a href="{page}/{ID["start-3"]}" aria-label="Start"><g class="shape start" id="shape-{ID["shape-start-3"]}" transform="translate(86 18)"><title>Start</title><rect class="mark" x="-24" y="-24" width="84" height="48" rx="8" fill-opacity="0"/><circle r="17" fill="#E0EFF8" stroke="#007ACC" stroke-width="2"/><text text-anchor="start" fill="#1F2933"><tspan x="26" y="4">Start</tspan></text></g></a>
<a href="{page}/{ID["check-3"]}" aria-label="Aufgabe: Check again"><g class="shape task" id="shape-{ID["shape-check-3"]}" transform="translate(86 106)"><title>Aufgabe: Check again</title><rect class="mark" x="-92" y="-32" width="184" height="64" rx="8" fill-opacity="0"/><rect x="-85" y="-25" width="170" height="50" rx="10" fill="#E0EFF8" stroke="#007ACC" stroke-width="2"/><text text-anchor="middle" fill="#1F2933"><tspan x="0" y="4">Check again</tspan></text></g></a>
</g>
</svg>
"""
    )
    own = ("X-Request-ID", "Content-Length", "ETag")
    headers = {name: value for name, value in response.headers.items() if name not in own}
    assert headers == {
        "Content-Type": SVG_TYPE,
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
        "X-Content-Type-Options": "nosniff",
        "api-version": "1.0",
        "Cache-Control": "private, no-cache",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
        "Vary": "Accept-Encoding",
    }


def test_every_way_to_ask(api: ApiClient, editor: str) -> None:
    plain = api.get(address("order-2"), token=editor).content
    assert api.get(address("order-2") + "/", token=editor).content == plain
    assert api.get(address(ID["order-2"].upper(), "01033", "VERTICAL"), token=editor).content == plain
    assert api.post(address("order-2"), token=editor, content_type="application/json").content == plain
    head = api.head(address("order-2"), token=editor)
    assert (head.status_code, head["Content-Type"], head.content) == (200, SVG_TYPE, b"")
    assert api.get(address("order-2", layout="horizontal"), token=editor).content != plain
    refused(api.post(address("order-2"), {"a": 1}, content_type="application/json", token=editor), 400)
    refused(api.delete(address("order-2"), token=editor), 405)
    assert "$select" in refused(api.get(address("order-2") + "?$select=name", token=editor), 400)
    assert "2.0" in refused(api.get(address("order-2"), token=editor, headers={"api-version": "2.0"}), 400)


@pytest.mark.parametrize(
    "accept", [SVG_TYPE, "image/*", "*/*", "text/html", BROWSER, "", "image/png, image/svg+xml;q=0.5"]
)
def test_accepted_media_types(api: ApiClient, editor: str, accept: str) -> None:
    assert api.get(address("order-3"), token=editor, headers={"Accept": accept})["Content-Type"] == SVG_TYPE


@pytest.mark.parametrize("accept", ["application/json", "image/png", "image/svg+xml;q=0, */*", "text/plain"])
def test_refused_media_types(api: ApiClient, editor: str, accept: str) -> None:
    response = api.get(address("order-3"), token=editor, headers={"Accept": accept})
    assert refused(response, 406) == "Accept: this operation responds with image/svg+xml only."
    assert response["Content-Type"] == "application/json"


def test_the_layouts_of_a_diagram(api: ApiClient, editor: str) -> None:
    response = api.get(layouts_of("order"), token=editor)
    assert (response.status_code, response["Content-Type"]) == (200, "application/json")
    names = {
        "detailed": ("Detailliert", "Detailed"),
        "vertical": ("Senkrecht", "Vertical"),
        "horizontal": ("Waagerecht", "Horizontal"),
        "verticalSwimlane": ("Senkrechte Schwimmbahnen", "Vertical swimlanes"),
        "horizontalSwimlane": ("Waagerechte Schwimmbahnen", "Horizontal swimlanes"),
        "graphic": ("Wie gezeichnet", "As drawn"),
        "processMatrix": ("Prozessmatrix", "Process matrix"),
    }
    assert response.json() == {
        "count": 7,
        "values": [
            {"key": key, "displayNames": {"1031": german, "1033": english}} for key, (german, english) in names.items()
        ],
    }
    assert api.post(layouts_of("order"), token=editor, content_type="application/json").json() == response.json()
    for value in response.json()["values"]:
        assert drawn(api.get(address("order-2", layout=value["key"].upper()), token=editor))


def layouts_of(element: str) -> str:
    return f"/acme/handbook/_api/rest/diagram/{ID.get(element, element)}/render"


def test_layouts_are_refused_like_pictures(api: ApiClient, handbook: Storage, editor: str) -> None:
    assert refused(api.get(layouts_of(NOT_THERE), token=editor), 404) == f"There is no element {NOT_THERE}."
    message = f"There is no diagram of {ID['anna']}: elements of the type user have no diagram."
    assert refused(api.get(layouts_of("anna"), token=editor), 404) == message
    refused(api.get(layouts_of("order-3"), token=token_for(handbook, Role.VIEWER)), 404)
    assert "$select" in refused(api.get(layouts_of("order") + "?$select=name", token=editor), 400)


@pytest.mark.parametrize("layout", LayoutKey)
def test_an_unchanged_picture_is_neither_read_nor_drawn(
    api: ApiClient, editor: str, monkeypatch: pytest.MonkeyPatch, layout: LayoutKey
) -> None:
    calls: list[str] = []
    for module, name in ((diagram_viewset, "read_drawn_shapes"), (diagram_viewset, "draw_diagram"), (pictures, "draw")):
        original = getattr(module, name)

        def counting(*given: Any, _name: str = name, _original: Any = original, **more: Any) -> Any:
            calls.append(_name)
            return _original(*given, **more)

        monkeypatch.setattr(module, name, counting)
    first = api.get(address("order-2", layout=layout), token=editor)
    assert (first.status_code, calls) == (200, ["read_drawn_shapes", "draw_diagram", "draw"])
    calls.clear()
    again = api.get(address("order-2", layout=layout), token=editor, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content, calls) == (304, b"", [])
    other = api.get(address("order-2", 1031, layout), token=editor, headers={"If-None-Match": first["ETag"]})
    assert (other.status_code, len(calls)) == (200, 3)


def test_names_are_in_the_culture_and_else_in_the_default_one(api: ApiClient, editor: str) -> None:
    german, english = (api.get(address("order-2", culture), token=editor) for culture in (1031, 1033))
    assert [text for text, _ in drawn(german).values()] == ["Start", "Prüfen", "ship", "Invoice"]
    assert [text for text, _ in drawn(english).values()] == ["Start", "Check", "ship", "Invoice"]
    assert {link.split("/")[5] for _, link in drawn(german).values()} == {"1031"}
    assert b"<title>Auftrag\nabwickeln</title>" in german.content
    assert b"<desc>Shapes: 4, arrows: 4.</desc>" in english.content


def test_without_any_name_an_element_is_called_by_its_type(api: ApiClient, handbook: Storage, editor: str) -> None:
    with tenant_scope(handbook):
        version = ElementVersion.objects.get(id=ID["check-3"])
        version.attributes["name"] = {"1033": "  "}
        version.save()
    assert drawn(api.get(address("order-3", 1031), token=editor))[f"shape-{ID['shape-check-3']}"][0] == "Aufgabe"


def test_callers_who_see_drafts_get_the_newest_version(api: ApiClient, handbook: Storage, editor: str) -> None:
    newest = api.get(address("order"), token=editor)
    assert newest.content == api.get(address("order-3"), token=editor).content
    assert list(drawn(newest)) == [f"shape-{ID['shape-start-3']}", f"shape-{ID['shape-check-3']}"]


@pytest.mark.parametrize("is_anonymous", [True, False])
def test_a_viewer_sees_nothing_of_a_draft(api: ApiClient, handbook: Storage, is_anonymous: bool) -> None:
    token = None if is_anonymous else token_for(handbook, Role.VIEWER)
    response = api.get(address("order"), token=token)
    assert drawn(response) == {
        f"shape-{ID['shape-start-2']}": ("Start", f"{BASE}/1033/processes/{ID['start-2']}"),
        f"shape-{ID['shape-check-2']}": ("Check", f"{BASE}/1033/processes/{ID['check-2']}"),
        f"shape-{ID['shape-ship-2']}": ("ship", f"{BASE}/1033/processes/{ID['ship-1']}"),
    }
    assert arrows(response) == 2  # those to and from the draft are left out
    assert b"Shapes: 3, arrows: 2." in response.content
    for name in ("invoice", "invoice-1", "shape-invoice-2", "order-3", "shape-check-3"):
        assert ID[name].encode() not in response.content
    assert b"Invoice" not in response.content
    for name in ("order-3", "order-1", "invoice", "retired"):
        unknown = refused(api.get(address(NOT_THERE), token=token), 404)
        assert refused(api.get(address(name), token=token), 404) == unknown.replace(NOT_THERE, ID[name])


def test_another_tenant_with_the_same_ids(api: ApiClient, handbook: Storage, editor: str) -> None:
    rival = Storage.objects.get(collection__key="rival", key="handbook")
    own = token_for(rival, Role.EDITOR)
    there = drawn(api.get(address("order-2", storage="rival/handbook"), token=own))
    assert [text for text, _ in there.values()] == ["Rival Start", "Rival Check", "Rival ship", "Rival Invoice"]
    assert {link.split("/")[3] for _, link in there.values()} == {"rival"}
    refused(api.get(address("order-2", storage="rival/handbook"), token=editor), 401)
    with tenant_scope(rival):
        further = ElementVersion.objects.get(id=ID["order-1"])
        further.id, further.major = uuid4(), 9
        further.save(force_insert=True)
    assert api.get(address(str(further.id), storage="rival/handbook"), token=own).status_code == 200
    refused(api.get(address(str(further.id)), token=editor), 404)


@pytest.mark.parametrize(
    ("culture", "text"), [(1033, "There is nothing in this diagram."), (1031, "In diesem Diagramm ist nichts.")]
)
def test_an_empty_diagram(api: ApiClient, editor: str, culture: int, text: str) -> None:
    response = api.get(address("invoice", culture), token=editor)
    assert drawn(response) == {}
    root = ElementTree.fromstring(response.content)
    assert [each.text for each in root.iter(f"{SVG}tspan")] == [text]
    assert int(root.get("width", 0)) < 400


def test_a_diagram_that_is_too_large(api: ApiClient, editor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("MAX_SHAPES", 3), ("MAX_ARROWS", 3)):
        with monkeypatch.context() as patch:
            patch.setattr(pictures, name, most)
            response = api.get(address("order-2"), token=editor)
        assert drawn(response) == {}
        text = " ".join(each.text or "" for each in ElementTree.fromstring(response.content).iter(f"{SVG}tspan"))
        assert text == "This diagram is too large for a picture. Shapes: 4, arrows: 4."


ERRORS = [
    ("orders", 1033, "vertical", 400, "'orders' is not a GUID."),
    ("order", "german", "vertical", 400, "'german' is not a culture id; the storage has 1031 and 1033."),
    ("order", "-1", "vertical", 400, "'-1' is not a culture id; the storage has 1031 and 1033."),
    ("order", "1033.0", "vertical", 400, "'1033.0' is not a culture id; the storage has 1031 and 1033."),
    ("order", "9" * 30, "vertical", 400, f"'{'9' * 30}' is not a culture id; the storage has 1031 and 1033."),
    ("order", "١٠٣٣", "vertical", 400, "'١٠٣٣' is not a culture id; the storage has 1031 and 1033."),
    ("order", 1036, "vertical", 404, "There is no culture 1036 in this storage; it has 1031 and 1033."),
    ("order", 127, "vertical", 404, "There is no culture 127 in this storage; it has 1031 and 1033."),
    ("order", 1033, "circular", 404, f"There is no layout 'circular'; use {LAYOUTS}."),
    (NOT_THERE, 1033, "vertical", 404, f"There is no element {NOT_THERE}."),
    ("shape-check-2", 1033, "vertical", 404, f"There is no element {ID['shape-check-2']}."),
    ("anna", 1033, "vertical", 404, f"There is no diagram of {ID['anna']}: elements of the type user have no diagram."),
    (
        "erp",
        1033,
        "vertical",
        404,
        f"There is no diagram of {ID['erp-2']}: elements of the type system have no diagram.",
    ),
    (
        "check-2",
        1033,
        "vertical",
        404,
        f"There is no diagram of {ID['check-2']}: elements of the type task have no diagram.",
    ),
]


@pytest.mark.parametrize(("element", "culture", "layout", "status", "message"), ERRORS)
def test_what_is_refused(
    api: ApiClient, editor: str, element: str, culture: object, layout: str, status: int, message: str
) -> None:
    assert refused(api.get(address(element, culture, layout), token=editor), status) == message


def test_elsewhere_it_does_not_exist(api: ApiClient, editor: str) -> None:
    refused(api.get(address("order", storage="acme/nowhere"), token=editor), 404)
    refused(api.get(address("order", storage="acme/_admin"), token=editor), 404)
    refused(api.get(address("order"), token="wrong"), 401)


def test_the_document_names_the_media_type() -> None:
    (path,) = (path for path in openapi_document()["paths"] if path.endswith("{layoutKey}"))
    for method in ("get", "post"):
        operation = openapi_document()["paths"][path][method]
        content = operation["responses"]["200"]["content"]
        assert (list(content), content[SVG_TYPE]["schema"]) == ([SVG_TYPE], {"type": "string"})
        names = [each["name"] for each in operation["parameters"] if each["in"] == "path"]
        assert sorted(names) == ["collectionId", "cultureId", "elementId", "layoutKey", "storageId"]


@pytest.fixture(scope="module", params=[3, 300])
def drawn_storage(
    request: pytest.FixtureRequest, filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Storage]:
    """Create a process whose diagram is a chain of this many tasks."""
    ids = [f"00000000-0000-00fe-0000-{each:012x}" for each in range(request.param)]
    content = [
        {
            "properties": {"shapeId": each, "predecessors": [{"properties": {"shapeId": before}}] if before else []},
            "facetName": "processes",
            "id": each,
            "type": "task",
        }
        for each, before in zip(ids, ["", *ids], strict=False)
    ]
    process = {
        "facetName": "processes",
        "id": ID["order"],
        "versionId": ID["order-1"],
        "type": "subProcess",
        "state": "inProcess",
        "attributes": {"name": {"1033": "Long"}, "version": {"127": "0.1"}},
        "content": content,
    }
    tasks = [
        {
            "facetName": "processes",
            "id": each,
            "creationId": each,
            "type": "task",
            "attributes": {"name": {"1033": "T"}},
        }
        for each in ids
    ]
    file = tmp_path_factory.mktemp("drawn") / "lines.ndjson"
    file.write_text("\n".join(map(json.dumps, [process, *tasks])) + "\n", encoding="utf-8")
    with filled_storage(file, key="drawn", template="standard") as storage:
        yield storage


def test_statements_do_not_grow_with_the_diagram(drawn_storage: Storage) -> None:
    client = Client(headers={"Authorization": f"Bearer {token_for(drawn_storage, Role.ARCHITECT)}"})
    client.get("/acme/drawn/_api/rest/facets")  # reads the configuration, once
    with CaptureQueriesContext(connection) as captured:
        response = client.get(address("order", storage="acme/drawn"))
    with tenant_scope(drawn_storage):
        assert len(drawn(response)) == Shape.objects.count()
        assert arrows(response) == ShapeFlow.objects.count() > 0
    assert len([each for each in captured.captured_queries if "elements_" in each["sql"]]) == 6
