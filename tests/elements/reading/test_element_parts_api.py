"""Parts of an element, operations 6 to 10 and 13: attributes, related contexts, children, content and versions."""

from __future__ import annotations

from typing import Any

import pytest

from elements.models import Element
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.element_parts import (
    FOUNDED,
    HISTORY,
    ORDER_2,
    ORDER_3,
    RELATED_2,
    RELATED_3,
    RELEASED,
    SYSTEMS,
    found,
    part,
    refused,
)
from tests.elements.handbook import AUTHOR_NOTE, BASE, ID, TYPE_NAMES, pages, wire
from tests.factories import token_for

pytestmark = pytest.mark.django_db


class TestAttributes:
    def test_the_view_detail_shows_all(self, api: ApiClient, editor: str) -> None:
        response = api.get(part("order-2", "attributes"), token=editor)
        assert response.json() == {"count": 16, "values": ORDER_2}
        assert list(response.json()["values"]) == sorted(ORDER_2)
        assert b'"cost":{"127":12345678901234567890.125}' in response.content

    def test_the_element_id_means_the_newest_version_and_for_viewers_the_published_one(
        self, api: ApiClient, editor: str
    ) -> None:
        assert api.get(part("order", "attributes"), token=editor).json() == {"count": 9, "values": ORDER_3}
        assert api.get(part("order", "attributes")).json() == {"count": 16, "values": ORDER_2}

    def test_of_an_element_without_versions(self, handbook: Storage, api: ApiClient) -> None:
        administrator = token_for(handbook, Role.ADMINISTRATOR)
        body = api.get(part("anna", "attributes", facet="users"), token=administrator).json()
        values = {"firstName": {"127": "Anna"}, "name": {"1033": "Anna Berg"}, "roleEditor": {"127": True}}
        assert body == {"count": 3, "values": values}

    def test_another_view_shows_less(self, api: ApiClient) -> None:
        values = {"name": ORDER_2["name"], "version": ORDER_2["version"]}
        assert api.get(part("order", "attributes", "list")).json() == {"count": 2, "values": values}

    def test_select_names_attributes_also_those_that_the_view_does_not_show(self, api: ApiClient) -> None:
        body = api.get(part("order", "attributes", "list", select="scope,name,authorNote")).json()
        assert body == {"count": 2, "values": {"name": ORDER_2["name"], "scope": {"1033": "Whole company"}}}

    def test_filter_is_about_the_element(self, api: ApiClient) -> None:
        found = api.get(part("order", "attributes", "list", filter="count -eq 3", select="name")).json()
        assert found == {"count": 1, "values": {"name": ORDER_2["name"]}}
        assert api.get(part("order", "attributes", filter="count -eq 4")).json() == {"count": 0, "values": {}}


class TestOneAttribute:
    @pytest.mark.parametrize("view", ["detail", "list", "tree"])
    def test_it_may_be_one_that_the_view_does_not_show(self, api: ApiClient, view: str) -> None:
        body = api.get(part("order", "attributes/scope", view)).json()
        assert body == {"count": 1, "values": {"scope": {"1033": "Whole company"}}}

    def test_derived_ones_are_attributes_like_any_other(self, api: ApiClient, editor: str) -> None:
        body = api.get(part("order", "attributes/authorNote", "list"), token=editor).json()
        assert body == {"count": 1, "values": {"authorNote": AUTHOR_NOTE}}

    def test_one_without_value_is_empty(self, api: ApiClient, editor: str) -> None:
        body = api.get(part("order", "attributes/scope"), token=editor).json()
        assert body == {"count": 0, "values": {}}

    @pytest.mark.parametrize("name", ["colour", "Scope", "owner", "firstName", "majorVersion"])
    def test_unknown_ones_and_contexts_are_not_there(self, api: ApiClient, name: str) -> None:
        refused(api.get(part("order", f"attributes/{name}")), 404, "subProcess", name)

    def test_a_filter_without_match_returns_an_empty_list(self, api: ApiClient) -> None:
        body = api.get(part("order", "attributes/scope", filter="count -eq 4")).json()
        assert body == {"count": 0, "values": {}}

    def test_an_unknown_one_is_not_there_whatever_the_filter(self, api: ApiClient) -> None:
        refused(api.get(part("order", "attributes/colour", filter="count -eq 4")), 404, "subProcess", "colour")


