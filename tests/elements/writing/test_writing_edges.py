"""Edge cases of writing: input is never dropped silently, and stored values may stay."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pytest_django import Settings

from storage.access.tokens import issue_token, revoke_token
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.elements.handbook import ID
from tests.factories import storage_context, token_for

pytestmark = pytest.mark.django_db
VIEWS = "/acme/handbook/_api/rest/facets/{}/views/{}/elements"


def post(api: ApiClient, token: str, body: Any, facet: str = "processes", view: str = "detail", rest: str = "") -> Any:
    address = VIEWS.format(facet, view) + rest
    return api.post(address, json.dumps(body), content_type="application/json", token=token)


def test_names_of_types_and_facets_match_in_any_letter_case(handbook: Storage, api: ApiClient) -> None:
    editor = token_for(handbook, Role.EDITOR)
    made = post(api, editor, {"elements": [{"type": "SUBPROCESS", "facetName": "Processes"}]})
    assert made.json()["elements"][0]["type"] == "subProcess"
    again = {"id": made.json()["elements"][0]["id"], "type": "subprocess", "facetName": "PROCESSES"}
    systems = [{"id": ID["erp"], "type": "System", "facetName": "IT"}]
    assert post(api, editor, {"elements": [{**again, "related": {"systems": systems}}]}).status_code == 200


def test_unknown_fields_are_reported_also_in_references(handbook: Storage, api: ApiClient) -> None:
    editor = token_for(handbook, Role.ARCHITECT)
    given = {"id": ID["order"], "related": {"systems": [{"id": ID["erp"], "attribtues": {}}]}}
    refused = post(api, editor, {"elements": [given]})
    assert refused.status_code == 400
    assert (
        refused.json()["message"]
        == f"elements[0] {ID['order']}: systems[0]: an element has no field 'attribtues'; similar: attributes."
    )


def test_drawing_an_element_does_not_change_it(handbook: Storage, api: ApiClient) -> None:
    architect = token_for(handbook, Role.ARCHITECT)
    element = {"type": "subProcess", "id": ID["ship"], "attributes": {"name": {"1033": "Sail"}}}
    body = {"values": [{"shapeInfo": {"index": 0}, "element": element}]}
    refused = post(api, architect, body, view="diagram", rest=f"/{ID['order']}/content")
    assert refused.status_code == 422
    assert refused.json()["message"] == (
        "values[0]: element: attributes of an existing element cannot change here; update the element instead."
    )


def test_elements_created_by_references_count_for_the_limit(
    handbook: Storage, api: ApiClient, settings: Settings
) -> None:
    settings.MAX_ELEMENTS = 3
    new = {"type": "system", "attributes": {"name": {"1033": "New"}}}
    refused = post(
        api, token_for(handbook, Role.ARCHITECT), {"elements": [{"id": ID["order"], "related": {"systems": [new] * 3}}]}
    )
    assert refused.status_code == 413


def test_the_element_of_a_token_keeps_its_own_attributes(handbook: Storage, api: ApiClient) -> None:
    """The token decides about name and roles; everything else stays when it is revoked, and the change is recorded."""
    administrator = token_for(handbook, Role.ADMINISTRATOR)
    issued = issue_token(storage_context(handbook), "Program", [Role.EDITOR])
    own = {"id": str(issued.token.id)}
    assert post(api, administrator, {"elements": [{**own, "stereotype": "nightly"}]}, "automation").status_code == 200
    refused = post(api, administrator, {"elements": [{**own, "attributes": {"name": {"1033": "Other"}}}]}, "automation")
    assert (refused.status_code, refused.json()["message"]) == (
        409,
        f"elements[0] {issued.token.id}: name comes from the token; change the token instead.",
    )
    made = post(api, administrator, {"elements": [{"type": "authToken"}]}, "automation")
    assert (made.status_code, made.json()["message"]) == (
        422,
        "elements[0]: elements of type authToken are created by issuing a token.",
    )
    revoke_token(issued.token)
    address = f"{VIEWS.format('automation', 'detail')}/{issued.token.id}"
    assert api.get(address, token=administrator).json()["elements"][0]["stereotype"] == "nightly"
    assert api.get(f"{address}/history", token=administrator).json()["count"] == 2
