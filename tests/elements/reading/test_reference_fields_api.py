"""Names and other attributes of the targets of references, on request (D574)."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from elements.models import Element
from elements.reading import identities
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.handbook import ID
from tests.factories import token_for
from tests.scale import first_quick

pytestmark = pytest.mark.django_db
FACETS = "/acme/handbook/_api/rest/facets"
TREE = f"{FACETS}/processes/views/tree/elements"
PARTS = ("children", "content", "rootPath", "versions")


def read(api: ApiClient, address: str, token: str | None) -> Any:
    answer = api.get(address, token=token)
    assert answer.status_code == 200, answer.content
    body = answer.json()
    return body.get("elements") or body["values"]


def references(element: dict[str, Any]) -> list[dict[str, Any]]:
    found = [each for targets in element.get("related", {}).values() for each in targets]
    return found + [each for part in PARTS for each in element.get(part, ())]


def target(api: ApiClient, token: str | None, reference: dict[str, Any], query: str = "") -> Any:
    """Return the target of a reference as a request for it does; None if the caller cannot open it."""
    address = reference["expandUri"].removeprefix("http://testserver").replace("/tree/", "/detail/")
    found = api.get(f"{address}?$resources=attributes{query}", token=token)
    return found.json()["elements"][0] if found.status_code == 200 else None


@pytest.mark.parametrize("query", first_quick(["", "&$culture=1031", "&$culture=1031&$fallback=true"]))
def test_all_references_have_names(handbook: Storage, api: ApiClient, editor: str, query: str) -> None:
    """Without their names, the references are those of a request that does not ask for them."""
    kind = "values" if query else "attributes"
    every = "$resources=attributes,related,children,content,displayNames,rootPath,versions"
    for token in (editor, None):
        plain = read(api, f"{TREE}/{ID['order']}?{every}{query}", token)
        named = read(api, f"{TREE}/{ID['order']}?{every},names{query}", token)
        assert len(references(plain[0])) > 3
        names = 0
        for reference in references(named[0]):
            found = reference.pop(kind, None)
            owner = target(api, token, reference, query) or {}
            name = owner.get(kind, {}).get("name")
            assert found == (None if name is None else {"name": name})
            names += found is not None
        assert (named, names > 1) == (plain, True)
        usual = read(api, f"{TREE}/{ID['order']}?$resources=names{query}", token)
        assert usual[0].keys() == read(api, f"{TREE}/{ID['order']}?{query[1:]}", token)[0].keys()


def test_fields_of_references(handbook: Storage, api: ApiClient, editor: str) -> None:
    """Each context and part has the attributes in its brackets, as far as the target has them."""
    query = "$expandRelated=owner(name, createdOn),children(version,name,scope),content(name),createdBy"
    [found] = read(api, f"{TREE}/{ID['house']}?{query}&$select=owner,createdBy,name", editor)
    [plain] = read(api, f"{TREE}/{ID['house']}?$expandRelated=createdBy&$select=owner,createdBy,name", editor)
    fields = {"owner": {"name", "createdOn"}, "children": {"version", "name", "scope"}, "content": {"name"}}
    checked = set()
    for place, wanted in fields.items():
        for reference in found.get("related", {}).get(place) or found.get(place, ()):
            values = target(api, editor, reference)["attributes"]
            assert reference.pop("attributes") == {name: each for name, each in values.items() if name in wanted}
            checked.add(place)
    assert (found, checked) == (plain, set(fields))
    related = read(api, f"{TREE}/{ID['house']}/related?$expandRelated=owner(name)", editor)
    alone = read(api, f"{TREE}/{ID['house']}/related/owner?$expandRelated=owner(name),owner", editor)
    assert related["owner"][0].keys() - alone["owner"][0].keys() == set()
    assert related["owner"][0]["attributes"] == alone["owner"][0]["attributes"]


def test_expanded_references_have_names(handbook: Storage, api: ApiClient, editor: str) -> None:
    query = "$resources=related,names&$select=systems,author&$expandRelated=systems,author"
    [element] = read(api, f"{TREE}/{ID['order']}?{query}", editor)
    named = [each for context in ("systems", "author") for each in element["related"].get(context, ())]
    inner = [each for outer in named for targets in outer.get("related", {}).values() for each in targets]
    assert inner
    assert [each for each in [*named, *inner] if "name" not in each.get("attributes", {})] == []


def test_names_of_tokens_stay_private(handbook: Storage, api: ApiClient, editor: str) -> None:
    """A caller above viewer sees the reference to a token, but cannot open the token."""
    for query in ("$resources=related,names", "$resources=related&$expandRelated=changedBy(name,createdOn)"):
        for token, is_open in ((editor, False), (token_for(handbook, Role.ADMINISTRATOR), True)):
            [element] = read(api, f"{TREE}/{ID['order']}?{query}&$select=changedBy", token)
            [reference] = element["related"]["changedBy"]
            assert (reference["type"], "attributes" in reference) == ("authToken", is_open)


def test_cached_names_need_no_statement(handbook: Storage, api: ApiClient, editor: str) -> None:
    """A change of the content forgets them. A list needs as many statements as one element."""
    with tenant_scope(handbook):
        Element.objects.filter(id=ID["order"]).update(position=7)
    identities.shelf.clear()
    counts, bodies = [], []
    for query in ("", "?$resources=names", "?$resources=names", "?$expandRelated=owner(name),children(scope)"):
        with CaptureQueriesContext(connection) as captured:
            bodies.append(api.get(f"{FACETS}/processes/views/detail/elements{query}", token=editor).content)
        counts.append(len(captured))
    first, named, again, fields = counts
    assert (named <= first + 1, again < named, fields <= again + 1, bodies[1] == bodies[2]) == (True,) * 4
    identities.shelf.clear()


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("$expandRelated=owner(nome)", "$expandRelated: owner: 'nome' is not an attribute of the types of this storage; similar: name."),
        ("$expandRelated=owner(name),", "$expandRelated: '' is not a related context of this view's types."),
        ("$expandRelated=owner(name", "$expandRelated: 'owner(name' has brackets that do not match; write owner(name)."),
        ("$expandRelated=owner(name)x", "$expandRelated: 'owner(name)x' has brackets that do not match; write owner(name)."),
        ("$expandRelated=parents(name)", "$expandRelated: 'parents' is not a related context of this view's types."),
        ("$expandRelated=owner()", "$expandRelated: owner: the brackets are empty; write owner(name)."),
        ("$expandRelated=owner(systems)", "$expandRelated: owner: systems: brackets take attributes, not related contexts."),
        ("$expandRelated=owner(name)&$format=csv", "$expandRelated: a table has no references of references; leave it out."),
    ],
)  # fmt: skip
def test_refused_fields(handbook: Storage, api: ApiClient, editor: str, query: str, problem: str) -> None:
    answer = api.get(f"{TREE}?{query}", token=editor)
    assert (answer.status_code, answer.json()["message"]) == (400, problem)
    reporting = api.get(f"{FACETS}/processes/reporting?$resources=names&$expandRelated=owner(name)", token=editor)
    assert (reporting.status_code, len(reporting.json()["data"])) == (400, 2)