class TestRelated:
    def test_the_view_detail_shows_all_contexts_that_are_not_empty(self, api: ApiClient, editor: str) -> None:
        response = api.get(part("order-2", "related"), token=editor)
        assert response.json() == {"count": 6, "values": RELATED_2}
        assert list(response.json()["values"]) == sorted(RELATED_2)
        versioned = response.json()["values"]["systems"][1]
        assert list(versioned) == ["facetName", "id", "versionId", "type", "state", "expandUri"]
        assert list(response.json()["values"]["owner"][0]) == ["facetName", "id", "creationId", "type", "expandUri"]

    def test_references_lead_to_the_newest_versions_and_for_viewers_to_published_ones(
        self, api: ApiClient, editor: str
    ) -> None:
        assert api.get(part("order", "related"), token=editor).json() == {"count": 5, "values": RELATED_3}
        seen = {**RELATED_2, "releaseHistory": [wire("order-2")], "systems": [wire("erp-1")]}
        response = api.get(part("order", "related"))
        assert response.json() == {"count": 6, "values": seen}
        assert list(response.json()["values"]["systems"][0])[-2:] == ["stereotype", "expandUri"]

    def test_a_view_and_select_show_less(self, api: ApiClient) -> None:
        owner = {"count": 1, "values": {"owner": [wire("anna")]}}
        assert api.get(part("order", "related", "tree")).json() == owner
        assert api.get(part("order", "related", "list")).json() == {"count": 0, "values": {}}
        assert api.get(part("order", "related", "list", select="owner,author")).json() == owner

    def test_filter_is_about_the_targets(self, api: ApiClient, editor: str) -> None:
        anna = [wire("anna")]
        body = api.get(part("order-2", "related", filter="firstName -eq Anna"), token=editor).json()
        assert body == {"count": 3, "values": {"changedBy": anna, "createdBy": anna, "owner": anna}}
        body = api.get(part("order-2", "related", filter="name -eq 'ERP'"), token=editor).json()
        assert body == {"count": 0, "values": {}}
        body = api.get(part("order-2", "related", filter="name -eq 'ERP'")).json()
        assert body == {"count": 1, "values": {"systems": [wire("erp-1")]}}

    def test_expanded_references_keep_their_address_and_carry_their_own_relations(
        self, api: ApiClient, editor: str
    ) -> None:
        response = api.get(part("order-2", "related", select="owner,systems", expandRelated="systems"), token=editor)
        erp = {"owner": [wire("anna", bare=True)], "releaseHistory": [wire("erp-1", bare=True)]}
        old = {"releaseHistory": [wire("old-1", bare=True)]}
        systems = [wire("crm-1"), {**wire("erp-2"), "related": erp}, {**wire("old-1"), "related": old}]
        assert response.json() == {"count": 2, "values": {"owner": [wire("anna")], "systems": systems}}
        assert list(response.json()["values"]["systems"][1])[-2:] == ["expandUri", "related"]


