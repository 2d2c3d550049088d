"""Addresses, methods, parameters and api-versions of the parts of an element."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from storage.models import Storage
from tests.api_client import ApiClient
from tests.elements.element_parts import NOT_THERE, part, refused
from tests.elements.handbook import ID
from tests.scale import first_quick

pytestmark = pytest.mark.django_db


# Each part with its api-version and its parameters.
SELECTED = ("$filter", "$select", "$expandRelated")
PARTS = {
    "attributes": ("1.0", ("$filter", "$select")),
    "attributes/name": ("1.0", ("$filter",)),
    "related": ("1.0", SELECTED),
    "related/systems": ("1.0", ("$filter", "$expandRelated")),
    "children": ("4.0", ()),
    "content": ("2.0", ()),
    "versions": ("4.0", (*SELECTED, "$resources")),
}
EVERY = ("$filter", "$select", "$expandRelated", "$resources", "$page", "$pageSize", "$pageSelectionKey", "$top")
NOT_TAKEN = [(rest, name) for rest, (_, taken) in PARTS.items() for name in EVERY if name not in taken]
READ_BY_POST = [rest for rest in PARTS if rest != "content"]
every_part = pytest.mark.parametrize("rest", first_quick(PARTS, 4))


@every_part
def test_every_spelling_of_an_address_answers_alike(api: ApiClient, editor: str, rest: str) -> None:
    plain = api.get(part("order", rest), token=editor)
    assert (plain.status_code, plain["api-version"]) == (200, PARTS[rest][0])
    assert plain["Content-Type"] == "application/json"
    assert plain["Cache-Control"] == "private, no-cache"
    for address in (
        part("order", f"{rest}/"),
        part("order-3", rest),
        part(ID["order"].upper(), rest),
        part(ID["order-3"].upper(), rest),
        part("order", rest, "DETAIL", "Processes"),
    ):
        assert api.get(address, token=editor).content == plain.content, address
    head = api.head(part("order", rest), token=editor)
    assert (head.status_code, head.content, head["api-version"]) == (200, b"", PARTS[rest][0])


@pytest.mark.parametrize("rest", READ_BY_POST)
def test_post_without_a_body_reads_and_with_one_is_refused(api: ApiClient, editor: str, rest: str) -> None:
    for address in (part("order", rest), part("order", f"{rest}/")):
        response = api.generic("POST", address, token=editor)
        assert (response.status_code, response.content) == (200, api.get(address, token=editor).content)
    body = {"elements": [{"id": ID["order"]}]}
    refused(api.post(part("order", rest), body, content_type="application/json", token=editor), 400, "body")


@every_part
def test_405_lists_the_allowed_methods(api: ApiClient, editor: str, rest: str) -> None:
    # A diagram is replaced with PUT.
    is_diagram = rest == "content"
    allowed = "GET, HEAD, POST, PUT" if is_diagram else "GET, HEAD, POST"
    for method in (api.patch, api.delete) if is_diagram else (api.put, api.patch, api.delete):
        response = method(part("order", rest), token=editor)
        refused(response, 405, allowed)
        assert response["Allow"] == allowed


@pytest.mark.parametrize(("rest", "name"), NOT_TAKEN)
def test_unsupported_parameters_are_refused_with_the_supported_ones(api: ApiClient, rest: str, name: str) -> None:
    refused(api.get(f"{part('order', rest)}?{name}=1"), 400, name, *PARTS[rest][1])


@pytest.mark.parametrize(("rest", "name"), [(rest, name) for rest, (_, taken) in PARTS.items() for name in taken])
def test_unknown_names_in_parameters_are_refused(api: ApiClient, rest: str, name: str) -> None:
    wrong = "colour -eq 'red'" if name == "$filter" else "colour"
    refused(api.get(f"{part('order', rest)}?{urlencode({name: wrong})}"), 400, "colour")


@every_part
def test_unknown_parts(api: ApiClient, handbook: Storage, editor: str, rest: str) -> None:
    refused(api.get(part("order", rest, facet="recipes")), 404, "recipes")
    refused(api.get(part("order", rest, "gallery")), 404, "gallery")
    refused(api.get(part(NOT_THERE, rest)), 404, NOT_THERE)
    refused(api.get(part("erp", rest), token=editor), 404, ID["erp"])  # of another facet
    refused(api.get(part("check-3", rest, "list"), token=editor), 404, ID["check-3"])  # of a type not in the view
    refused(api.get(part("shape-check-3", rest), token=editor), 404, ID["shape-check-3"])  # a shape is not an element
    for hidden in ("invoice", "order-1", "order-3", "retired"):
        refused(api.get(part(hidden, rest)), 404, ID[hidden])
    for no_guid in ("orders", "1", ID["order"][:-1], ID["order"].replace("-", ""), f"{{{ID['order']}}}"):
        refused(api.get(part(no_guid, rest), token=editor), 400, no_guid)


@every_part
def test_older_api_versions(api: ApiClient, handbook: Storage, rest: str) -> None:
    label = PARTS[rest][0]
    newest = api.get(part("order", rest)).json()
    for version in ("1.0", "2.0", "3.0", "4.0"):
        by_header = api.get(part("order", rest), headers={"api-version": version})
        by_query = api.get(f"{part('order', rest)}?api-version={version}")
        assert by_query.content == by_header.content
        if version > label:
            refused(by_header, 400, version, label)
            continue
        name = "values" if label == "4.0" and version < "4.0" else list(newest)[1]
        assert by_header.json() == {"count": newest["count"], name: list(newest.values())[1]}
        assert by_header["api-version"] == by_query["api-version"] == version
    refused(api.get(part("order", rest), headers={"api-version": "1.5"}), 400, "1.5", "1.0", label)
