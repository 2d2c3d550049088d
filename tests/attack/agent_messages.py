"""Random messages of agents: every method and tool, with arguments that exist, that do not, and of other types.

The document only says that a message is JSON-RPC, so a random message of the fuzzer would name no tool.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from release.agents.tools import CULTURE, Tool
from release.api.agent_viewset import RESOURCES, TOOLS

METHODS = (
    "initialize", "ping", "server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list",
    "notifications/initialized", "tools/call", "resources/read", "", "x" * 1_000,
)  # fmt: skip
VERSIONS = ("2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01", "")
HOSTILE: tuple[Any, ...] = (
    None, True, 0, -1, 10**18, 10**30, 1.5, "", " ", "x" * 10_000, "%s' OR 1=1 --", "\u202e\U0001f600", "../..", [], [None] * 50,
    {}, {"a": {"b": [{}]}}, [[[[[]]]]],
)  # fmt: skip
BODIES = (
    b"",
    b"{",
    b"[]",
    b"null",
    b'"x"',
    b"[" * 200,
    b'{"jsonrpc": "2.0"}',
    b'{"id": "\\ud800"}',
    b"\xff\xfe",
    b"{}{}",
)
VERSION = "io.modelcontextprotocol/protocolVersion"


@dataclass(frozen=True, slots=True)
class Sent:
    body: bytes
    headers: Mapping[str, str]


class AgentMessages:
    """`known` has existing values by parameter of the API, `moment` is a time in the past."""

    def __init__(self, known: Mapping[str, Sequence[str]], moment: str, seed: int) -> None:
        self._random = random.Random(seed)
        self._ids = [*known["elementId"], *known["shapeId"]]
        self._values: Mapping[str, Sequence[Any]] = {
            "type": known["type"], "facet": known["facetId"], "state": ["released", "inProcess"],
            "context": known["relatedId"], "transition": known["transitionId"], "asOf": [moment],
            "text": ["order", "start task", '"end of', "Zweitfirma"], CULTURE: [1031, 1033], "confirm": [True],
            "attributes": [{"name": "New"}, {"purp": None}], "related": [{"systems": self._ids[:2]}, {"owner": []}],
        }  # fmt: skip

    def messages(self, rounds: int) -> Iterator[Sent]:
        yield from (Sent(body, {}) for body in BODIES)
        for _ in range(rounds):
            for tool in TOOLS.values():
                yield self._request("tools/call", {"name": tool.name, "arguments": self._arguments(tool)})
            uri = self._random.choice([*RESOURCES]) + self._random.choice([*self._ids, *self._values["type"], "", "x"])
            yield self._request("resources/read", {"uri": uri})
            for method in METHODS:
                params = {} if self._random.random() < 0.7 else self._random.choice(HOSTILE)
                yield self._request(method, params)

    def _arguments(self, tool: Tool) -> dict[str, Any]:
        found = {}
        for name, schema in {CULTURE: {}, **tool.properties}.items():
            if name in tool.required or self._random.random() < 0.4:
                existing = self._ids if schema.get("format") == "uuid" else self._values.get(name, schema.get("enum"))
                is_hostile = existing is None or self._random.random() < 0.15
                found[name] = self._random.choice(HOSTILE if is_hostile else [*(existing or ())])
        if self._random.random() < 0.05:
            found["x" * 50] = self._random.choice(HOSTILE)
        return found

    def _request(self, method: str, params: Any) -> Sent:
        version = self._random.choice(VERSIONS if self._random.random() < 0.2 else VERSIONS[:4])
        if version == "2026-07-28" and isinstance(params, dict):
            params = {**params, "_meta": {VERSION: version, "io.modelcontextprotocol/clientCapabilities": {}}}
        id = self._random.choice([None, 1.5, 10**30, True]) if self._random.random() < 0.05 else 1
        body = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        name = str(params.get("name") or params.get("uri") or "") if isinstance(params, dict) else ""
        named = {"Mcp-Protocol-Version": version, "Mcp-Method": method[:100], "Mcp-Name": name}
        return Sent(json.dumps(body).encode(), {key: value for key, value in named.items() if value})