class TestOneContext:
    def test_a_context_that_the_view_does_not_show(self, api: ApiClient, editor: str) -> None:
        body = api.get(part("order-2", "related/systems", "list"), token=editor).json()
        assert body == {"count": 1, "values": {"systems": SYSTEMS}}

    def test_innermost_references_have_attributes_and_no_address(self, api: ApiClient) -> None:
        response = api.get(part("order", "related/owner", expandRelated="owner"))
        culture = {"lcid": {"127": "1031"}, "name": {"1031": "Deutsch", "1033": "German"}}
        crew = {"name": {"1031": "Mannschaft", "1033": "Crew"}}
        inner = {
            "hasCulture": [{**wire("german", bare=True), "attributes": culture}],
            "userGroups": [{**wire("crew", bare=True), "attributes": crew}],
        }
        assert response.json() == {"count": 1, "values": {"owner": [{**wire("anna"), "related": inner}]}}
        found = response.json()["values"]["owner"][0]
        assert list(found["related"]) == ["hasCulture", "userGroups"]
        assert list(found["related"]["hasCulture"][0]) == ["facetName", "id", "creationId", "type", "attributes"]

    def test_expanding_another_context_or_a_target_without_relations_changes_nothing(self, api: ApiClient) -> None:
        plain = {"count": 1, "values": {"relBy": [wire("ben")]}}
        assert api.get(part("order", "related/relBy", expandRelated="relBy")).json() == plain
        assert api.get(part("order", "related/relBy", expandRelated="owner")).json() == plain

    def test_filter_is_about_the_targets(self, api: ApiClient, editor: str) -> None:
        body = api.get(part("order-2", "related/systems", filter="state -eq inProcess"), token=editor).json()
        assert body == {"count": 1, "values": {"systems": [wire("crm-1"), wire("erp-2")]}}
        body = api.get(part("order-2", "related/systems", filter=f"id -eq {ID['crm']}")).json()
        assert body == {"count": 0, "values": {}}

    def test_filter_knows_the_types_that_derived_contexts_lead_to(
        self, handbook: Storage, api: ApiClient, editor: str
    ) -> None:
        """`changedBy` can be a token; the history of a system consists of systems."""
        administrator = token_for(handbook, Role.ADMINISTRATOR)
        body = api.get(part("order", "related/changedBy", filter="name -eq Nightly"), token=administrator).json()
        assert body == {"count": 1, "values": {"changedBy": [wire("token")]}}
        history = {"count": 1, "values": {"releaseHistory": [wire("erp-1")]}}
        for rest in ("related", "related/releaseHistory"):
            body = api.get(part("erp", rest, facet="it", filter="name -eq ERP"), token=editor).json()
            assert body == history

    def test_an_empty_context_is_left_out(self, api: ApiClient) -> None:
        body = api.get(part("order", "related/author", expandRelated="author")).json()
        assert body == {"count": 0, "values": {}}

    @pytest.mark.parametrize("name", ["friends", "Owner", "name", "userGroups"])
    def test_unknown_ones_and_attributes_are_not_there(self, api: ApiClient, name: str) -> None:
        refused(api.get(part("order", f"related/{name}")), 404, "subProcess", name)


class TestChildren:
    def test_by_position_each_as_the_view_shows_it(self, api: ApiClient, editor: str) -> None:
        path = [wire("sales-1", view="tree"), wire("house", view="tree")]

        def child(name: str, title: str, state: str, **more: Any) -> dict[str, Any]:
            attributes = {"name": {"1033": title}, "state1": {"127": state}}
            shown = {**wire(name, bare=True), "displayNames": TYPE_NAMES["subProcess"], "attributes": attributes}
            return {**shown, **more, "rootPath": path}

        drawn = [wire("start-3"), wire("check-3")]
        response = api.get(part("sales", "children", "tree"), token=editor)
        assert response.json() == {
            "count": 3,
            "elements": [
                child("ship-1", "ship", "inEffect"),
                child("invoice-1", "Invoice", "inProcess"),
                child("order-3", "Handle every order", "inProcess", content=drawn),
            ],
        }
        keys = ["facetName", "id", "versionId", "type", "state", "displayNames", "attributes", "content", "rootPath"]
        assert list(response.json()["elements"][2]) == keys

    def test_restricted_to_the_types_of_the_view(self, api: ApiClient, editor: str) -> None:
        assert found(api.get(part("house", "children"), token=editor)) == [ID["sales-1"]]
        assert found(api.get(part("house", "children", "diagram"), token=editor)) == [ID["sales-1"]]
        refused(api.get(part("house", "children", "list"), token=editor), 404, ID["house"], "list")

    def test_a_viewer_sees_the_published_ones(self, api: ApiClient) -> None:
        assert found(api.get(part("sales", "children"))) == [ID["ship-1"], ID["order-2"]]

    @pytest.mark.parametrize("element", ["order", "loose"])
    def test_none(self, api: ApiClient, editor: str, element: str) -> None:
        assert api.get(part(element, "children"), token=editor).json() == {"count": 0, "elements": []}

    def test_elements_of_the_diagram_are_content_and_not_children(
        self, api: ApiClient, handbook: Storage, editor: str
    ) -> None:
        with tenant_scope(handbook):
            Element.objects.filter(id=ID["check-3"]).update(parent_id=ID["order"])
        assert api.get(part("order", "children"), token=editor).json() == {"count": 0, "elements": []}
        (order,) = api.get(part("order", ""), token=editor).json()["elements"]
        assert "children" not in order
        assert order["content"] == [wire("start-3"), wire("check-3")]


