"""Element info, operation 12: permissions and capabilities by role (D20), as whole responses."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.elements.element_parts import NOT_THERE, part, refused
from tests.elements.handbook import ID
from tests.factories import token_for
from tests.scale import first_quick

pytestmark = pytest.mark.django_db

PERMISSIONS = {
    "N": "NewElement",
    "E": "EditElement",
    "D": "DeleteElement",
    "S": "ShowElement",
    "A": "ApproveElement",
    "O": "OpenElement",
}
ALL = list(PERMISSIONS.values())
FLAGS = {"C": "isCurrentCopyable", "I": "isCurrentInsertable", "M": "isCurrentMovable", "R": "isCurrentRemovable"}
# The facet and view that a test reads an element through.
PLACES = {"english": ("cultures", "all"), "ben": ("users", "detail"), "erp": ("it", "detail"), "crm": ("it", "detail")}


def info(api: ApiClient, address: str, token: str | None = None, **headers: str) -> Any:
    """Return the only value of the response."""
    response = api.get(address, token=token, headers=headers)
    assert (response.status_code, response["api-version"]) == (200, "1.0")
    (value,) = response.json()["values"]
    assert response.json() == {"count": 1, "values": [value]}
    return value


ORDER_3 = {
    "elementTypeName": "SubProcessDiagram",
    "entityIds": [ID["order-3"]],
    "entityTypeName": "SubProcess",
    "facetTypeName": "Processes",
    "facetViewKey": "Detail",
    "hasDiagram": True,
    "hasEditPermission": True,
    "id": ID["order-3"],
    "insertableDynamicTypes": {},
    "isCurrentCopyable": False,
    "isCurrentInsertable": True,
    "isCurrentMovable": True,
    "isCurrentRemovable": True,
    "isReadOnly": False,
    "isReadOnlyCollection": False,
    "name": "Handle every order",
    "permissions": ALL,
    "readOnlyCollectionContext": "None",
    "readOnlyContext": "None",
    "rootPath": [ID["order-3"]],
    "shapeId": ID["order-3"],
    "typeColor": "#007ACC",
    "uid": f"_{ID['order-3']}",
}


def test_through_a_flat_view(api: ApiClient, architect: str) -> None:
    found = info(api, part("order", "info"), architect)
    assert found == ORDER_3
    assert list(found) == list(ORDER_3)


def test_a_hierarchical_view_adds_the_path_to_the_root(api: ApiClient, architect: str) -> None:
    assert info(api, part("order-3", "info", "tree"), architect) == {
        **ORDER_3,
        "facetViewKey": "Tree",
        "rootPath": [ID["order-3"], ID["sales-1"], ID["house"]],
        "uid": f"{ID['sales-1']}_{ID['order-3']}",
    }


def test_an_element_without_versions_at_the_root(api: ApiClient, architect: str) -> None:
    assert info(api, part("house", "info", "tree"), architect) == {
        **ORDER_3,
        "elementTypeName": "ProcessHouseDiagram",
        "entityIds": [ID["house"]],
        "entityTypeName": "ProcessHouse",
        "facetViewKey": "Tree",
        "id": ID["house"],
        "isCurrentMovable": False,
        "isCurrentRemovable": False,  # it has children
        "name": "House",
        "rootPath": [ID["house"]],
        "shapeId": ID["house"],
        "uid": f"_{ID['house']}",
    }


def test_an_element_without_a_diagram(api: ApiClient) -> None:
    assert info(api, part("anna", "info", facet="users")) == {
        "elementTypeName": "User",
        "entityIds": [ID["anna"]],
        "entityTypeName": "User",
        "facetTypeName": "Users",
        "facetViewKey": "Plain",
        "hasDiagram": False,
        "hasEditPermission": False,
        "id": ID["anna"],
        "insertableDynamicTypes": {},
        "isCurrentCopyable": False,
        "isCurrentInsertable": False,
        "isCurrentMovable": False,
        "isCurrentRemovable": False,
        "isReadOnly": True,
        "isReadOnlyCollection": True,
        "name": "Anna Berg",
        "permissions": ["ShowElement", "OpenElement"],
        "readOnlyCollectionContext": "Never",
        "readOnlyContext": "Never",
        "rootPath": [ID["anna"]],
        "shapeId": ID["anna"],
        "typeColor": "#007ACC",
        "uid": f"_{ID['anna']}",
    }


def test_an_element_that_lives_in_a_diagram_is_known_by_its_shape(api: ApiClient, architect: str) -> None:
    assert info(api, part("check-3", "info", "diagram"), architect) == {
        **ORDER_3,
        "elementTypeName": "Task",
        "entityIds": [ID["check-3"], ID["shape-check-3"]],
        "entityTypeName": "Task",
        "facetViewKey": "Diagram",
        "hasDiagram": False,
        "id": ID["check-3"],
        "isCurrentInsertable": False,
        "isCurrentMovable": False,
        "name": "Check again",
        "rootPath": [ID["check-3"]],
        "shapeId": ID["shape-check-3"],
        "uid": f"_{ID['check-3']}",
    }


@pytest.mark.parametrize(("name", "shape"), [("ship", "shape-ship-2"), ("sales", "shape-sales")])
def test_an_independent_element_lists_its_shapes(api: ApiClient, name: str, shape: str) -> None:
    found = info(api, part(name, "info"))
    assert found["entityIds"] == [ID[f"{name}-1"], ID[shape]]
    assert found["shapeId"] == found["id"] == ID[f"{name}-1"]


def test_an_unfiled_element_has_no_path_in_a_hierarchical_view(api: ApiClient) -> None:
    found = info(api, part("loose", "info", "tree"))
    assert (found["rootPath"], found["uid"]) == ([ID["loose-1"]], f"_{ID['loose-1']}")


VIEWER, ANALYZER, EDITOR = [Role.VIEWER], [Role.ANALYZER], [Role.EDITOR]
APPROVER, ARCHITECT, ADMINISTRATOR = [Role.APPROVER], [Role.ARCHITECT], [Role.ADMINISTRATOR]
BOTH = [Role.EDITOR, Role.APPROVER]
# The caller is the author of order-3, who is an editor; the token's roles are in `token_of_anna`.
ANNA: list[Role] = []

# Roles, element, permissions, readOnlyContext, capabilities.
DRAFT_WITH_AUTHOR = [
    (ANALYZER, "order", "SO", "Never", ""),
    (EDITOR, "order", "NSO", "NotCurrentUser", "I"),
    (ANNA, "order", "NEDSO", "None", "IMR"),
    (APPROVER, "order", "SAO", "Never", ""),
    (BOTH, "order", "NSAO", "NotCurrentUser", "I"),
    (ARCHITECT, "order", "NEDSAO", "None", "IMR"),
    (ADMINISTRATOR, "order", "NEDSAO", "None", "IMR"),
]
# It is drawn in another diagram, and so cannot be removed.
DRAFT_WITHOUT_AUTHOR = [
    (ANALYZER, "invoice", "SO", "Never", ""),
    (EDITOR, "invoice", "NEDSO", "None", "IM"),
    (ANNA, "invoice", "NEDSO", "None", "IM"),
    (APPROVER, "invoice", "SAO", "Never", ""),
    (BOTH, "invoice", "NEDSAO", "None", "IM"),
    (ARCHITECT, "invoice", "NEDSAO", "None", "IM"),
    (ADMINISTRATOR, "invoice", "NEDSAO", "None", "IM"),
]
RELEASED = [
    (VIEWER, "order", "SO", "Never", ""),
    (VIEWER, "order-2", "SO", "Never", ""),
    (ANALYZER, "order-2", "SO", "Never", ""),
    (EDITOR, "order-2", "NEDSO", "All", "I"),
    (ANNA, "order-2", "NEDSO", "All", "I"),
    (APPROVER, "order-2", "SAO", "Never", ""),
    (BOTH, "order-2", "NEDSAO", "All", "I"),
    (ARCHITECT, "order-2", "NEDSAO", "All", "I"),
    (ADMINISTRATOR, "order-2", "NEDSAO", "All", "I"),
    (EDITOR, "ship", "NEDSO", "All", "I"),  # inEffect
    (EDITOR, "loose", "NEDSO", "All", "I"),  # requestToExpire
    (ARCHITECT, "retired", "NEDSAO", "All", "I"),  # expired
]
ARCHITECTURAL = [
    (VIEWER, "house", "SO", "Never", ""),
    (ANALYZER, "house", "SO", "Never", ""),
    (EDITOR, "house", "SO", "Architect", "I"),
    (ANNA, "house", "SO", "Architect", "I"),
    (APPROVER, "house", "SAO", "Never", ""),
    (BOTH, "house", "SAO", "Architect", "I"),
    (ARCHITECT, "house", "NEDSAO", "None", "I"),
    (ADMINISTRATOR, "house", "NEDSAO", "None", "I"),
    (ARCHITECT, "customer-view", "NEDSAO", "None", "R"),
]
TASK_IN_A_RELEASED_DIAGRAM = [
    (VIEWER, "check-2", "SO", "Never", ""),
    (ANALYZER, "check-2", "SO", "Never", ""),
    (EDITOR, "check-2", "NEDSO", "Diagram", ""),
    (ANNA, "check-2", "NEDSO", "Diagram", ""),
    (APPROVER, "check-2", "SAO", "Never", ""),
    (ARCHITECT, "check-2", "NEDSAO", "Diagram", ""),
]
TASK_IN_A_DRAFT_DIAGRAM = [
    (ANALYZER, "check-3", "SO", "Never", ""),
    (ANNA, "check-3", "NEDSO", "None", "R"),
    (APPROVER, "check-3", "SAO", "Never", ""),
    (ARCHITECT, "check-3", "NEDSAO", "None", "R"),
]
OTHERS = [
    (EDITOR, "english", "NEDSO", "None", "R"),
    (EDITOR, "ben", "NEDSO", "None", ""),  # owner of a system, and has released something
    (EDITOR, "erp", "NEDSO", "None", "R"),  # a draft beside a released version goes by itself
    (EDITOR, "crm", "NEDSO", "None", ""),  # a draft without another version, and processes refer to it
]


@pytest.mark.parametrize(
    ("roles", "element", "permissions", "lock", "capabilities"),
    [
        *DRAFT_WITH_AUTHOR,
        *DRAFT_WITHOUT_AUTHOR,
        *first_quick(RELEASED, 3),
        *first_quick(ARCHITECTURAL, 3),
        *first_quick(TASK_IN_A_RELEASED_DIAGRAM, 3),
        *first_quick(TASK_IN_A_DRAFT_DIAGRAM, 3),
        *first_quick(OTHERS, 3),
    ],
)
def test_permissions_of_each_role(
    api: ApiClient,
    handbook: Storage,
    roles: list[Role],
    element: str,
    permissions: str,
    lock: str,
    capabilities: str,
) -> None:
    token = token_for(handbook, *roles) if roles else token_of_anna(handbook)
    facet, view = PLACES.get(element, ("processes", "detail"))
    found = info(api, part(element, "info", view, facet), token)
    assert found["permissions"] == [PERMISSIONS[letter] for letter in permissions]
    assert found["hasEditPermission"] is ("E" in permissions)
    # An element that cannot be changed can still get children.
    collection = "None" if "I" in capabilities else lock
    assert (found["readOnlyContext"], found["readOnlyCollectionContext"]) == (lock, collection)
    assert (found["isReadOnly"], found["isReadOnlyCollection"]) == (lock != "None", collection != "None")
    assert "".join(letter for letter, flag in FLAGS.items() if found[flag]) == capabilities


def token_of_anna(storage: Storage) -> str:
    """Roles of the token that the user does not have are ignored."""
    return token_for(storage, Role.EDITOR, Role.ARCHITECT, user_id=UUID(ID["anna"]))


@pytest.mark.parametrize("element", ["order-1", "order-3", "invoice", "retired"])
def test_a_viewer_gets_no_info_about_drafts(api: ApiClient, handbook: Storage, element: str) -> None:
    refused(api.get(part(element, "info"), token=token_for(handbook, Role.VIEWER)), 404, ID[element])
    refused(api.get(part(element, "info")), 404, ID[element])


def test_an_anonymous_caller_is_a_viewer(api: ApiClient, handbook: Storage) -> None:
    anonymous = info(api, part("order", "info"))
    assert anonymous == info(api, part("order", "info"), token_for(handbook, Role.VIEWER))
    assert anonymous["permissions"] == ["ShowElement", "OpenElement"]


def test_a_user_whom_no_role_is_granted_may_not_even_look(api: ApiClient, handbook: Storage) -> None:
    """Ben has no role attribute, and the storage does not allow anonymous access."""
    Storage.objects.filter(id=handbook.id).update(anonymous_access="none")
    response = api.get(part("order", "info"), token=token_for(handbook, Role.EDITOR, user_id=UUID(ID["ben"])))
    body = response.json()
    assert (response.status_code, body["type"], body["output"]) == (403, "unauthorized", "volatile")
    assert "ShowElement" in body["message"]


@pytest.mark.parametrize(
    ("languages", "name"),
    [
        ("", "Handle order"),
        ("de", "Auftrag\nabwickeln"),
        ("de-AT,en;q=0.5", "Auftrag\nabwickeln"),
        ("en-GB,de;q=0.5", "Handle order"),
        ("fr", "Handle order"),
        ("fr,de;q=0.1", "Auftrag\nabwickeln"),
    ],
)
def test_the_name_is_in_the_language_of_the_client(
    api: ApiClient, handbook: Storage, languages: str, name: str
) -> None:
    response = api.get(part("order", "info"), headers={"Accept-Language": languages})
    assert response.json()["values"][0]["name"] == name
    assert "Accept-Language" in response["Vary"].split(", ")


def test_a_name_that_is_not_translated_is_in_the_default_culture(api: ApiClient, architect: str) -> None:
    found = info(api, part("order", "info"), architect, **{"Accept-Language": "de"})
    assert found["name"] == "Handle every order"


def test_every_spelling_of_the_address_answers_alike(api: ApiClient, architect: str) -> None:
    plain = api.get(part("order", "info"), token=architect)
    for address in (
        part("order", "info/"),
        part("order-3", "info"),
        part(ID["order"].upper(), "info"),
        part("order", "info", "DETAIL", "PROCESSES"),
        f"{part('order', 'info')}?api-version=1.0",
    ):
        assert api.get(address, token=architect).content == plain.content
        assert api.generic("POST", address, token=architect).content == plain.content
    head = api.head(part("order", "info"), token=architect)
    assert (head.status_code, head.content, head["Vary"]) == (200, b"", plain["Vary"])


def test_what_is_refused(api: ApiClient, architect: str) -> None:
    for name in ("$filter", "$select", "$expandRelated", "$resources", "$page"):
        refused(api.get(f"{part('order', 'info')}?{name}=name", token=architect), 400, name)
    refused(api.get(part("order", "info"), headers={"api-version": "2.0"}), 400, "2.0", "1.0")
    refused(api.post(part("order", "info"), {"id": 1}, content_type="application/json", token=architect), 400, "body")
    refused(api.get(part("orders", "info"), token=architect), 400, "orders")
    refused(api.get(part(NOT_THERE, "info"), token=architect), 404, NOT_THERE)
    refused(api.get(part("house", "info", "list"), token=architect), 404, ID["house"], "list")
    refused(api.get(part("order", "info", "gallery"), token=architect), 404, "gallery")
    refused(api.get(part("order", "info", facet="recipes"), token=architect), 404, "recipes")
    for method in (api.put, api.patch, api.delete):
        response = method(part("order", "info"), token=architect)
        refused(response, 405)
        assert response["Allow"] == "GET, HEAD, POST"
