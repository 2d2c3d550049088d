"""Lists of elements and single elements, operations 3 and 4: whole responses (D6 to D10)."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.elements.expected_elements import DRAFT, PUBLISHED, in_order
from tests.elements.handbook import AUTHOR_NOTE, BASE, ID, TYPE_NAMES, wire
from tests.factories import token_for

pytestmark = pytest.mark.django_db
PROCESSES = "/acme/handbook/_api/rest/facets/processes/views"


def element(api: ApiClient, name: str, query: str = "", view: str = "detail", **options: Any) -> Any:
    response = api.get(f"{PROCESSES}/{view}/elements/{ID[name]}{query}", **options)
    assert response.status_code == 200, response.content
    found = response.json()
    assert found["count"] == len(found["elements"]) == 1
    return found["elements"][0]


def test_callers_who_see_drafts_read_the_newest_version(handbook: Storage, api: ApiClient, editor: str) -> None:
    assert in_order(element(api, "order", token=editor)) == in_order(DRAFT)


def test_a_viewer_reads_the_published_version(handbook: Storage, api: ApiClient) -> None:
    assert in_order(element(api, "order")) == in_order(PUBLISHED)
    assert element(api, "order", token=token_for(handbook, Role.VIEWER)) == PUBLISHED


def test_decimals_keep_every_digit(handbook: Storage, api: ApiClient) -> None:
    body = api.get(f"{PROCESSES}/detail/elements/{ID['order']}?$select=cost").content
    assert b'"cost":{"127":12345678901234567890.125}' in body


def test_a_version_is_addressed_by_its_own_id(handbook: Storage, api: ApiClient, editor: str) -> None:
    released = element(api, "order-2", token=editor)
    assert (released["versionId"], released["state"]) == (ID["order-2"], "released")
    # For a caller who sees drafts, references show the newest version of their target.
    assert released["related"]["systems"] == [wire("crm-1"), wire("erp-2"), wire("old-1")]
    assert released["related"]["releaseHistory"] == [wire("order-1"), wire("order-2")]
    assert released["content"] == [wire("start-2"), wire("check-2"), wire("ship-1"), wire("invoice-1")]
    assert element(api, "order-1", token=editor)["attributes"]["validUntil"] == {"127": "2026-02-20T00:00:00"}
    # For a viewer, references show the published version, or nothing.
    assert element(api, "order-2") == PUBLISHED


@pytest.mark.parametrize("name", ["order-1", "order-3", "invoice", "invoice-1", "retired", "retired-1", "start-3"])
def test_unpublished_elements_do_not_exist_for_a_viewer(handbook: Storage, api: ApiClient, name: str) -> None:
    hidden = api.get(f"{PROCESSES}/detail/elements/{ID[name]}")
    assert hidden.status_code == 404
    assert hidden.json() == {
        "message": f"There is no element {ID[name]} in the view detail of the facet processes.",
        "output": "volatile",
        "type": "error",
        "data": [{"error": f"There is no element {ID[name]} in the view detail of the facet processes."}],
    }
    unknown = "ffffffff-0000-4000-8000-000000000000"
    missing = api.get(f"{PROCESSES}/detail/elements/{unknown}")
    assert missing.content.replace(unknown.encode(), ID[name].encode()) == hidden.content


def test_unversioned_elements_have_a_creation_id_and_no_state(handbook: Storage, api: ApiClient) -> None:
    address = f"/acme/handbook/_api/rest/facets/users/views/detail/elements/{ID['anna']}"
    found = api.get(address, token=token_for(handbook, Role.ADMINISTRATOR)).json()["elements"]
    assert in_order(found) == in_order(
        [
            {
                "facetName": "users",
                "id": ID["anna"],
                "creationId": ID["anna"],
                "type": "user",
                "displayNames": {"1031": "Benutzer", "1033": "User"},
                "attributes": {
                    "firstName": {"127": "Anna"},
                    "name": {"1033": "Anna Berg"},
                    "roleEditor": {"127": True},
                },
                "related": {"hasCulture": [wire("german")], "userGroups": [wire("crew")]},
            }
        ]
    )


def test_a_copy_keeps_the_creation_id_of_the_first(handbook: Storage, api: ApiClient, editor: str) -> None:
    copied = element(api, "check-3", token=editor)
    assert (copied["id"], copied["creationId"]) == (ID["check-3"], ID["check-2"])
    assert copied["rootPath"] == [wire("order-3"), wire("sales-1"), wire("house")]


HOUSE: dict[str, Any] = {
    **wire("house", bare=True),
    "displayNames": {"1031": "Prozesshaus", "1033": "Process house"},
    "attributes": {"name": {"1031": "Haus", "1033": "House"}, "state1": {"127": "show"}},
    "related": {"owner": [wire("anna")]},
    "children": [wire("sales-1", view="tree")],
    "content": [wire("sales-1")],
}
CUSTOMER_VIEW: dict[str, Any] = {
    **wire("customer-view", bare=True),
    "displayNames": {"1031": "Sicht", "1033": "View"},
    "attributes": {"name": {"1033": "customer view"}, "state1": {"127": "show"}},
}


def test_a_hierarchical_view_lists_its_roots(handbook: Storage, api: ApiClient) -> None:
    answer = api.get(f"{PROCESSES}/tree/elements")
    assert in_order(answer.json()) == in_order({"count": 2, "elements": [CUSTOMER_VIEW, HOUSE]})
    assert (answer["api-version"], answer["Cache-Control"]) == ("4.0", "private, no-cache")
    assert "X-Total-Count" not in answer
    assert "Link" not in answer


def names(answer: Any) -> list[str]:
    found = [each["attributes"]["name"]["1033"] for each in answer.json()["elements"]]
    assert answer.json()["count"] == len(found)
    return found


def test_a_flat_view_lists_every_element_of_its_types_by_name(handbook: Storage, api: ApiClient, editor: str) -> None:
    """The order ignores letter case, and follows the name in the version that the caller sees."""
    assert names(api.get(f"{PROCESSES}/list/elements", token=editor)) == [
        "Handle every order", "Invoice", "Loose end", "Retired", "Sales", "ship",
    ]  # fmt: skip
    assert names(api.get(f"{PROCESSES}/list/elements")) == ["Handle order", "Loose end", "Sales", "ship"]
    assert names(api.get(f"{PROCESSES}/detail/elements")) == [
        "Check", "customer view", "Handle order", "House", "Loose end", "Sales", "ship", "Start",
    ]  # fmt: skip


def test_equal_names_are_ordered_by_id(handbook: Storage, api: ApiClient, editor: str) -> None:
    found = api.get(f"{PROCESSES}/detail/elements?$filter=type -eq evStart", token=editor).json()["elements"]
    assert [each["id"] for each in found] == [ID["start-2"], ID["start-3"]]


def test_a_view_shows_its_properties_and_follows_its_types(handbook: Storage, api: ApiClient, editor: str) -> None:
    assert element(api, "order", view="list", token=editor) == {
        **wire("order-3", bare=True),
        "displayNames": TYPE_NAMES["subProcess"],
        "attributes": {"name": {"1033": "Handle every order"}, "version": {"127": "2.1"}},
        "content": [wire("start-3"), wire("check-3")],
        "rootPath": [wire("sales-1", view="list")],
    }
    # Tree: children in order, with addresses in this view. Elements of the diagram are not children.
    assert element(api, "sales", view="tree", token=editor)["children"] == [
        wire("ship-1", view="tree"), wire("invoice-1", view="tree"), wire("order-3", view="tree"),
    ]  # fmt: skip
    assert element(api, "sales", view="tree")["children"] == [wire("ship-1", view="tree"), wire("order-2", view="tree")]
    assert "children" not in element(api, "order", token=editor)


@pytest.mark.parametrize("name", ["house", "check-2", "start-2"])
def test_an_element_whose_type_is_not_in_the_view_is_not_there(handbook: Storage, api: ApiClient, name: str) -> None:
    assert api.get(f"{PROCESSES}/list/elements/{ID[name]}").status_code == 404
    assert api.get(f"/acme/handbook/_api/rest/facets/users/views/detail/elements/{ID[name]}").status_code == 404


def test_select_restricts_attributes_and_contexts_only(handbook: Storage, api: ApiClient, editor: str) -> None:
    selected = element(api, "order", "?$select=name,author", token=editor)
    assert in_order(selected) == in_order(
        {**DRAFT, "attributes": {"name": DRAFT["attributes"]["name"]}, "related": {"author": [wire("anna")]}}
    )
    only_contexts = element(api, "order", "?$select=systems", token=editor)
    without = {key: value for key, value in DRAFT.items() if key != "attributes"}
    assert only_contexts == {**without, "related": {"systems": [wire("erp-2")]}}


def test_select_can_name_properties_outside_the_view(handbook: Storage, api: ApiClient, editor: str) -> None:
    found = element(api, "order", "?$select=%20systems%20,authorNote", view="list", token=editor)
    assert (found["attributes"], found["related"]) == ({"authorNote": AUTHOR_NOTE}, {"systems": [wire("erp-2")]})


@pytest.mark.parametrize(
    ("resources", "kept"),
    [
        ("rootPath", {"rootPath"}),
        ("attributes,children", {"attributes"}),
        ("displayNames, related", {"displayNames", "related"}),
        ("content,attributes", {"attributes", "content"}),
        ("children", set()),
    ],
)
def test_resources_restrict_the_parts_of_an_element(
    handbook: Storage, api: ApiClient, editor: str, resources: str, kept: set[str]
) -> None:
    identity = {"facetName", "id", "versionId", "type", "state"}
    expected = {key: value for key, value in DRAFT.items() if key in identity | kept}
    assert in_order(element(api, "order", f"?$resources={resources}", token=editor)) == in_order(expected)


def test_versions_are_a_resource_on_request(handbook: Storage, api: ApiClient, editor: str) -> None:
    view = "list"
    found = element(api, "order", "?$resources=versions", view=view, token=editor)
    every = [wire(f"order-{number}", view=view) for number in (1, 2, 3)]
    assert in_order(found) == in_order({**wire("order-3", bare=True), "versions": every})
    viewed = element(api, "order", "?$resources=versions", view=view)
    assert viewed == {**wire("order-2", bare=True), "versions": [wire("order-2", view=view)]}
    assert element(api, "house", "?$resources=versions", view="tree") == wire("house", bare=True)


def test_expanding_a_context_shows_the_references_of_its_targets(
    handbook: Storage, api: ApiClient, editor: str
) -> None:
    found = element(api, "order-2", "?$select=systems,owner&$expandRelated=systems,owner", token=editor)
    assert in_order(found["related"]) == in_order(
        {
            "owner": [
                {
                    **wire("anna", bare=True),
                    "related": {"hasCulture": [wire("german", bare=True)], "userGroups": [wire("crew", bare=True)]},
                }
            ],
            "systems": [
                wire("crm-1", bare=True),
                {
                    **wire("erp-2", bare=True),
                    "related": {"owner": [wire("anna", bare=True)], "releaseHistory": [wire("erp-1", bare=True)]},
                },
                {**wire("old-1", bare=True), "related": {"releaseHistory": [wire("old-1", bare=True)]}},
            ],
        }
    )
    assert "attributes" not in found


def test_expanding_does_not_add_contexts_and_empty_ones_change_nothing(
    handbook: Storage, api: ApiClient, editor: str
) -> None:
    assert element(api, "order", "?$expandRelated=owner,secondaryAuthors", token=editor) == DRAFT
    assert element(api, "order", "?$expandRelated=systems", view="list", token=editor) == element(
        api, "order", view="list", token=editor
    )


def test_a_single_element_that_does_not_match_gives_an_empty_list(handbook: Storage, api: ApiClient) -> None:
    address = f"{PROCESSES}/detail/elements/{ID['order']}"
    assert api.get(f"{address}?$filter=state -eq released").json() == {"count": 1, "elements": [PUBLISHED]}
    assert api.get(f"{address}?$filter=state -eq expired").json() == {"count": 0, "elements": []}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("name -eq 'Handle order'", ["Handle order"]),
        ("name -eq 'handle order'", []),
        ("StartsWith(name, 'HANDLE')", ["Handle order"]),
        ("Contains(name[1031], 'abwickeln')", ["Handle order"]),
        ("version -gt '1.5'", ["Handle order"]),
        ("cost -eq 12345678901234567890.125", ["Handle order"]),
        ("changedOn -ge 2026-03-02T09:15:20.25", ["Handle order", "Loose end", "Sales", "ship"]),
        ("isReleased -eq false OR type -eq mainProcess", ["Sales"]),
        (f"systems -eq {ID['erp']}", ["Handle order"]),
        (f"systems -eq {ID['crm']}", []),
        ("IsNull(owner) AND NOT state -in (inEffect, released)", ["Loose end"]),
    ],
)
def test_filters_choose_elements(handbook: Storage, api: ApiClient, expression: str, expected: list[str]) -> None:
    assert names(api.get(f"{PROCESSES}/list/elements", {"$filter": expression})) == expected


def test_below_four_the_list_is_called_values(handbook: Storage, api: ApiClient) -> None:
    expected = {"count": 2, "values": [CUSTOMER_VIEW, HOUSE]}
    for version in ("1.0", "2.0", "3.0"):
        answer = api.get(f"{PROCESSES}/tree/elements", headers={"api-version": version})
        assert (answer.json(), answer["api-version"]) == (expected, version)
    single = api.get(f"{PROCESSES}/detail/elements/{ID['order']}?api-version=1.0")
    assert single.json() == {"count": 1, "values": [PUBLISHED]}
    assert api.get(f"{PROCESSES}/tree/elements?api-version=5.0").status_code == 400


def test_names_and_ids_match_in_any_letter_case_and_slashes_do_not_matter(handbook: Storage, api: ApiClient) -> None:
    address = f"/acme/handbook/_api/rest/facets/PROCESSES/views/Detail/elements/{ID['order'].upper()}/"
    assert api.get(address).json() == {"count": 1, "elements": [PUBLISHED]}


def test_reading_works_by_get_head_and_empty_post(handbook: Storage, api: ApiClient) -> None:
    for address in (f"{PROCESSES}/tree/elements", f"{PROCESSES}/detail/elements/{ID['order']}"):
        get, head, post = api.get(address), api.head(address), api.generic("POST", address)
        assert get.content == post.content
        assert (head.status_code, head.content) == (200, b"")
        refused = api.put(address)
        methods = "DELETE, GET, HEAD, POST" if ID["order"] in address else "GET, HEAD, POST"
        assert (refused.status_code, refused["Allow"]) == (405, methods)


def test_addresses_are_those_of_the_request(handbook: Storage, api: ApiClient, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["testserver", "repo.example"]
    other = api.get(f"{PROCESSES}/detail/elements/{ID['order']}", headers={"host": "repo.example"})
    assert other.content == api.get(f"{PROCESSES}/detail/elements/{ID['order']}").content.replace(
        BASE.encode(), b"http://repo.example/acme/handbook"
    )


@pytest.mark.parametrize(
    ("address", "status", "message"),
    [
        ("nothing/views/detail/elements", 404, "There is no facet nothing."),
        ("processes/views/nothing/elements", 404, "There is no view nothing in the facet processes; similar: reporting."),
        ("proceses/views/detail/elements", 404, "There is no facet proceses; similar: processes."),
        ("processes/views/detial/elements", 404, "There is no view detial in the facet processes; similar: detail."),
        ("processes/views/detail/elements/42", 400, "'42' is not a GUID."),
        ("processes/views/detail/elements/{00000000-0000-4000-8000-000000000001}", 400, "'{00000000-0000-4000-8000-000000000001}' is not a GUID."),
        ("processes/views/tree/elements?$resources=name", 400, "$resources: 'name' is not a resource; use attributes, related, children, content, displayNames, rootPath, versions or names."),
        ("processes/views/tree/elements?$resources=attributes,", 400, "$resources: '' is not a resource; use attributes, related, children, content, displayNames, rootPath, versions or names."),
        ("processes/views/tree/elements?$select=lcid", 400, "$select: 'lcid' is not an attribute or related context of this view's types."),
        ("processes/views/tree/elements?$select=Name", 400, "$select: 'Name' is not an attribute or related context of this view's types; similar: name."),
        ("processes/views/tree/elements?$expandRelated=name", 400, "$expandRelated: 'name' is not a related context of this view's types."),
        ("processes/views/tree/elements?$orderby=name", 400, "$orderby: upper and lower case matter in names; write $orderBy."),
        ("processes/views/tree/elements?$select=name&$select=state1", 400, "$select is given more than once; send it once."),
        ("processes/views/tree/elements?$filter=nam -eq 'x'", 400, "The filter is invalid at character 1 (>>>nam -eq 'x'): there is no property nam here; similar: name."),
        (f"processes/views/detail/elements/{ID['order']}?$page=1", 400, "$page: this operation takes $filter, $resources, $select, $expandRelated, $culture, $fallback and $asOf."),
    ],
)  # fmt: skip
def test_bad_addresses_and_parameters(
    handbook: Storage, api: ApiClient, address: str, status: int, message: str
) -> None:
    answer = api.get(f"/acme/handbook/_api/rest/facets/{address}")
    assert answer.status_code == status
    kind = {"output": "inline" if status == 400 else "volatile", "type": "error"}
    assert answer.json() == {"message": message, **kind, "data": [{"error": message}]}


@pytest.mark.parametrize(
    ("query", "messages"),
    [
        ("pageSize=2", ["pageSize: the $ is missing; write $pageSize."]),
        ("PageSize=2", ["PageSize: the $ is missing; write $pageSize."]),
        ("$PAGESIZE=2&$Select=name", ["$PAGESIZE: upper and lower case matter in names; write $pageSize.", "$Select: upper and lower case matter in names; write $select."]),
        ("Api-Version=4.0", ["Api-Version: upper and lower case matter in names; write api-version."]),
        ("select=name&api-version=4.0", ["select: the $ is missing; write $select."]),
        ("page=1&filter=", ["page: the $ is missing; write $page.", "filter: the $ is missing; write $filter."]),
        ("page=1&$page=0", ["page: the $ is missing; write $page.", "$page: expected a whole number from 1 to 1000000000, not '0'."]),
    ],
)  # fmt: skip
def test_a_misspelled_parameter_name_is_an_error(
    handbook: Storage, client: Client, query: str, messages: list[str]
) -> None:
    answer = client.get(f"{PROCESSES}/tree/elements?{query}")
    message = messages[0] if len(messages) == 1 else f"{len(messages)} parameters are invalid."
    data = [{"error": each} for each in messages]
    assert (answer.status_code, answer.json()) == (
        400,
        {"message": message, "output": "inline", "type": "error", "data": data},
    )


@pytest.mark.parametrize("address", ["facets", "facets/processes/views/tree/elements", "info"])
@pytest.mark.parametrize("query", ["=name", "=", "api-version=1.0&=2"])
def test_a_parameter_without_a_name_is_an_error(handbook: Storage, client: Client, address: str, query: str) -> None:
    answer = client.get(f"/acme/handbook/_api/rest/{address}?{query}")
    message = (
        "A query parameter has no name. Put the address in single quotes, so that the shell keeps names such as $select:"
        " '...?$select=name'."
    )
    assert (answer.status_code, answer.json()) == (
        400,
        {"message": message, "output": "inline", "type": "error", "data": [{"error": message}]},
    )


def test_other_unknown_parameters_are_ignored(handbook: Storage, client: Client) -> None:
    """`page` is a parameter of the list, not of a single element."""
    address = f"{PROCESSES}/tree/elements"
    assert client.get(f"{address}?colour=red&&selection=name").json() == client.get(address).json()
    element = f"{PROCESSES}/detail/elements/{ID['order']}"
    assert client.get(f"{element}?page=1").json() == client.get(element).json()


def test_all_invalid_parameters_are_reported_at_once(handbook: Storage, api: ApiClient) -> None:
    answer = api.get(f"{PROCESSES}/tree/elements?$select=nothing&$page=0&$pageSize=x&$filter=(&$top=1")
    assert answer.status_code == 400
    assert answer.json()["message"] == "5 parameters are invalid."
    assert [each["error"].split(":")[0] for each in answer.json()["data"]] == [
        "$top", "$select", "The filter is invalid at character 2 ((>>>)", "$page", "$pageSize",
    ]  # fmt: skip


def test_a_parameter_without_a_value_counts_as_not_given(handbook: Storage, api: ApiClient) -> None:
    address = f"{PROCESSES}/tree/elements"
    empty = "?$filter=&$resources=&$select=&$expandRelated=&$page=&$pageSize=&$pageSelectionKey="
    assert api.get(address + empty).content == api.get(address).content


@pytest.mark.long
@pytest.mark.on_cluster
def test_a_statement_timeout_asks_for_a_smaller_request(
    handbook: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.STATEMENT_TIMEOUT = 1
    monkeypatch.setattr("elements.reading.lists.selection.BY_NAME", "pg_sleep(5)::text, v.sort_name, e.id")
    answer = api.get(f"{PROCESSES}/list/elements")
    message = (
        "The request takes too long. Ask for less: fewer or simpler conditions in $filter, a smaller page, or fewer"
        " resources."
    )
    assert answer.status_code == 400
    assert answer.json() == {"message": message, "output": "inline", "type": "error", "data": [{"error": message}]}
