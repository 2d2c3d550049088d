"""The Model Context Protocol over HTTP, without sessions: reads one message and writes its result (D584).

The types of the SDK check messages and results for each version. Import this module when the first message arrives.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Collection, Mapping
from typing import Any

from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    DEFAULT_NEGOTIATED_VERSION,
    HEADER_MISMATCH,
    METHOD_NOT_FOUND,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
    CallToolResult,
    DiscoverResult,
    EmptyResult,
    Implementation,
    InitializeResult,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceResult,
    Resource,
    ResourcesCapability,
    ResourceTemplate,
    Result,
    ServerCapabilities,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
    ToolsCapability,
    jsonrpc_message_adapter,
)
from mcp_types import Tool as ListedTool
from mcp_types.methods import parse_client_request, serialize_server_result
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from release.agents.messages import INVALID_PARAMS, INVALID_REQUEST, AgentMessage, ProtocolProblem
from release.agents.resources import ELEMENT_URI, TEXT_TYPE, TYPE_URI, KnownResource
from release.agents.tools import Tool
from repository_site import __version__
from repository_site.core.rest.rendering import to_json
from repository_site.core.wording import listed, printable

VERSION_HEADER, METHOD_HEADER, NAME_HEADER = "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"
VERSIONS = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
# Parameters that a client repeats in the header Mcp-Name.
NAMES = {"tools/call": "name", "resources/read": "uri"}
CAPABILITIES = ServerCapabilities(tools=ToolsCapability(), resources=ResourcesCapability())
SERVER = Implementation(name="content-repository", title="Content repository", version=__version__)

TEMPLATES = {
    ELEMENT_URI: ResourceTemplate(
        uri_template=ELEMENT_URI + "{id}",
        name="element",
        title="Element",
        description="An element by its id, or one of its versions by the id of the version, as text.",
        mime_type=TEXT_TYPE,
    ),
    TYPE_URI: ResourceTemplate(
        uri_template=TYPE_URI + "{type}",
        name="type",
        title="Type",
        description="A type by its key: attributes, related contexts and states.",
        mime_type=TEXT_TYPE,
    ),
}


def read_message(document: Any, headers: Mapping[str, str]) -> AgentMessage | None:
    """Return the request in a body; None for a notification, which needs no answer."""
    try:
        found = jsonrpc_message_adapter.validate_python(document, by_name=False)
    except ValidationError:
        raise ProtocolProblem(
            INVALID_REQUEST, "The body must be one JSON-RPC request or notification, not a batch.", status=400
        ) from None
    if isinstance(found, JSONRPCResponse | JSONRPCError):
        raise ProtocolProblem(INVALID_REQUEST, "The server sends no requests, so it takes no responses.", status=400)
    if "id" in document and _id(document) is None:
        raise ProtocolProblem(INVALID_REQUEST, "id: expected a text or a whole number of 64 bits.", status=400)
    version = _version(document, headers)
    if not isinstance(found, JSONRPCRequest):
        return None
    is_modern = version in MODERN_PROTOCOL_VERSIONS
    if is_modern:
        _check_envelope(found, headers)
    elif found.method == "initialize":
        asked = (found.params or {}).get("protocolVersion")
        version = asked if asked in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION
    try:
        params = parse_client_request(found.method, version, found.params).params
    except KeyError:
        raise unknown_method(found.method, found.id, is_modern=is_modern) from None
    except ValidationError as problem:
        raise ProtocolProblem(
            INVALID_PARAMS, _first_problem(problem), id=found.id, status=400 if is_modern else 200
        ) from None
    return AgentMessage(found.id, found.method, version, params, is_modern)


def unknown_method(method: str, id: int | str, *, is_modern: bool) -> ProtocolProblem:
    text = f"This server has no method {printable(method, 60)}."
    return ProtocolProblem(METHOD_NOT_FOUND, text, id=id, status=404 if is_modern else 200)


def result_document(message: AgentMessage, result: Result) -> bytes:
    """Return the response to a request, without fields that its version does not know."""
    data = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    shown = serialize_server_result(message.method, message.version, data)
    if message.is_modern:
        shown["_meta"] = {SERVER_INFO_META_KEY: SERVER.model_dump(mode="json", by_alias=True, exclude_none=True)}
    return to_json({"jsonrpc": "2.0", "id": message.id, "result": shown})


def greeting(message: AgentMessage, instructions: str) -> Result | None:
    """Return the result of a method that needs no content of the storage."""
    if message.method == "initialize":
        return InitializeResult(
            protocol_version=message.version, capabilities=CAPABILITIES, server_info=SERVER, instructions=instructions
        )
    if message.method == "server/discover":
        return DiscoverResult(supported_versions=[*VERSIONS], capabilities=CAPABILITIES, instructions=instructions)
    return EmptyResult() if message.method == "ping" else None


def tool_list(tools: Mapping[Tool, dict[str, Any]]) -> Result:
    """Return the list of tools, which are given with their schemas."""
    return ListToolsResult(
        tools=[
            ListedTool(
                name=each.name,
                title=each.title,
                description=each.description,
                input_schema=schema,
                annotations=ToolAnnotations(
                    read_only_hint=not each.writes,
                    destructive_hint=each.is_lasting,
                    idempotent_hint=not each.writes,
                    open_world_hint=False,
                ),
            )
            for each, schema in tools.items()
        ]
    )


def tool_result(text: str, *, is_error: bool = False) -> Result:
    return CallToolResult(content=[TextContent(text=text)], is_error=is_error)


def resource_list(found: list[KnownResource]) -> Result:
    return ListResourcesResult(
        resources=[
            Resource(uri=each.uri, name=each.name, title=each.title, description=each.text, mime_type=TEXT_TYPE)
            for each in found
        ]
    )


def template_list(addresses: Collection[str]) -> Result:
    """Return the templates of addresses that begin in one of these ways."""
    return ListResourceTemplatesResult(resource_templates=[TEMPLATES[each] for each in addresses])


def resource_text(uri: str, text: str) -> Result:
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=TEXT_TYPE, text=text)])


def _version(document: Any, headers: Mapping[str, str]) -> str:
    """Return the version of a message. Clients of the first versions send no header."""
    given = headers.get(VERSION_HEADER)
    if given is None:
        return (
            MODERN_PROTOCOL_VERSIONS[-1] if PROTOCOL_VERSION_META_KEY in _meta(document) else DEFAULT_NEGOTIATED_VERSION
        )
    if given not in VERSIONS:
        text = f"{VERSION_HEADER}: {printable(given, 40)!r} is unknown; use {listed(VERSIONS, 'or')}."
        data = {"supported": [*VERSIONS], "requested": printable(given, 40)}
        raise ProtocolProblem(UNSUPPORTED_PROTOCOL_VERSION, text, id=_id(document), data=data, status=400)
    return given


def _id(document: Mapping[str, Any]) -> int | str | None:
    """Return the id of a request; None if responses cannot repeat it."""
    id = document.get("id")
    if isinstance(id, bool) or not isinstance(id, int | str):
        return None
    return id if isinstance(id, str) or abs(id) < 2**63 else None


def _check_envelope(request: JSONRPCRequest, headers: Mapping[str, str]) -> None:
    """Check that the headers of a request say the same as its body: proxies route by them."""
    meta = _meta({"params": request.params})
    missing = [each for each in (PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY) if each not in meta]
    if missing:
        text = f"params._meta: {listed(missing)} missing."
        raise ProtocolProblem(INVALID_PARAMS, text, id=request.id, status=400)
    said = {VERSION_HEADER: meta[PROTOCOL_VERSION_META_KEY], METHOD_HEADER: request.method}
    named = (request.params or {}).get(NAMES.get(request.method, ""))
    if named is not None:
        said[NAME_HEADER] = named
    for name, value in said.items():
        if _decoded(headers.get(name)) != value:
            text = f"{name}: the header differs from the request body."
            raise ProtocolProblem(HEADER_MISMATCH, text, id=request.id, status=400)


def _decoded(value: str | None) -> str | None:
    """Return the value of a header, which clients encode if it is not printable ASCII."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return b64decode(value[9:-2], validate=True).decode()
    except ValueError:
        return None


def _meta(document: Any) -> Mapping[str, Any]:
    params = document.get("params") if isinstance(document, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}


def _first_problem(problem: ValidationError) -> str:
    found = problem.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(each) for each in found["loc"])
    return f"{printable(place, 100)}: {found['msg']}."
