"""Headers, bodies and responses of the Model Context Protocol server, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from repository_site.core.rest.rendering import JSON_TYPE

_HEADERS = {
    "Mcp-Protocol-Version": "Version of the protocol, such as `2025-11-25`; absent in the first versions.",
    "Mcp-Method": "The method of the message; required from `2026-07-28` on.",
    "Mcp-Name": "The tool or resource that the message names; required from `2026-07-28` on.",
    "Origin": "Only pages of this service and of allowed origins can send messages; programs do not send the header.",
}
HEADERS = [OpenApiParameter(name, str, OpenApiParameter.HEADER, description=text) for name, text in _HEADERS.items()]
_ID: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
_VERSION: dict[str, Any] = {"type": "string", "enum": ["2.0"]}
_ERROR: dict[str, Any] = {
    "type": "object",
    "properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "data": {}},
    "required": ["code", "message"],
    "additionalProperties": False,
}
_PROBLEM: dict[str, Any] = {
    "type": "object",
    "properties": {"jsonrpc": _VERSION, "id": {"anyOf": [*_ID["anyOf"], {"type": "null"}]}, "error": _ERROR},
    "required": ["jsonrpc", "id", "error"],
    "additionalProperties": False,
}
_RESULT: dict[str, Any] = {
    "type": "object",
    "properties": {"jsonrpc": _VERSION, "id": _ID, "result": {"type": "object", "additionalProperties": {}}},
    "required": ["jsonrpc", "id", "result"],
    "additionalProperties": False,
}
_REFUSAL: dict[str, Any] = {"anyOf": [_PROBLEM, {"$ref": "#/components/schemas/Error"}]}
RESPONSES: dict[Any, Any] = {
    (200, JSON_TYPE): OpenApiResponse({"anyOf": [_RESULT, _PROBLEM]}, "Result, or error of JSON-RPC."),
    202: OpenApiResponse(None, "The notification was received."),
    (400, JSON_TYPE): OpenApiResponse(_REFUSAL, "The message is malformed, or its version is unknown."),
    (404, JSON_TYPE): OpenApiResponse(_REFUSAL, "Unknown collection or storage, or (from 2026-07-28 on) method."),
}
# A request or notification; the protocol describes its methods and parameters.
BODY: dict[str, Any] = {
    JSON_TYPE: {
        "type": "object",
        "properties": {
            "jsonrpc": _VERSION,
            "id": {**_ID, "description": "Absent in a notification."},
            "method": {"type": "string", "description": "Such as `initialize`, `tools/list` or `tools/call`."},
            "params": {"type": ["object", "null"], "additionalProperties": {}},
        },
        "required": ["jsonrpc", "method"],
        "additionalProperties": {},
    }
}
