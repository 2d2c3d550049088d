"""What drf-spectacular cannot see: the errors, headers, credentials and api-versions every operation shares."""

from __future__ import annotations

from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from repository_site.core.rest.versioning import ApiVersions

ERRORS = {
    "400": "The request cannot be read; `data` says where.",
    "401": "No credential, or one that does not hold here.",
    "403": "The caller lacks a permission, which the message names.",
    "404": "Unknown collection, storage or resource.",
    "405": "The method is not possible here.",
    "406": "The client does not accept what the operation answers.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "429": "Too many requests.",
    "500": "A fault of the service; the message holds the request id.",
    "503": "The database cannot be reached; try again shortly.",
}
# What only an operation that writes can answer.
WRITING_ERRORS = {
    "409": "The request contradicts the state of what it addresses.",
    "412": "`If-Match` does not match.",
    "422": "Readable, but against the configuration; `data` names element, property and culture.",
}
# `type` and `output` of each status (D3), where they are not error and volatile.
ERROR_KINDS = {
    "400": ("error", "inline"),
    "401": ("unauthorized", "volatile"),
    "403": ("unauthorized", "volatile"),
    "409": ("error", "dialog"),
    "412": ("error", "dialog"),
    "422": ("error", "inline"),
    "500": ("critical", "permanent"),
    "503": ("critical", "permanent"),
}
# The schema of each kind of failure.
KIND_NAMES = {
    ("error", "inline"): "InlineError",
    ("error", "volatile"): "VolatileError",
    ("error", "dialog"): "DialogError",
    ("unauthorized", "volatile"): "Unauthorized",
    ("warning", "dialog"): "Warnings",
    ("critical", "permanent"): "CriticalError",
}
# Of operations that warn before they go on.
WARNING = "Error422OrWarning"
WARNING_TEXT = "Against the configuration; or warnings, which `ignoreWarnings=true` passes over. `data` lists all."
WARNING_KIND = ("warning", "dialog")
ERROR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "The body of every failure.",
    "properties": {
        "message": {"type": "string", "description": "One sentence for a person."},
        "output": {"type": "string", "enum": ["volatile", "permanent", "dialog", "inline"]},
        "type": {"type": "string", "enum": ["critical", "error", "warning", "success", "unauthorized"]},
        "data": {
            "type": "array",
            "description": "One item a problem.",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {"error": {"type": "string"}},
                "required": ["error"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["message", "output", "type", "data"],
}
REQUEST_ID = {
    "X-Request-ID": {
        "description": "The id of this request in the logs.",
        "schema": {"type": "string"},
        "required": True,
    }
}
ERROR_HEADERS: dict[str, dict[str, Any]] = {
    "401": {"WWW-Authenticate": {"schema": {"type": "string"}, "required": True}},
    "405": {"Allow": {"schema": {"type": "string"}, "required": True}},
    "429": {"Retry-After": {"schema": {"type": "string"}, "required": True}},
    "503": {"Retry-After": {"schema": {"type": "string"}, "required": True}},
}
SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API token of the addressed context."},
    "tokenHeader": {"type": "apiKey", "in": "header", "name": "symbio-auth-token"},
    "tokenQuery": {
        "type": "apiKey",
        "in": "query",
        "name": "symbio-auth-token",
        "description": "Only where the storage allows it.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "sessionid",
        "description": "Staff of the back office, from the same browser; writing also needs the header `X-CSRFToken`.",
    },
}
PATH_PARAMETERS = {
    "collectionId": (OpenApiTypes.STR, "Id of the storage collection; `_sysadmin` for the whole site."),
    "storageId": (OpenApiTypes.STR, "Id of the storage, or `_admin` for an administrative context."),
    "facetId": (OpenApiTypes.STR, "Name of the facet, in any letter case."),
    "viewId": (OpenApiTypes.STR, "Name of the view, in any letter case."),
    "elementId": (OpenApiTypes.UUID, "Id of an element or of a version."),
    "attributeName": (OpenApiTypes.STR, "Name of the attribute."),
    "relatedId": (OpenApiTypes.STR, "Name of the related context."),
    "shapeId": (OpenApiTypes.UUID, "Id of a shape of the diagram."),
    "taskId": (OpenApiTypes.UUID, "Id of the task."),
    "transitionId": (OpenApiTypes.STR, "Name of the transition, in any letter case."),
    "type": (OpenApiTypes.STR, "Name of the type, in any letter case."),
    "ignoreWarnings": (OpenApiTypes.BOOL, "Whether to go on although the validation rules warn."),
}
# What POST may carry where it has nothing to say.
NO_BODY: dict[str, Any] = {
    "description": "Nothing, or an empty object.",
    "content": {"application/json": {"schema": {"type": "object", "maxProperties": 0}}},
}
REQUEST_ID_TEXT = "Chosen by the client, for the logs: up to 128 letters, digits and `._:-`. Others are replaced."
LANGUAGE_TEXT = "Languages that the client prefers; names and messages follow it where they stand in one language only."


WRITING_HEADERS = {
    "If-Match": "The `ETag` of what was read; 412 when it has changed since. For requests that change one element.",
    "Idempotency-Key": "Chosen by the client: the same request with the same key within a day is done once.",
}


CONDITION_TEXT = "The `ETag` of an earlier answer; 304 while the answer would be the same."
ETAG: dict[str, Any] = {"description": "Stands for this answer.", "schema": {"type": "string"}, "required": True}
NOT_MODIFIED = {"description": "What the client has is what there is.", "headers": {**REQUEST_ID, "ETag": ETAG}}


class OperationSchema(AutoSchema):
    """Names each operation as its view does, and adds the parameters that stand on every one."""

    def get_operation_id(self) -> str:
        if self._writes():
            return self._writing_ids[self.method]
        name = str(getattr(self.view, "operation_id", ""))
        return f"{name}ByPost" if self.method == "POST" else name

    def get_request_serializer(self) -> Any:
        has_body = self._writes() and self.method != "DELETE"
        return getattr(self.view, "writing_body", None) if has_body else None

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        operation = super().get_operation(*args, **kwargs)
        if operation and self.method == "POST" and "requestBody" not in operation:
            operation["requestBody"] = NO_BODY
        if operation and self._writes():
            operation["x-writes"] = True
        if operation and self._writes() and not getattr(self.view, "reads_without_body", False):
            operation["x-needs-credential"] = True
        if operation and self._is_conditional:
            operation["x-conditional"] = True
        if operation and getattr(self.view, "warns", False):
            operation["x-warns"] = True
        return operation

    @property
    def _is_conditional(self) -> bool:
        """POST reads, too, for clients that know no better; conditions are for GET."""
        return self.method == "GET" and getattr(self.view, "is_conditional", False)

    def _writes(self) -> bool:
        return self.method in self._writing_ids

    @property
    def _writing_ids(self) -> dict[str, str]:
        """The operations of a view that write, by method; all others read."""
        return getattr(self.view, "writing_ids", {})

    def get_override_parameters(self) -> list[Any]:
        parameters = [
            OpenApiParameter(name, kind, OpenApiParameter.PATH, description=text)
            for name, (kind, text) in PATH_PARAMETERS.items()
            if f"{{{name}}}" in self.path
        ]
        versions = getattr(self.view, "versions", None)
        if self._writes():
            versions = getattr(self.view, "writing_versions", None) or versions
        if isinstance(versions, ApiVersions):
            text = f"Absent means {versions.default}."
            parameters += [
                OpenApiParameter("api-version", str, place, enum=versions.supported, description=text)
                for place in (OpenApiParameter.HEADER, OpenApiParameter.QUERY)
            ]
        parameters.append(OpenApiParameter("X-Request-ID", str, OpenApiParameter.HEADER, description=REQUEST_ID_TEXT))
        if getattr(self.view, "speaks", False):
            parameters.append(
                OpenApiParameter("Accept-Language", str, OpenApiParameter.HEADER, description=LANGUAGE_TEXT)
            )
        if self._is_conditional:
            parameters.append(
                OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description=CONDITION_TEXT)
            )
        if self._writes():
            parameters += [
                OpenApiParameter(name, str, OpenApiParameter.HEADER, description=text)
                for name, text in WRITING_HEADERS.items()
            ]
        return parameters


