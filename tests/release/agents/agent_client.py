"""A client of the Model Context Protocol that sends plain requests."""

from __future__ import annotations

import json
from typing import Any

from storage.access.token_limits import TokenLimits
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.factories import issued_token, token_for
from tests.release.house import API, ID

MCP = f"{API}/mcp"
VERSION = "2025-11-25"
MESSAGE = "sendAgentMessage"


class AgentClient:
    def __init__(self, storage: Storage, api: ApiClient, *roles: Role, user: str = "", **limits: Any) -> None:
        self.api = api
        options = {"user_id": ID[user]} if user else {}
        if "operations" in limits:
            limits["operations"] = [MESSAGE, *limits["operations"]]
        if limits:
            self.token = issued_token(storage, *roles, limits=TokenLimits(**limits), **options)
        else:
            self.token = token_for(storage, *roles, **options)

    def post(self, body: Any, address: str = MCP, **headers: str) -> Any:
        sent = {"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": VERSION} | headers
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.api.post(address, content, content_type="application/json", token=self.token, headers=sent)

    def send(self, method: str, params: Any = None, **headers: str) -> Any:
        """Return the result of a request that must succeed."""
        body = {"jsonrpc": "2.0", "id": 7, "method": method} | ({} if params is None else {"params": params})
        response = self.post(body, **headers)
        assert response.status_code == 200, response.content
        found = response.json()
        assert (found["jsonrpc"], found["id"]) == ("2.0", 7)
        return found.get("result") or found.get("error", {})

    def tools(self) -> list[str]:
        return [each["name"] for each in self.send("tools/list")["tools"]]

    def call(self, tool: str, **arguments: Any) -> str:
        """Return the text of a tool that must succeed."""
        result = self.send("tools/call", {"name": tool, "arguments": arguments})
        [content] = result["content"]
        assert result["isError"] is False, content
        text: str = content["text"]
        return text

    def refused(self, tool: str, **arguments: Any) -> str:
        """Return the text of a tool that must fail."""
        result = self.send("tools/call", {"name": tool, "arguments": arguments})
        assert result["isError"] is True, result
        text: str = result["content"][0]["text"]
        return text