def shape(name: str, element: str, names: dict[str, str], *before: tuple[str, str], **more: Any) -> dict[str, Any]:
    """Return a shape of the diagram of order-2."""
    goto = {lcid: f"{BASE}/{lcid}/processes/{ID['order-2']}?shape={ID[name]}" for lcid in ("1031", "1033")}
    return {
        "properties": {
            "predecessors": [{"properties": {"shapeId": ID[each]}, **wire(of)} for each, of in before],
            "shapeId": ID[name],
        },
        **wire(element, bare=True),
        "attributes": {"gotoUrl": goto, "name": names},
        **more,
    }


class TestContent:
    start = shape("shape-start-2", "start-2", {"1033": "Start"})
    checked = {"1031": "Prüfen", "1033": "Check"}
    before_check = [("shape-start-2", "start-2"), ("shape-invoice-2", "invoice-1")]
    after_check = ("shape-check-2", "check-2")

    def test_shapes_in_order_with_their_predecessors(self, api: ApiClient, editor: str) -> None:
        check = shape("shape-check-2", "check-2", self.checked, *self.before_check, related={"systems": SYSTEMS[:2]})
        ship = shape("shape-ship-2", "ship-1", {"1033": "ship"}, self.after_check)
        invoice = shape("shape-invoice-2", "invoice-1", {"1033": "Invoice"}, self.after_check)
        response = api.get(part("order-2", "content", "diagram"), token=editor)
        assert response.json() == {"count": 4, "elements": [self.start, check, ship, invoice]}
        first, second = response.json()["elements"][:2]
        assert list(first) == ["properties", "facetName", "id", "creationId", "type", "attributes"]
        assert list(second) == [*first, "related"]
        assert list(second["properties"]) == ["predecessors", "shapeId"]
        keys = ["properties", "facetName", "id", "versionId", "type", "state", "expandUri"]
        assert list(second["properties"]["predecessors"][1]) == keys

    def test_related_contexts_are_those_that_the_view_shows(self, api: ApiClient, editor: str) -> None:
        *_, ship, invoice = api.get(part("order-2", "content"), token=editor).json()["elements"]
        history = {"releaseHistory": [wire("ship-1")]}
        assert ship == shape("shape-ship-2", "ship-1", {"1033": "ship"}, self.after_check, related=history)
        assert invoice == shape("shape-invoice-2", "invoice-1", {"1033": "Invoice"}, self.after_check)
        body = api.get(part("order-2", "content", "tree"), token=editor).json()
        assert body["elements"][1] == shape("shape-check-2", "check-2", self.checked, *self.before_check)

    def test_a_viewer_sees_neither_hidden_shapes_nor_flows_from_them(self, api: ApiClient) -> None:
        check = shape(
            "shape-check-2", "check-2", self.checked, self.before_check[0], related={"systems": [wire("erp-1")]}
        )
        ship = shape("shape-ship-2", "ship-1", {"1033": "ship"}, self.after_check)
        body = api.get(part("order", "content", "diagram")).json()
        assert body == {"count": 3, "elements": [self.start, check, ship]}

    def test_of_an_element_without_versions(self, api: ApiClient) -> None:
        (only,) = api.get(part("house", "content", "diagram")).json()["elements"]
        goto = {lcid: f"{BASE}/{lcid}/processes/{ID['house']}?shape={ID['shape-sales']}" for lcid in ("1031", "1033")}
        assert only == {
            "properties": {"predecessors": [], "shapeId": ID["shape-sales"]},
            **wire("sales-1", bare=True),
            "attributes": {"gotoUrl": goto, "name": {"1033": "Sales"}},
        }

    @pytest.mark.parametrize("element", ["sales", "ship", "check-2"])
    def test_of_an_element_without_a_diagram_or_with_an_empty_one(self, api: ApiClient, element: str) -> None:
        assert api.get(part(element, "content")).json() == {"count": 0, "elements": []}


