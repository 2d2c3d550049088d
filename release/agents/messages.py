"""Values of the protocol that need no types of the SDK, whose import takes half a second (D584)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

INVALID_REQUEST, INVALID_PARAMS, PARSE_ERROR = -32600, -32602, -32700
# Versions before 2026-07-28 have a code of their own for unknown resources.
NO_RESOURCE = -32002
CALL_TOOL, READ_RESOURCE = "tools/call", "resources/read"


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """A request of a client. `params` has the type of the SDK for the method, or is None."""

    id: int | str
    method: str
    version: str
    params: Any
    is_modern: bool
    """Whether the version has no handshake: each request then tells its version and client."""


class ProtocolProblem(Exception):
    """A message that is not answered, as an error of JSON-RPC."""

    def __init__(
        self, code: int, message: str, *, id: int | str | None = None, data: Any = None, status: int = 200
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id
        self.data = data
        self.status = status

    def document(self) -> dict[str, Any]:
        error = {"code": self.code, "message": self.message} | ({} if self.data is None else {"data": self.data})
        return {"jsonrpc": "2.0", "id": self.id, "error": error}
