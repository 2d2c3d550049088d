"""Conditional reads with `If-None-Match`: 304 exactly as long as the response would be the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as current_settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver
from pytest_django import Settings as ChangedSettings

from elements.api import entity_tags, reading_viewset
from elements.reading.lists.streams import Stream
from facets.blueprint.definitions import ElementType
from facets.changing.changes import rewrite_configuration
from repository_site.api_document.document import openapi_document
from repository_site.core.fairness import admission
from repository_site.core.fairness.gate import Ticket
from repository_site.core.fairness.presence import Presence
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.elements.conditional_reads import ORDER, PROCESSES, READS, REST, headers_of
from tests.elements.handbook import ID
from tests.factories import token_for
from tests.scale import first_quick
from tests.tags import version_tag

pytestmark = pytest.mark.django_db


def read(api: ApiClient, address: str, token: str | None, tag: str | None = None, **headers: str) -> Any:
    given = {**headers, **({"If-None-Match": tag} if tag else {})}
    return api.get(address, token=token, headers=given)


def rename(api: ApiClient, token: str, facet: str, type: str, element: str) -> None:
    given = {"id": ID[element], "type": type, "attributes": {"name": {"1033": "Other"}}}
    address = f"{REST}/facets/{facet}/views/detail/elements"
    assert api.post(address, {"elements": [given]}, "application/json", token=token).status_code == 200


def forms_of(address: str, tag: str) -> tuple[str, ...]:
    """Return headers that name this entity tag: lists, too, for one read with each form of entity tags."""
    is_asked = address in (PROCESSES, ORDER, f"{ORDER}/attributes")
    lists = (f'"other", {tag}', f'W/"a" ,W/{tag}, "b"', " * ") if is_asked else ()
    return (tag, f"W/{tag}", "*", *lists)


@pytest.mark.parametrize("address", first_quick(READS, 6))
def test_an_unchanged_response_is_304(api: ApiClient, architect: str, address: str) -> None:
    first = read(api, address, architect)
    assert (first.status_code, bool(re.fullmatch(READS[address], first["ETag"]))) == (200, True)
    strong = first["ETag"].removeprefix("W/")
    for tag in forms_of(address, strong):
        again = read(api, address, architect, tag)
        assert (again.status_code, again.content) == (304, b"")
        assert headers_of(again) == {
            "ETag": first["ETag"],
            "api-version": first["api-version"],
            "Cache-Control": "private, no-cache",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Content-Length": "0",
            "Vary": "Accept-Encoding",
        }
    for tag in ('"other"', strong.replace('"', '"x', 1), f'"{first.content[:20].hex()}"'):
        again = read(api, address, architect, tag)
        assert (again.content, headers_of(again)) == (first.content, headers_of(first))


def test_the_document_declares_the_entity_tags() -> None:
    paths = openapi_document()["paths"].values()
    operations = [operation for path in paths for operation in path.values()]
    assert {each["operationId"] for each in operations if "304" in each["responses"]} == {
        "listElements", "getElement", "listAttributes", "getAttribute", "listRelated", "getRelated", "listChildren",
        "getContent", "listVersions", "listReporting", "getReporting", "renderDiagram", "listDiagramLayouts",
        "exportBpmn", "searchElements", "suggestElements", "listReferrers", "getFile",
        "listReport", "getReport", "listDataElements", "getDataElement",
        "compareElement", "compareStorage",
    }  # fmt: skip


@pytest.mark.parametrize("address", first_quick(READS, 6))
def test_head_answers_as_get_does_and_a_post_that_reads_knows_no_conditions(
    api: ApiClient, architect: str, address: str
) -> None:
    plain = read(api, address, architect)
    head = api.head(address, token=architect)
    assert (head.status_code, head.content, headers_of(head)) == (200, b"", headers_of(plain))
    known = {"If-None-Match": plain["ETag"]}
    again = api.head(address, token=architect, headers=known)
    assert (again.status_code, again["ETag"]) == (304, plain["ETag"])
    if address.endswith("/content"):
        return  # POST draws there
    for tag in (plain["ETag"], "*", "no list of tags"):
        posted = api.post(address, "", "application/json", token=architect, headers={"If-None-Match": tag})
        assert (posted.status_code, posted.content, headers_of(posted)) == (200, plain.content, headers_of(plain))


def test_a_change_of_anything_in_the_storage_is_noticed(api: ApiClient, architect: str) -> None:
    tags = {address: read(api, address, architect)["ETag"] for address in READS}
    rename(api, architect, "it", "system", "crm")
    for address, tag in tags.items():
        assert read(api, address, architect, tag).status_code == 200, address


@pytest.mark.parametrize(
    "address", first_quick([f"{PROCESSES}", ORDER, f"{PROCESSES}?$pageSize=3", f"{ORDER}/versions"], 2)
)
def test_the_entity_tag_depends_on_everything_that_the_response_depends_on(
    api: ApiClient, handbook: Storage, architect: str, address: str
) -> None:
    # Tokens are elements, too, so create all of them before the first read.
    viewer, analyzer, administrator = (
        token_for(handbook, role) for role in (Role.VIEWER, Role.ANALYZER, Role.ADMINISTRATOR)
    )
    answers = [
        read(api, address, architect),
        read(api, address, administrator),
        read(api, address, viewer),
        read(api, f"{address}{'&' if '?' in address else '?'}$select=name", architect),
        read(api, address.replace("detail", "list"), architect),
        read(api, address, architect, **{"api-version": "3.0"}),
        read(api, address, architect, host="localhost"),
    ]
    assert [each.status_code for each in answers] == [200] * 7
    assert len({each["ETag"] for each in answers}) == 7
    assert read(api, address, analyzer)["ETag"] == answers[0]["ETag"]


def test_another_configuration_is_noticed(api: ApiClient, handbook: Storage, architect: str) -> None:
    tags = {address: read(api, address, architect)["ETag"] for address in READS}
    rewrite_configuration(handbook, lambda blueprint: replace(blueprint, types=recoloured(blueprint.types)))
    for address, tag in tags.items():
        assert read(api, address, architect, tag).status_code == 200, address


def recoloured(types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
    return (replace(types[0], color="#123456"), *types[1:])


@pytest.mark.parametrize("address", [PROCESSES, ORDER])
def test_another_time_zone_is_noticed(api: ApiClient, handbook: Storage, architect: str, address: str) -> None:
    first = read(api, address, architect)
    Storage.objects.filter(id=handbook.id).update(time_zone="Asia/Tokyo")
    second = read(api, address, architect, first["ETag"])
    assert (second.status_code, second["ETag"] != first["ETag"]) == (200, True)
    assert second.content != first.content
    Storage.objects.filter(id=handbook.id).update(time_zone="Europe/Berlin")
    assert read(api, address, architect, first["ETag"]).status_code == 304


def test_another_limit_of_pages_is_noticed(api: ApiClient, architect: str, settings: ChangedSettings) -> None:
    """The default size of a page depends on this setting."""
    tag = read(api, f"{PROCESSES}?$page=1", architect)["ETag"]
    settings.MAX_PAGE_SIZE = 2
    second = read(api, f"{PROCESSES}?$page=1", architect, tag)
    assert (second.status_code, second.json()["count"]) == (200, 2)


@pytest.mark.parametrize("address", first_quick(READS, 6))
def test_a_304_reads_no_content(api: ApiClient, architect: str, address: str) -> None:
    """Except for the element in the address: an entity tag must not reveal that it exists."""
    tag = read(api, address, architect)["ETag"]
    with CaptureQueriesContext(connection) as captured:
        assert read(api, address, architect, tag).status_code == 304
    touched = [each["sql"] for each in captured if "elements_element" in each["sql"]]
    is_list = re.search(r"(/elements|/reporting)([?].*)?$", address)
    assert len(touched) == (0 if is_list else 1)
    assert sum("elements_contentmark" in each["sql"] for each in captured) == 1


def test_a_single_element_is_known_only_while_all_of_its_answer_is(api: ApiClient, architect: str) -> None:
    """The version itself does not change, but the response shows other elements, too."""
    sales = f"{PROCESSES}/{ID['sales']}?$resources=children"
    first = read(api, sales, architect)
    child = {"type": "subProcess", "rootPath": [{"id": ID["sales"]}], "attributes": {"name": {"1033": "New"}}}
    assert api.post(PROCESSES, {"elements": [child]}, "application/json", token=architect).status_code == 200
    second = read(api, sales, architect, first["ETag"])
    assert second.status_code == 200
    assert len(second.json()["elements"][0]["children"]) == len(first.json()["elements"][0]["children"]) + 1
    assert version_tag(second["ETag"]) == version_tag(first["ETag"])
    assert read(api, sales, architect, second["ETag"]).status_code == 304


def test_the_entity_tag_of_a_read_is_valid_for_if_match(api: ApiClient, architect: str) -> None:
    tag = read(api, ORDER, architect)["ETag"]
    elsewhere = read(api, ORDER.replace("detail", "list"), architect, **{"api-version": "2.0"})["ETag"]
    rename(api, architect, "it", "system", "crm")

    def change(text: str, tag: str) -> Any:
        body = {"elements": [{"id": ID["order"], "attributes": {"scope": {"1033": text}}}]}
        return api.post(PROCESSES, body, "application/json", token=architect, headers={"If-Match": tag})

    version, revision = version_tag(tag).strip('"').split(".")
    other = [f'"{version}.{int(revision) + 1}"', f'"{version}.{revision}0"', f'"{version}"', f"W/{tag}"]
    other += [tag.replace(version, ID["order-2"]), f'"{tag.partition(".")[2]}']
    assert [change("no", each).status_code for each in other] == [412] * len(other)
    first = change("a", elsewhere)
    assert first.status_code == 200
    assert re.fullmatch(rf'"{version}\.(?!{revision}")[0-9]+"', first["ETag"])
    assert change("no", tag).status_code == 412
    # Entity tags of earlier releases and of writes.
    assert change("b", f'"x", {first["ETag"]}').status_code == 200


def test_the_entity_tag_of_a_write_is_not_valid_for_reads(api: ApiClient, architect: str) -> None:
    body = {"elements": [{"id": ID["order"], "attributes": {"scope": {"1033": "a"}}}]}
    written = api.post(PROCESSES, body, "application/json", token=architect)
    shown = read(api, ORDER, architect, written["ETag"])
    assert (shown.status_code, shown.content) == (200, written.content)
    assert version_tag(shown["ETag"]) == written["ETag"]


@pytest.mark.parametrize("address", first_quick(READS, 6))
def test_an_entity_tag_reveals_nothing_without_permission(
    api: ApiClient, handbook: Storage, architect: str, address: str
) -> None:
    viewer = token_for(handbook, Role.VIEWER)
    tag = read(api, address, architect)["ETag"]
    nowhere = address.replace("/processes/", "/nothing/").replace("/vertical", "/round")
    plain = read(api, address, viewer).status_code
    assert plain in (200, 403, 404)
    for given in (tag, "*"):
        assert read(api, address, "crt_wrong", given).status_code == 401
        assert read(api, nowhere, architect, given).status_code == 404
        assert read(api, address, viewer, given).status_code == (304 if (plain, given) == (200, "*") else plain)


def test_a_draft_is_not_revealed(api: ApiClient, handbook: Storage, architect: str) -> None:
    viewer = token_for(handbook, Role.VIEWER)
    draft = f"{PROCESSES}/{ID['invoice']}"
    tag = read(api, draft, architect)["ETag"]
    for given in (tag, "*", version_tag(tag)):
        assert read(api, draft, viewer, given).status_code == 404
    assert version_tag(read(api, ORDER, viewer)["ETag"]).startswith(f'"{ID["order-2"]}.')
    assert version_tag(read(api, ORDER, architect)["ETag"]).startswith(f'"{ID["order-3"]}.')


def test_if_none_match_any_is_404_for_unknown_elements(api: ApiClient, architect: str) -> None:
    missing = f"{PROCESSES}?$pageSelectionKey={ID['crm']}"
    assert [read(api, missing, architect, tag).status_code for tag in (None, "*")] == [404, 404]


@pytest.mark.parametrize("address", [PROCESSES, ORDER, f"{ORDER}/versions"])
def test_malformed_lists_of_entity_tags(api: ApiClient, architect: str, address: str) -> None:
    for header in ("1a2b", '"open', "**", '"a" "b"', "*, *", "w/'a'"):
        refused = read(api, address, architect, header)
        assert (refused.status_code, "If-None-Match" in refused.json()["message"]) == (400, True), header


def test_a_streamed_list_has_the_same_tag(api: ApiClient, architect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(api, PROCESSES, architect)
    monkeypatch.setattr(reading_viewset, "BATCH", 1)
    streamed = read(api, PROCESSES, architect)
    assert hasattr(streamed, "was_streamed")
    headers = headers_of(whole)
    assert headers.pop("Content-Length") == str(len(whole.content))
    assert (streamed.content, headers_of(streamed)) == (whole.content, headers)
    head = api.head(PROCESSES, token=architect)
    assert (head.content, headers_of(head)) == (b"", headers)
    again = read(api, PROCESSES, architect, streamed["ETag"])
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", whole["ETag"])


def test_a_list_that_is_not_sent_takes_no_place(
    api: ApiClient, architect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_viewset, "BATCH", 1)
    tag = read(api, PROCESSES, architect)["ETag"]
    monkeypatch.setattr(admission.gate, "presence", Presence())
    ticket = Ticket(("acme/handbook", 1))
    taken = [Stream(iter(()), ticket) for _ in range(current_settings.POOL_SIZE // 2 - 1)]
    statuses = [read(api, PROCESSES, architect, each).status_code for each in (tag, "*", '"other"')]
    for each in taken:
        each.close()
    assert statuses == [304, 304, 429]


def test_the_digest_covers_the_code_of_all_conditional_reads() -> None:
    """A change of other packages leaves the entity tags as they are."""
    names = {operation.cls.__module__.partition(".")[0] for operation in _conditional(get_resolver().url_patterns)}
    assert names == {"elements"}
    assert names <= set(entity_tags.PACKAGES)


def _conditional(patterns: list[URLPattern | URLResolver]) -> Iterator[Any]:
    """Yield the views with a conditional read."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _conditional(pattern.url_patterns)
            continue
        view: Any = pattern.callback
        actions = [getattr(view.cls, each) for each in (getattr(view, "actions", None) or {}).values()]
        if any(each.operation.is_conditional for each in actions if hasattr(each, "operation")):
            yield view


def test_another_release_of_the_program_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules, style sheets, the grammar and libraries are part of it; compiled modules are not."""
    monkeypatch.setattr(entity_tags, "PROJECT_DIR", tmp_path)
    seen = set()
    for number, name in enumerate(("requirements.txt", "elements/a.py", "elements/static/a.css", "storage/b.lark")):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}")
        seen.add(entity_tags.code_digest.__wrapped__())
    assert len(seen) == 4
    (tmp_path / "elements/__pycache__").mkdir()
    (tmp_path / "elements/__pycache__/a.cpython-311.pyc").write_text("x")
    assert entity_tags.code_digest.__wrapped__() in seen
