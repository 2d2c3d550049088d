"""Messages of the protocol in plain requests (D584): versions, refusals, limits, and the same rules as in the API."""

from __future__ import annotations

from typing import Any

import pytest

from release.api.agent_viewset import INSTRUCTIONS, TOOLS
from repository_site import __version__
from repository_site.core.environment.values import Rate
from repository_site.core.rest.throttling import Throttle
from storage.access.token_limits import operation_ids
from storage.models import AnonymousAccess, Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.release.agents.agent_client import MCP, AgentClient
from tests.release.house import ID

pytestmark = pytest.mark.django_db
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
CLIENT = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
SERVER = {"name": "content-repository", "title": "Content repository", "version": __version__}
VERSION = "io.modelcontextprotocol/protocolVersion"
MODERN = "2026-07-28"
META = {VERSION: MODERN, "io.modelcontextprotocol/clientCapabilities": {}}


@pytest.fixture
def agent(house: Storage, api: ApiClient) -> AgentClient:
    return AgentClient(house, api, Role.VIEWER)


def error(response: Any) -> tuple[int, int, str]:
    body = response.json()
    return response.status_code, body["error"]["code"], body["error"]["message"]


def test_the_handshake(agent: AgentClient) -> None:
    for asked, given in (("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("1999-01-01", "2025-11-25")):
        assert agent.send("initialize", {"protocolVersion": asked, **CLIENT}) == {
            "protocolVersion": given,
            "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": SERVER,
            "instructions": INSTRUCTIONS,
        }
    accepted = agent.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (accepted.status_code, accepted.content) == (202, b"")
    assert agent.post(PING).json() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert "Mcp-Session-Id" not in accepted


def test_the_version_without_a_handshake(agent: AgentClient) -> None:
    def send(method: str, params: Any, **headers: str) -> Any:
        body = {"jsonrpc": "2.0", "id": "a", "method": method, "params": {"_meta": META, **params}}
        return agent.post(body, **{"Mcp-Protocol-Version": MODERN, "Mcp-Method": method, **headers})

    found = send("server/discover", {}).json()["result"]
    assert found["supportedVersions"][-2:] == ["2025-11-25", MODERN]
    assert found["_meta"] == {"io.modelcontextprotocol/serverInfo": SERVER}
    call = {"name": "read_element", "arguments": {"id": ID["order"]}}
    read = send("tools/call", call, **{"Mcp-Name": "read_element"}).json()["result"]
    assert (read["isError"], read["resultType"]) == (False, "complete")
    mismatch = "Mcp-Name: the header differs from the request body."
    assert error(send("tools/call", call, **{"Mcp-Name": "search"})) == (400, -32020, mismatch)
    assert error(send("tools/call", call)) == (400, -32020, mismatch)
    encoded = send("tools/call", call, **{"Mcp-Name": "=?base64?cmVhZF9lbGVtZW50?="})
    assert encoded.status_code == 200
    assert error(send("tools/call", {**call, "name": "x"}, **{"Mcp-Name": "x"})) == (400, -32602, "There is no tool x.")
    assert error(send("ping", {})) == (404, -32601, "This server has no method ping.")
    unknown = send("resources/read", {"uri": "x:y"}, **{"Mcp-Name": "x:y"})
    assert error(unknown) == (400, -32602, "There is no resource x:y.")
    bare = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    refused = agent.post(bare, **{"Mcp-Protocol-Version": MODERN, "Mcp-Method": "tools/list"})
    assert error(refused)[:2] == (400, -32602)


@pytest.mark.parametrize(
    ("body", "status", "code", "text"),
    [
        (b"{", 400, -32700, None),
        ([PING], 400, -32600, "The body must be one JSON-RPC request or notification, not a batch."),
        *(({**PING, "id": id}, 400, -32600, "id: expected a text or a whole number of 64 bits.") for id in (None, True, 1.5, 10**30)),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, 400, -32600, "The server sends no requests, so it takes no responses."),
        ({**PING, "method": "prompts/list"}, 200, -32601, "This server has no method prompts/list."),
        ({**PING, "method": "tools/call", "params": {}}, 200, -32602, "params.name: Field required."),
        ({**PING, "method": "tools/call", "params": {"name": "x"}}, 200, -32602, "There is no tool x."),
        (
            {**PING, "method": "tools/call", "params": {"name": "read_elements"}}, 200, -32602,
            "There is no tool read_elements; similar: read_element.",
        ),
    ],
)  # fmt: skip
def test_messages_that_are_refused(agent: AgentClient, body: Any, status: int, code: int, text: str | None) -> None:
    found = error(agent.post(body))
    assert found[:2] == (status, code)
    assert text in (None, found[2])


def test_arguments_are_checked_together(agent: AgentClient) -> None:
    assert agent.refused("read_element", Id=ID["order"], culture=7, offset=-1).splitlines() == [
        "4 arguments are invalid.",
        "- Id: unknown argument; similar: id.",
        "- id: is missing.",
        "- culture: expected 1031 or 1033, not '7'.",
        "- offset: expected a whole number from 0 to 100000000.",
    ]
    assert agent.refused("read_element", id="x") == "id: 'x' is not a GUID."
    assert agent.refused("search", text="x" * 1_001) == "text: more than 1000 characters."
    assert agent.refused("search", text=True) == "text: expected a text."
    assert agent.refused("search", text="x", page=True) == "page: expected a whole number."
    assert agent.refused("search", text="x", state="draft").startswith("state: 'draft' is unknown")


def test_transport(api: ApiClient, agent: AgentClient) -> None:
    """Programs send no Origin; a page of another site must not use the network of its visitor."""
    for method in ("get", "delete", "put"):
        refused = getattr(api, method)(MCP, token=agent.token)
        assert (refused.status_code, refused["Allow"]) == (405, "POST")
    assert agent.post(PING, Accept="text/event-stream").status_code == 406
    assert agent.post(PING, Origin="http://testserver").status_code == 200
    for origin in ("https://evil.example", "null", "http://testserver.evil.example"):
        assert agent.post(PING, Origin=origin).status_code == 403
    # Before the media type, the credential and the message.
    evil = {"Origin": "https://evil.example"}
    for refused in (
        api.post(MCP, b"{", content_type="application/json", token="unknown", headers=evil),
        agent.post([PING], Accept="text/event-stream", **evil),
    ):
        assert (refused.status_code, refused.json()["message"]) == (403, "Origin: https://evil.example is not allowed.")
    unknown = agent.post(PING, **{"Mcp-Protocol-Version": "1999-01-01"})
    assert error(unknown)[:2] == (400, -32022)
    assert unknown.json()["error"]["data"]["requested"] == "1999-01-01"
    assert agent.post(PING, "/acme/_admin/_api/mcp").status_code == 404
    assert agent.post(PING, "/rival/house/_api/mcp").status_code == 401


def test_credentials_and_rate(
    api: ApiClient, house: Storage, agent: AgentClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def post(body: Any) -> Any:
        return api.post(MCP, body, content_type="application/json")

    refused = post(PING)
    assert (refused.status_code, refused["WWW-Authenticate"]) == (401, "Bearer")
    Storage.objects.filter(id=house.id).update(anonymous_access=AnonymousAccess.READ)
    assert post(PING).status_code == 200
    change = {**PING, "method": "tools/call", "params": {"name": "create_version", "arguments": {"id": ID["order"]}}}
    assert post(change).status_code == 401
    monkeypatch.setattr("storage.api.throttling.token_throttle", Throttle(Rate(0.001, 2), lambda: 0.0))
    responses = [agent.post(PING) for _ in range(3)]
    assert [each.status_code for each in responses] == [200, 200, 429]
    assert int(responses[2]["Retry-After"]) > 0


def test_every_tool_has_an_operation_of_the_api() -> None:
    assert {each.operation for each in TOOLS.values()} <= operation_ids()