class TestVersions:
    path = [wire("sales-1"), wire("house")]

    def version(self, name: str, attributes: dict[str, Any], related: dict[str, Any], **more: Any) -> dict[str, Any]:
        shown = {**wire(name, bare=True), "displayNames": TYPE_NAMES["subProcess"], "attributes": attributes}
        return {**shown, "related": related, **more, "rootPath": self.path}

    def test_oldest_first_each_whole_and_with_the_same_release_history(self, api: ApiClient, editor: str) -> None:
        first = {
            **{name: ORDER_3[name] for name in ("changedOn", "createdOn")},
            **RELEASED,
            "gotoUrl": pages("order-1"),
            "isReleased": {"127": False},
            "name": {"1033": "Take order"},
            "state1": {"127": "expired"},
            "validUntil": {"127": "2026-02-20T00:00:00"},
            "version": {"127": "1.0"},
        }
        drawn = [wire("start-2"), wire("check-2"), wire("ship-1"), wire("invoice-1")]
        expected = {
            "count": 3,
            "elements": [
                self.version("order-1", first, {"releaseHistory": HISTORY}),
                self.version("order-2", ORDER_2, RELATED_2, content=drawn),
                self.version("order-3", ORDER_3, RELATED_3, content=[wire("start-3"), wire("check-3")]),
            ],
        }
        for name in ("order", "order-1", "order-3"):
            response = api.get(part(name, "versions"), token=editor)
            assert response.json() == expected
        keys = ["facetName", "id", "versionId", "type", "state", "displayNames", "attributes", "related"]
        assert list(response.json()["elements"][1]) == [*keys, "content", "rootPath"]

    def test_a_viewer_sees_the_published_one_only(self, api: ApiClient) -> None:
        related = {**RELATED_2, "releaseHistory": [wire("order-2")], "systems": [wire("erp-1")]}
        drawn = [wire("start-2"), wire("check-2"), wire("ship-1")]
        version = self.version("order-2", ORDER_2, related, content=drawn)
        assert api.get(part("order", "versions")).json() == {"count": 1, "elements": [version]}
        refused(api.get(part("order-1", "versions")), 404, ID["order-1"])

    def test_the_release_history_is_there_in_every_view(self, api: ApiClient, editor: str) -> None:
        response = api.get(part("ship", "versions", "list", resources="attributes,related"), token=editor)
        attributes = {"name": {"1033": "ship"}, "version": {"127": "1.0"}}
        history = {"releaseHistory": [wire("ship-1")]}
        ship = {**wire("ship-1", bare=True), "attributes": attributes, "related": history}
        assert response.json() == {"count": 1, "elements": [ship]}

    def test_an_element_without_versions_is_its_own(self, api: ApiClient) -> None:
        attributes = {
            "changedOn": FOUNDED,
            "createdOn": FOUNDED,
            "gotoUrl": pages("house"),
            "name": {"1031": "Haus", "1033": "House"},
            "state1": {"127": "show"},
        }
        house = {
            **wire("house", bare=True),
            "displayNames": TYPE_NAMES["processHouse"],
            "attributes": attributes,
            "related": {"owner": [wire("anna")]},
            "children": [wire("sales-1")],
            "content": [wire("sales-1")],
        }
        assert api.get(part("house", "versions")).json() == {"count": 1, "elements": [house]}

    def test_filter_select_expand_and_resources(self, api: ApiClient, editor: str) -> None:
        address = part("order", "versions", filter="state -in (released, expired)", select="version,systems")
        body = api.get(f"{address}&$resources=attributes,related&$expandRelated=systems", token=editor).json()
        erp = {"owner": [wire("anna", bare=True)], "releaseHistory": [wire("erp-1", bare=True)]}
        systems = [
            wire("crm-1", bare=True),
            {**wire("erp-2", bare=True), "related": erp},
            {**wire("old-1", bare=True), "related": {"releaseHistory": [wire("old-1", bare=True)]}},
        ]
        second = {"attributes": {"version": {"127": "2.0"}}, "related": {"systems": systems}}
        assert body == {
            "count": 2,
            "elements": [
                {**wire("order-1", bare=True), "attributes": {"version": {"127": "1.0"}}},
                {**wire("order-2", bare=True), **second},
            ],
        }
        none = api.get(part("order", "versions", filter="state -eq inReview"), token=editor)
        assert none.json() == {"count": 0, "elements": []}
