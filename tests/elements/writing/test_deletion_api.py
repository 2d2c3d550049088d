"""Deleting elements, drafts and shapes (D19): obstacles, and parts that are deleted with them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from elements.models import Element, ElementVersion, Reference, Shape, ShapeFlow
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.cycles import set_state
from tests.elements.drawing import ORDER_3, content, draw, existing, flow, new, one, problems, tag
from tests.elements.element_parts import NOT_THERE, ORDER_2, RELATED_2, part
from tests.elements.handbook import ID, LINES, wire
from tests.factories import token_for
from tests.scale import first_quick

pytestmark = pytest.mark.django_db

FIRST_VIEW = {"processes": "detail", "it": "detail", "users": "detail", "cultures": "all", "automation": "detail"}
FACET = {each[key]: each["facetName"] for each in LINES for key in ("id", "versionId") if key in each}
TABLES = (Element, ElementVersion, Reference, Shape, ShapeFlow)


def address(element: str, rest: str = "") -> str:
    identity = ID.get(element, element)
    facet = FACET.get(identity, "processes")
    return part(element, rest, FIRST_VIEW[facet], facet).removesuffix("/")


def delete(api: ApiClient, token: str | None, element: str, *, by_post: bool = True, **more: Any) -> Any:
    if by_post:
        return api.generic("POST", address(element, "delete"), token=token, **more)
    return api.delete(address(element), token=token, **more)


def deleted(api: ApiClient, token: str, element: str, *, by_post: bool = True, **more: Any) -> None:
    response = delete(api, token, element, by_post=by_post, **more)
    assert response.status_code == 200, response.json()
    message = response.json()["message"]
    assert response.json() == {"message": message, "output": "volatile", "type": "success"}
    assert list(response.json()) == ["message", "output", "type"]
    assert isinstance(message, str)


def gone(api: ApiClient, token: str, *elements: str) -> None:
    for element in elements:
        assert ID.get(element, element) in problems(api.get(address(element), token=token), 404)[0]


def rows(storage: Storage) -> dict[str, int]:
    with tenant_scope(storage):
        return {table.__name__: table.objects.count() for table in TABLES}


def rival() -> Storage:
    return Storage.objects.get(collection__key="rival", key="handbook")


class TestWhatGoes:
    @pytest.fixture(autouse=True)
    def _the_other_tenant_keeps_everything(self, handbook: Storage, db: None) -> Any:
        before = rows(rival())
        yield
        assert rows(rival()) == before

    @pytest.mark.parametrize("by_post", [True, False])
    def test_an_element_without_versions(self, api: ApiClient, handbook: Storage, editor: str, by_post: bool) -> None:
        before = rows(handbook)
        deleted(api, editor, "english", by_post=by_post)
        gone(api, editor, "english")
        gone_rows = {"Element": 1, "ElementVersion": 1}
        assert rows(handbook) == {name: count - gone_rows.get(name, 0) for name, count in before.items()}
        listed = api.get("/acme/handbook/_api/rest/facets/cultures/views/all/elements", token=editor).json()
        assert [each["id"] for each in listed["elements"]] == [ID["german"]]
        problems(delete(api, editor, "english", by_post=by_post), 404)

    @pytest.mark.parametrize("named", ["order", "order-3"])
    @pytest.mark.parametrize("by_post", [True, False])
    def test_a_draft_beside_released_versions(
        self, api: ApiClient, handbook: Storage, anna: str, named: str, by_post: bool
    ) -> None:
        """The element shows its previous version again. Only elements of the draft's diagram are deleted with it."""
        published, before = one(api, anna, "order-2"), rows(handbook)
        shapes = content(api, anna, "order-2")
        deleted(api, anna, named, by_post=by_post)
        gone(api, anna, "order-3", "start-3", "check-3")
        found = one(api, anna, "order")
        assert found == published
        assert (found["attributes"], found["related"]) == (ORDER_2, RELATED_2)
        assert content(api, anna, "order") == shapes
        versions = api.get(address("order", "versions"), token=anna).json()["elements"]
        assert [each["versionId"] for each in versions] == [ID["order-1"], ID["order-2"]]
        gone_rows = {"Element": 2, "ElementVersion": 3, "Reference": 2, "Shape": 2, "ShapeFlow": 1}
        assert rows(handbook) == {name: count - gone_rows[name] for name, count in before.items()}

    def test_a_draft_that_is_the_only_version(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        """The elements of its diagram are deleted with it, even if they refer to each other."""
        before = rows(handbook)
        (shape,) = draw(api, anna, "invoice", new(0, "subProcess", "Send"))
        (send,) = content(api, anna, "invoice")
        texts = problems(delete(api, anna, send["id"]), 409)
        assert len(texts) == 1
        assert ID["invoice-1"] in texts[0]
        erase(api, anna, "invoice", shape)
        draw(api, anna, send["id"], new(0, "evStart", "Begin"), new(1, "task", "Pack", 0, 2), new(2, "task", "Go", 1))
        inside = [each["id"] for each in content(api, anna, send["id"])]
        deleted(api, anna, send["versionId"])
        gone(api, anna, send["id"], send["versionId"], *inside)
        assert rows(handbook) == before
        assert api.get(address("invoice", "children"), token=anna).json() == {"count": 0, "elements": []}

    def test_an_element_of_a_diagram_is_deleted_with_its_shape(
        self, api: ApiClient, handbook: Storage, anna: str
    ) -> None:
        items = ({"shapeInfo": {"index": 0, "id": ID["shape-check-3"]}}, new(1, "task", "Book", 0))
        draw(api, anna, "order", *items)
        read = tag(api, anna, "order")
        deleted(api, anna, "check-3")
        gone(api, anna, "check-3")
        assert flow(api, anna, "order") == {"Start": [], "Book": ["Start"]}
        assert tag(api, anna, "order") != read
        with tenant_scope(handbook):
            assert not Shape.objects.filter(id=ID["shape-check-3"]).exists()

    def test_an_element_in_another_version_stays(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        with tenant_scope(handbook):
            Shape.objects.create(version_id=ID["order-3"], element_id=ID["check-2"], position=7)
        before = content(api, anna, "order-2")
        deleted(api, anna, "order-3")
        assert content(api, anna, "order-2") == before
        gone(api, anna, "check-3")

    def test_an_element_of_a_diagram_without_shapes(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        with tenant_scope(handbook):
            ShapeFlow.objects.filter(shape_id=ID["shape-check-3"]).delete()
            Shape.objects.filter(id=ID["shape-check-3"]).delete()
        deleted(api, anna, "check-3")
        gone(api, anna, "check-3")
        assert content(api, anna, "order") == ORDER_3[:1]

    def test_if_match(self, api: ApiClient, anna: str) -> None:
        read = tag(api, anna, "order-3")
        draw(api, anna, "order-3", new(0, "task", "Book"))
        problems(delete(api, anna, "order-3", headers={"If-Match": read}), 412)
        deleted(api, anna, "order-3", headers={"If-Match": tag(api, anna, "order-3")})


# The deleted element, and the words that each problem must contain.
IN_THE_WAY: dict[str, list[tuple[str, ...]]] = {
    "crm": [("systems", ID["order-2"], ID["check-2"])],
    "crew": [("userGroups", ID["anna"])],
    "german": [("hasCulture", ID["anna"])],
    "invoice": [(ID["order-2"],)],
    "house": [(ID["sales"],)],
    "erp-1": [("released",)],
    "order-2": [("released",)],
    "order-1": [("released",)],
    "retired": [("released",)],
    "loose": [("released",)],
    "sales": [("released",), (ID["ship"], ID["invoice"], ID["order"]), (ID["house"],)],
    "old": [("released",), ("systems", ID["order-2"])],
    "token": [("changed", ID["order-3"])],
    "anna": [
        ("owner", ID["house"], ID["order-2"], ID["erp-2"], "author", ID["order-3"]),
        ("created", ID["order-2"], ID["order-3"]),
        ("changed", ID["order-2"]),
    ],
    "ben": [("owner", ID["erp-1"]), ("released", ID["order-2"])],
}  # fmt: skip


class TestRefused:
    @pytest.fixture(autouse=True)
    def _nothing_goes(self, handbook: Storage, db: None) -> Any:
        before = rows(handbook)
        yield
        after = rows(handbook)
        # Tokens that a test makes are elements, too.
        assert all(
            after[name] == count or (name in ("Element", "ElementVersion") and after[name] > count)
            for name, count in before.items()
        )

    @pytest.mark.parametrize("element", first_quick(IN_THE_WAY, 6))
    def test_obstacles_are_named(self, api: ApiClient, handbook: Storage, architect: str, element: str) -> None:
        # Only administrators see the elements of tokens (D396).
        architect = token_for(handbook, Role.ADMINISTRATOR) if element == "token" else architect
        before = api.get(address(element), token=architect).content
        texts = problems(delete(api, architect, element), 409)
        expected = IN_THE_WAY[element]
        assert len(texts) == len(expected), texts
        for mentions in expected:
            assert any(all(each in text for each in mentions) for text in texts), (mentions, texts)
        assert api.get(address(element), token=architect).content == before

    def test_elements_in_the_diagram_of_a_released_version(self, api: ApiClient, architect: str) -> None:
        for element in ("start-2", "check-2"):
            (text,) = problems(delete(api, architect, element), 409)
            assert "released" in text

    @pytest.mark.parametrize("state", ["inReview", "readyForQa", "readyForRelease"])
    def test_a_version_in_review(self, api: ApiClient, handbook: Storage, architect: str, state: str) -> None:
        set_state(handbook, state, ID["crm-1"], ID["erp-2"])
        (text,) = problems(delete(api, architect, "erp"), 409)
        assert state in text
        texts = problems(delete(api, architect, "crm"), 409)
        assert [state in text for text in texts] == [True, False]

    def test_a_draft_whose_task_something_refers_to(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        with tenant_scope(handbook):
            held = Reference.objects.create(
                version_id=ID["crm-1"], context="steps", position=0, target_id=ID["check-3"]
            )
        (text,) = problems(delete(api, anna, "order-3"), 409)
        assert "steps" in text
        assert ID["crm-1"] in text
        problems(delete(api, anna, "check-3"), 409)
        with tenant_scope(handbook):
            held.delete()

    def test_by_whom_it_may_not_be_done(self, api: ApiClient, handbook: Storage, editor: str) -> None:
        for element in ("customer-view", "house", "order-3", "check-3"):  # architectural, and the author's
            assert "DeleteElement" in problems(delete(api, editor, element), 403)[0]

    def test_deleting_needs_a_credential(self, api: ApiClient, handbook: Storage) -> None:
        for by_post in (True, False):
            problems(delete(api, None, "english", by_post=by_post), 401)

    def test_roles_without_permission_get_its_name(self, api: ApiClient, handbook: Storage) -> None:
        for role in (Role.VIEWER, Role.ANALYZER, Role.APPROVER):
            (text,) = problems(delete(api, token_for(handbook, role), "english"), 403)
            assert "DeleteElement" in text

    @pytest.mark.parametrize("by_post", [True, False])
    def test_invalid_addresses_and_requests(self, api: ApiClient, handbook: Storage, anna: str, by_post: bool) -> None:
        for element in (NOT_THERE, "shape-check-3"):
            gone(api, anna, element)
            problems(delete(api, anna, element, by_post=by_post), 404)
        problems(delete(api, anna, "order", by_post=by_post, headers={"If-Match": "stale"}), 400)
        problems(delete(api, anna, "orders", by_post=by_post), 400)
        method, ending = ("POST", "delete") if by_post else ("DELETE", "")
        path = address("order-3", ending)
        body = {"data": '{"elements": []}', "content_type": "application/json"}
        problems(api.generic(method, path, token=anna, **body), 400)
        for name in ("$select=name", "$filter=true", "$page=1"):
            assert name.split("=")[0] in problems(api.generic(method, f"{path}?{name}", token=anna), 400)[0]
        for facet, view in (("it", "detail"), ("processes", "tree")):
            path = part("check-3", ending, view, facet).removesuffix("/")
            problems(api.generic(method, path, token=anna), 404)
        problems(api.generic(method, path, token=token_for(rival(), Role.ARCHITECT)), 401)


@pytest.mark.long
@pytest.mark.on_cluster
@pytest.mark.parametrize("role", [*Role, "anna"])
def test_element_info_agrees_with_deleting(api: ApiClient, handbook: Storage, anna: str, role: Role | str) -> None:
    token = anna if role == "anna" else token_for(handbook, Role(role))
    removable = set()
    for line in LINES:
        identity: str = line["versionId"] if "versionId" in line else line["id"]
        info = api.get(address(identity, "info"), token=token)
        with transaction.atomic():
            status = delete(api, token, identity).status_code
            transaction.set_rollback(True)
        if info.status_code == 404:
            assert status in (403, 404)
        else:
            assert (status == 200) is info.json()["values"][0]["isCurrentRemovable"], (identity, status)
        if status == 200:
            removable.add(next(name for name, each in ID.items() if each == identity))
    changing = {"english", "erp-2"}
    everything = changing | {"order-3", "start-3", "check-3", "customer-view"}
    expected = {
        Role.EDITOR: changing,
        "anna": everything - {"customer-view"},
        Role.ARCHITECT: everything,
        Role.ADMINISTRATOR: everything,
    }
    assert removable == expected.get(role, set())


def erase(api: ApiClient, token: str, owner: str, shape: str, *, by_post: bool = False) -> None:
    """Check the response of a deletion (D19)."""
    address = part(owner, f"content/{ID.get(shape, shape)}", "diagram")
    response = api.generic("POST", f"{address}/delete", token=token) if by_post else api.delete(address, token=token)
    assert response.status_code == 200, response.json()
    message = response.json()["message"]
    assert response.json() == {"message": message, "output": "volatile", "type": "success"}
    assert ID.get(shape, shape) in message


class TestErasing:
    @pytest.mark.parametrize("by_post", [False, True])
    def test_predecessors_are_connected_to_successors(self, api: ApiClient, anna: str, by_post: bool) -> None:
        before = [new(0, "task", "a"), new(1, "task", "b"), new(2, "task", "x", 0, 1)]
        shapes = draw(api, anna, "invoice", *before, new(3, "task", "c", 0, 2), new(4, "task", "d", 2))
        gone, read = content(api, anna, "invoice")[2]["id"], tag(api, anna, "invoice")
        erase(api, anna, "invoice", shapes[2], by_post=by_post)
        assert flow(api, anna, "invoice") == {"a": [], "b": [], "c": ["a", "b"], "d": ["a", "b"]}
        problems(api.get(part(gone, ""), token=anna), 404)
        assert tag(api, anna, "invoice") != read
        assert one(api, anna, "invoice")["related"]["changedBy"] == [wire("anna")]
        problems(api.delete(part("invoice", f"content/{shapes[2]}"), token=anna), 404)

    def test_no_shape_precedes_itself_afterwards(self, api: ApiClient, anna: str) -> None:
        items = [new(0, "task", "a", 1), new(1, "task", "x", 0, 2), new(2, "task", "b", 1, 0)]
        shapes = draw(api, anna, "invoice", *items)
        erase(api, anna, "invoice", shapes[1])
        assert flow(api, anna, "invoice") == {"a": ["b"], "b": ["a"]}
        erase(api, anna, "invoice", shapes[0])
        erase(api, anna, "invoice", shapes[2])
        assert content(api, anna, "invoice") == []

    def test_new_shapes_stand_last_also_after_one_was_taken_away(self, api: ApiClient, anna: str) -> None:
        first, _ = draw(api, anna, "invoice", new(0, "task", "a"), new(1, "task", "b", 0))
        erase(api, anna, "invoice", first)
        draw(api, anna, "invoice", new(0, "task", "c"))
        assert flow(api, anna, "invoice") == {"b": [], "c": []}

    def test_an_independent_element_stays(self, api: ApiClient, anna: str) -> None:
        before = one(api, anna, "ship")
        ships = (existing(0, "subProcess", "ship"), existing(1, "subProcess", "ship", 0))
        first, second, third = draw(api, anna, "invoice", *ships, new(2, "subProcess", "Send", 1))
        send = content(api, anna, "invoice")[2]["id"]
        erase(api, anna, "invoice", second)
        assert [each["properties"]["shapeId"] for each in content(api, anna, "invoice")] == [first, third]
        erase(api, anna, "invoice", third)
        assert one(api, anna, send)["rootPath"][0] == wire("invoice-1")
        assert one(api, anna, "ship") == before

    def test_a_task_that_is_drawn_twice_goes_with_its_last_shape(
        self, api: ApiClient, handbook: Storage, anna: str
    ) -> None:
        with tenant_scope(handbook):
            version = ElementVersion.objects.get(id=ID["order-3"])
            version.shapes.create(id=NOT_THERE, element_id=ID["check-3"], position=7)
        erase(api, anna, "order", "shape-check-3")
        assert [each["id"] for each in content(api, anna, "order")] == [ID["start-3"], ID["check-3"]]
        erase(api, anna, "order", NOT_THERE)
        problems(api.get(part("check-3", ""), token=anna), 404)

    def test_refused(self, api: ApiClient, handbook: Storage, anna: str, editor: str, architect: str) -> None:
        for element, shape, status in (
            ("order", NOT_THERE, 404), ("order", "shape-check-2", 404), ("order", "check-3", 404), ("order", "start", 400),
            ("order-2", "shape-check-2", 409), ("sales", "shape-sales", 409), ("start", "shape-start-3", 400), (NOT_THERE, "shape-start-3", 404),
        ):  # fmt: skip
            for method, ending in (("DELETE", ""), ("POST", "/delete")):
                address = part(element, f"content/{ID.get(shape, shape)}{ending}", "diagram")
                problems(api.generic(method, address, token=anna), status)
                problems(api.generic(method, f"{address}?$select=name", token=anna), 400)
                problems(api.generic(method, address, '{"a": 1}', content_type="application/json", token=anna), 400)
        address = part("order", f"content/{ID['shape-check-3']}", "diagram")
        problems(api.delete(address, token=editor), 403)
        problems(api.delete(address, token=token_for(handbook, Role.VIEWER)), 403)
        problems(api.delete(address, token=anna, headers={"If-Match": '"stale"'}), 412)
        assert content(api, anna, "order") == ORDER_3
        assert len(content(api, anna, "order-2")) == 4

    def test_a_task_that_something_refers_to_stays(self, api: ApiClient, handbook: Storage, anna: str) -> None:
        with tenant_scope(handbook):
            Reference.objects.create(version_id=ID["crm-1"], context="steps", position=0, target_id=ID["check-3"])
        (text,) = problems(api.delete(part("order", f"content/{ID['shape-check-3']}"), token=anna), 409)
        assert "steps" in text
        assert ID["crm-1"] in text
        assert content(api, anna, "order") == ORDER_3
