"""`Prefer: return=minimal`: changes are the same, and their responses have no body (D575)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.elements.handbook import ID
from tests.factories import token_for

pytestmark = pytest.mark.django_db
API = "/acme/handbook/_api"
ELEMENTS = f"{API}/rest/facets/processes/views/detail/elements"
SYSTEMS = f"{API}/rest/facets/it/views/detail/elements"
MINIMAL = {"Prefer": "return=minimal"}


def send(api: ApiClient, token: str, method: str, address: str, body: Any = None, **headers: str) -> Any:
    content = "" if body is None else json.dumps(body)
    sent = {**MINIMAL, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return api.generic(method, address, content, "application/json", token=token, headers=sent)


def empty(response: Any, status: int = 204) -> Any:
    found = response.status_code, response.content, "Content-Type" in response, response.get("Preference-Applied")
    assert found == (status, b"", False, "return=minimal"), response.content
    return response


def renamed(name: str, element: str = "invoice") -> dict[str, Any]:
    return {"elements": [{"id": ID[element], "attributes": {"name": {"1033": name}}}]}


def named(api: ApiClient, token: str, address: str) -> Any:
    [element] = api.get(address, token=token).json()["elements"]
    return element["attributes"]["name"]["1033"]


def test_a_change_without_a_body(handbook: Storage, api: ApiClient, architect: str) -> None:
    """The entity tag is that of the full response, and fewer statements are needed."""
    with CaptureQueriesContext(connection) as minimal:
        first = empty(send(api, architect, "POST", ELEMENTS, renamed("First")))
    assert named(api, architect, f"{ELEMENTS}/{ID['invoice']}") == "First"
    with CaptureQueriesContext(connection) as whole:
        second = send(
            api, architect, "POST", ELEMENTS, renamed("Second"), If_Match=first["ETag"], Prefer="return=representation"
        )
    assert (second.status_code, second.json()["count"], "Preference-Applied" in second) == (200, 1, False)
    assert len(minimal) < len(whole)
    stale = send(api, architect, "POST", ELEMENTS, renamed("Third"), If_Match=first["ETag"])
    wrong = send(api, architect, "POST", ELEMENTS, {"elements": [{"id": ID["invoice"], "type": "user"}]})
    assert (stale.status_code, wrong.status_code) == (412, 422)
    assert all(each.json()["data"] for each in (stale, wrong))
    several = {"elements": [*renamed("A")["elements"], *renamed("B", "order")["elements"]]}
    assert "ETag" not in empty(send(api, architect, "POST", ELEMENTS, several))


def test_new_resources_have_an_address(handbook: Storage, api: ApiClient, architect: str) -> None:
    new = {"elements": [{"type": "system", "attributes": {"name": {"1033": "Scanner"}}}]}
    made = empty(send(api, architect, "POST", SYSTEMS, new), 201)
    address = made["Location"].removeprefix("http://testserver")
    assert named(api, architect, address) == "Scanner"
    [element] = api.get(address, token=architect).json()["elements"]
    assert address == f"{SYSTEMS}/{element['id']}"
    assert api.get(address, token=architect)["ETag"].startswith(made["ETag"][:-1])
    two = {"elements": [*new["elements"], *new["elements"]]}
    assert "Location" not in empty(send(api, architect, "POST", SYSTEMS, two))
    draft = empty(send(api, architect, "POST", f"{API}/release/{ID['sales']}/createversion"), 201)
    version = api.get(draft["Location"].removeprefix("http://testserver"), token=architect).json()["elements"][0]
    assert (version["id"], version["state"]) == (ID["sales"], "inProcess")
    assert draft["Location"].endswith(version["versionId"])
    empty(send(api, architect, "DELETE", f"{ELEMENTS}/{version['versionId']}"))
    file = api.generic("POST", f"{API}/rest/files?name=a.txt", "text", "text/plain", token=architect, headers=MINIMAL)
    address = empty(file, 201)["Location"].removeprefix("http://testserver")
    assert api.get(address, token=architect).content == b"text"


def test_a_repeated_request_gets_the_same_response(handbook: Storage, api: ApiClient, architect: str) -> None:
    new = {"elements": [{"type": "system", "attributes": {"name": {"1033": "Printer"}}}]}
    requests = [(SYSTEMS, new, 201), (ELEMENTS, renamed("Once"), 204)]
    for number, (address, body, status) in enumerate(requests):
        first, again = (
            empty(send(api, architect, "POST", address, body, Idempotency_Key=f"minimal-{number}"), status)
            for _ in range(2)
        )
        assert {**first.headers, "X-Request-ID": ""} == {**again.headers, "X-Request-ID": ""}
    listed = api.get(f"{SYSTEMS}?$filter=name -eq 'Printer'&$pageSize=0", token=architect)
    assert listed.json()["count"] == 1


def test_diagrams_bulk_changes_and_other_writes(handbook: Storage, api: ApiClient, architect: str) -> None:
    drawn = {
        "values": [{"shapeInfo": {"index": 1}, "element": {"type": "task", "attributes": {"name": {"1033": "New"}}}}]
    }
    content = f"{ELEMENTS}/{ID['order']}/content"
    empty(send(api, architect, "POST", content, drawn))
    dry = send(api, architect, "PUT", f"{content}?dryRun=true", drawn)
    assert (dry.status_code, "Preference-Applied" in dry) == (200, False)
    empty(send(api, architect, "PUT", content, drawn))
    bulk = f"{API}/rest/facets/processes/views/detail/bulk"
    change = {"ids": [ID["invoice"]], "operations": [{"set": {"attributes": {"name": {"1033": "Bulk"}}}}]}
    preview = send(api, architect, "POST", bulk, {**change, "dryRun": True})
    assert (preview.status_code, preview.json()["values"][0]["changed"]) == (200, 1)
    report = empty(send(api, architect, "POST", bulk, change))["Location"].removeprefix("http://testserver")
    assert api.get(report, token=architect).json()["values"][0]["changed"] == 1
    link = {"linkType": "ofElement", "elementId": ID["order"]}
    assert "/_l/" in empty(send(api, architect, "POST", f"{API}/v1/permalinks", link))["Location"]


def test_secrets_are_always_told(handbook: Storage, api: ApiClient) -> None:
    token, url = token_for(handbook, Role.ADMINISTRATOR), "https://93.184.216.34/hook"
    # The document does not offer the preference here, and a client may send it everywhere.
    headers = {**MINIMAL, "Authorization": f"Bearer {token}"}
    made = Client(headers=headers).post(f"{API}/rest/webhooks", {"url": url}, content_type="application/json")
    [webhook] = made.json()["values"]
    assert (made.status_code, webhook["secret"][:6]) == (200, "whsec_")
    address = f"{API}/rest/webhooks/{webhook['id']}"
    changed = empty(send(api, token, "PATCH", address, {"events": ["version.released"]}, Idempotency_Key="hook"))
    assert changed["ETag"] == api.get(address, token=token)["ETag"]
    empty(send(api, token, "DELETE", address))


@pytest.mark.parametrize(
    ("header", "is_minimal"),
    [
        ('respond-async, Return = "minimal"; x=1', True),
        ("return=representation, return=minimal", False),
        ("return=minimal, return=representation", True),
        ("minimal, return", False),
        ("return=MINIMAL", True),
    ],
)
def test_preferences(handbook: Storage, api: ApiClient, architect: str, header: str, is_minimal: bool) -> None:
    response = send(api, architect, "POST", ELEMENTS, renamed("Preferred"), Prefer=header)
    assert response.status_code == (204 if is_minimal else 200)
    read = api.get(f"{SYSTEMS}?$pageSize=0", token=architect, headers=MINIMAL)
    assert (read.status_code, "Preference-Applied" in read) == (200, False)