# Schemas of which exactly one of the two named fields is there; apps add theirs.
EXACTLY_ONE: dict[str, tuple[str, str]] = {}
# How long lists in schemas may be.
MOST_ITEMS: dict[str, dict[str, int]] = {}


def close_objects(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Make the document exact: objects have no further fields, every operation names its errors and headers."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {})["Error"] = ERROR_SCHEMA
    for kind, name in KIND_NAMES.items():
        components["schemas"][name] = _error_schema(*kind)
    components["securitySchemes"] = SECURITY_SCHEMES
    components["responses"] = {
        f"Error{status}": _error_response(status, text, [ERROR_KINDS.get(status, ("error", "volatile"))])
        for status, text in {**ERRORS, **WRITING_ERRORS}.items()
    }
    components["responses"][WARNING] = _error_response("422", WARNING_TEXT, [ERROR_KINDS["422"], WARNING_KIND])
    for name, schema in components["schemas"].items():
        _close(schema)
        if name in EXACTLY_ONE:
            schema |= _exactly_one(*EXACTLY_ONE[name])
        for field, most in MOST_ITEMS.get(name, {}).items():
            schema["properties"][field]["maxItems"] = most
    for path in result["paths"].values():
        for operation in path.values():
            _complete(operation)
    return result


def _exactly_one(first: str, second: str) -> dict[str, Any]:
    """Not by `oneOf`, which generators of clients take for a choice of types."""
    return {"if": {"required": [first]}, "then": {"not": {"required": [second]}}, "else": {"required": [second]}}


def _complete(operation: dict[str, Any]) -> None:
    anonymous: list[dict[str, Any]] = [] if operation.pop("x-needs-credential", False) else [{}]
    operation["security"] = [{name: []} for name in SECURITY_SCHEMES] + anonymous
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "query" and parameter["schema"].get("type") != "boolean":
            # As if it were not given.
            parameter["allowEmptyValue"] = True
    has_version = any(parameter["name"] == "api-version" for parameter in operation.get("parameters", []))
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            response["description"] = response.get("description") or "Done."
            response["headers"] = {**REQUEST_ID, **response.get("headers", {})}
            if has_version:
                response["headers"]["api-version"] = {"schema": {"type": "string"}, "required": True}
    if operation.pop("x-conditional", False):
        operation["responses"]["200"]["headers"]["ETag"] = ETAG
        operation["responses"]["304"] = NOT_MODIFIED
    is_writing, warns = operation.pop("x-writes", False), operation.pop("x-warns", False)
    for status in {**ERRORS, **(WRITING_ERRORS if is_writing else {})}:
        name = WARNING if warns and status == "422" else f"Error{status}"
        operation["responses"].setdefault(status, {"$ref": f"#/components/responses/{name}"})


def _error_response(status: str, text: str, kinds: list[tuple[str, str]]) -> dict[str, Any]:
    possible = [{"$ref": f"#/components/schemas/{KIND_NAMES[kind]}"} for kind in kinds]
    return {
        "description": text,
        "headers": {**REQUEST_ID, **ERROR_HEADERS.get(status, {})},
        "content": {
            "application/json": {"schema": possible[0] if len(possible) == 1 else {"anyOf": possible}},
        },
    }


def _error_schema(type: str, output: str) -> dict[str, Any]:
    """Written out, since generators of clients do not narrow a schema by another one."""
    narrowed = {"output": {"type": "string", "enum": [output]}, "type": {"type": "string", "enum": [type]}}
    return {**ERROR_SCHEMA, "properties": {**ERROR_SCHEMA["properties"], **narrowed}}


def _close(schema: Any) -> None:
    if isinstance(schema, dict):
        if schema.get("type") == "object" and "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for part in schema.values():
            _close(part)
    elif isinstance(schema, list):
        for part in schema:
            _close(part)
