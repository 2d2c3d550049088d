"""The official client of the Model Context Protocol against a running server (D584)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from httpx2 import AsyncClient
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.server_process import Server

pytestmark = [pytest.mark.long, pytest.mark.server]
OPERATIONS = (
    "sendAgentMessage",
    "searchElements",
    "getElement",
    "updateElements",
    "listTransitions",
    "applyTransition",
)


def issued(server: Server, role: str, *words: str) -> str:
    made = server.manage("issue_token", "demo", "showcase", "--name", "agent", "--role", role, *words)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


@asynccontextmanager
async def connected(server: Server, token: str, mode: str) -> AsyncIterator[Client]:
    address = f"http://127.0.0.1:{server.port}/demo/showcase/_api/mcp"
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        AsyncClient(headers=headers) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        yield client


async def call(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    return str(result.content[0].text)  # type: ignore[union-attr]  # our tools write texts


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_the_official_client_works(server: Server, mode: str, version: str) -> None:
    reading, editing = issued(server, "viewer", "--read-only"), issued(server, "editor", "--operation", *OPERATIONS)

    async def read() -> None:
        async with connected(server, reading, mode) as client:
            assert client.protocol_version == version
            assert client.server_info is not None
            assert client.server_info.name == "content-repository"
            tools = [each.name for each in (await client.list_tools()).tools]
            assert tools == [
                "search",
                "read_element",
                "compare_versions",
                "follow_references",
                "list_types",
                "list_transitions",
            ]
            found = await call(client, "search", text="order", type="subProcess")
            id = found.splitlines()[1].partition("id=")[2]
            shown = await call(client, "read_element", id=id)
            assert "## Process steps" in shown
            resource = await client.read_resource(f"repository://elements/{id}")
            assert resource.contents[0].text == shown  # type: ignore[union-attr]  # a text
            assert len((await client.list_resources()).resources) > 10
            assert len((await client.list_resource_templates()).resource_templates) == 2
            refused = await client.call_tool("create_version", {"id": id})
            assert refused.is_error
            with pytest.raises(MCPError, match="There is no tool delete_everything"):
                await client.call_tool("delete_everything", {})

    async def write() -> None:
        async with connected(server, editing, mode) as client:
            made = await call(client, "create_draft", type="system", attributes={"name": f"Made in {mode}"})
            id = made.splitlines()[0].partition("id=")[2]
            offered = await call(client, "list_transitions", id=id)
            transition = offered.splitlines()[0].removeprefix("- ").partition(":")[0]
            refused = await client.call_tool("apply_transition", {"id": id, "transition": transition})
            assert refused.is_error
            step = {"transition": transition, "confirm": True, "ignoreWarnings": True}
            assert (await call(client, "apply_transition", id=id, **step)).startswith("Done: System (system)")

    asyncio.run(read())
    asyncio.run(write())
