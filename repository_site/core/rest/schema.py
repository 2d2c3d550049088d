"""Parts of the OpenAPI document that all operations share: errors, headers, credentials and api-versions."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from repository_site.core.problems import Warned
from repository_site.core.rest.errors import BY_PROBLEM
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.versioning import ApiVersions

ERRORS = {
    "400": "The request is malformed; `data` lists the problems.",
    "401": "Missing or invalid credential.",
    "403": "The caller lacks a permission; `message` names it.",
    "404": "Unknown collection, storage or resource.",
    "405": "Method not allowed; the header `Allow` lists the methods of this address.",
    "406": "The `Accept` header excludes the media type of the response.",
    "413": "The request body is too large.",
    "415": "The request body does not have the media type of the operation, usually `application/json`.",
    "422": "The content violates the configuration or a limit, such as the cost of `$filter`, or the response would be"
    " too large; each item of `data` names a problem and its place.",
    "429": "Too many requests, or requests that cost more than their share while others are active; `Retry-After` tells"
    " when to try again.",
    "500": "Internal error; `message` contains the request id, for support.",
    "503": "Temporarily unavailable; try again after the seconds in `Retry-After`.",
}
# Errors of operations with a request body.
BODY_ERRORS = {"408": "The request body arrives too slowly. The server closes the connection; send the request again."}
# Errors of operations that write.
WRITING_ERRORS = {
    "409": "The request conflicts with the current state of the resource.",
    "412": "The resource has changed since it was read: `If-Match` does not match.",
}
# `type` and `output` of each status (D3); the others have error and volatile.
ERROR_KINDS = {
    **{str(kind.status): (kind.type, kind.output) for cls, kind in BY_PROBLEM.items() if cls is not Warned},
    "500": ("critical", "permanent"),
}
# Component of each combination of `type` and `output`.
KIND_NAMES = {
    ("error", "inline"): "InlineError",
    ("error", "volatile"): "VolatileError",
    ("error", "dialog"): "DialogError",
    ("unauthorized", "volatile"): "Unauthorized",
    ("warning", "dialog"): "Warnings",
    ("critical", "permanent"): "CriticalError",
}
# The 422 of operations that can answer with warnings.
WARNING = "Error422OrWarning"
WARNING_TEXT = (
    "The content violates the configuration (`type` is `error`), or validation rules report warnings (`type` is"
    " `warning`). To apply the transition despite the warnings, send `ignoreWarnings=true`. `data` lists all problems."
)
WARNING_KIND = ("warning", "dialog")
ERROR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "Body of every error response.",
    "properties": {
        "message": {"type": "string", "description": "The problem in one or two sentences, for a person."},
        "output": {
            "type": "string",
            "description": "Suggests how a user interface presents the message.",
            "enum": ["volatile", "permanent", "dialog", "inline"],
        },
        "type": {
            "type": "string",
            "description": "Severity.",
            "enum": ["critical", "error", "warning", "success", "unauthorized"],
        },
        "data": {
            "type": "array",
            "description": "One item for each problem.",
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
        "description": "Id of this request in the logs.",
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
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "API token of the addressed storage or context.",
    },
    "tokenHeader": {
        "type": "apiKey",
        "in": "header",
        "name": "symbio-auth-token",
        "description": "API token in a separate header, for clients that cannot set `Authorization`.",
    },
    "tokenQuery": {
        "type": "apiKey",
        "in": "query",
        "name": "symbio-auth-token",
        "description": "API token as a query parameter, if the storage allows it.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "sessionid",
        "description": "Session of the back office. Requests that write also need the header `X-CSRFToken`.",
    },
}
PATH_PARAMETERS = {
    "collectionId": (OpenApiTypes.STR, "Key of the collection, or `_sysadmin` for the site."),
    "storageId": (OpenApiTypes.STR, "Key of the storage, or `_admin` for an administrative context."),
    "facetId": (OpenApiTypes.STR, "Name of the facet, case-insensitive."),
    "viewId": (OpenApiTypes.STR, "Name of the view, case-insensitive."),
    "elementId": (OpenApiTypes.UUID, "Id of an element, or of one of its versions."),
    "attributeName": (OpenApiTypes.STR, "Key of the attribute, such as `name`."),
    "relatedId": (OpenApiTypes.STR, "Key of the related context."),
    "shapeId": (OpenApiTypes.UUID, "Id of a shape in the diagram."),
    "pool": (OpenApiTypes.STR, "Name of a pool of nodes, such as `default`."),
    "taskId": (OpenApiTypes.UUID, "Id of the task."),
    "transitionId": (OpenApiTypes.STR, "Name of the transition, case-insensitive."),
    "fileId": (OpenApiTypes.UUID, "Id of the file."),
    "webhookId": (OpenApiTypes.UUID, "Id of the webhook."),
    "bulkId": (OpenApiTypes.UUID, "Id of the bulk change."),
    "type": (OpenApiTypes.STR, "Key of the type, case-insensitive."),
    "ignoreWarnings": (OpenApiTypes.BOOL, "`true` applies the transition despite warnings."),
}
# Request body of a POST that takes none.
NO_BODY: dict[str, Any] = {
    "description": "Empty, or an empty object.",
    "content": {"application/json": {"schema": {"type": "object", "maxProperties": 0}}},
}
REQUEST_ID_TEXT = (
    "Id of the request for the logs, chosen by the client: up to 128 letters, digits and `._:-`. The server replaces an"
    " invalid id."
)
LANGUAGE_TEXT = "Preferred languages, for names and messages that the response contains in one language only."


WRITING_HEADERS = {
    "If-Match": (
        "Entity tag of the version that the client has read; 412 if the version has changed since. Only for requests"
        " that change one element."
    ),
    "Idempotency-Key": (
        "Key chosen by the client. Within 24 hours, the server executes requests with the same key only once and"
        " answers repeated requests with the first response."
    ),
}


MINIMAL_TEXT = (
    "`return=minimal` asks for a response without a body: 204, or 201 with `Location` for one new resource. The default"
    " is `return=representation`."
)
# Responses to changes whose clients prefer no body (D575).
_APPLIED = {
    "Preference-Applied": {"description": "`return=minimal`.", "schema": {"type": "string"}, "required": True},
    "ETag": {"description": "Entity tag of the version, if one was changed.", "schema": {"type": "string"}},
}
_LOCATION = {"description": "Address of the new resource.", "schema": {"type": "string"}}
NO_CONTENT = {
    "description": "The change was made; `Prefer: return=minimal` was applied.",
    "headers": {**_APPLIED, "Location": {**_LOCATION, "description": "Address of a permalink or of a report."}},
}
CREATED = {
    "description": "The resource was created; `Prefer: return=minimal` was applied.",
    "headers": {**_APPLIED, "Location": {**_LOCATION, "required": True}},
}
CONDITION_TEXT = "Entity tag of an earlier response; 304 if the response would be the same."
REPLICA_TEXT = (
    "`replica` allows a read replica to answer. It answers only if it has the current content; otherwise, and where the"
    " installation has no replica, the preference is ignored."
)
REPLICA_APPLIED = {"description": "`replica` if a read replica has answered.", "schema": {"type": "string"}}
ETAG: dict[str, Any] = {"description": "Entity tag of this response.", "schema": {"type": "string"}, "required": True}
NOT_MODIFIED = {
    "description": "Not modified.",
    "headers": {**REQUEST_ID, "ETag": ETAG, "Preference-Applied": REPLICA_APPLIED},
}


class OperationSchema(AutoSchema):
    """Describes an operation by the facts of its decorator, and adds the parameters that all operations have."""

    view: Any

    @property
    def operation(self) -> Operation:
        found: Operation = getattr(self.view, self.view.action).operation
        return found

    @property
    def is_conditional(self) -> bool:
        """Conditions are for GET; POST also reads, for clients that cannot do better."""
        return self.method == "GET" and self.operation.is_conditional

    def get_operation_id(self) -> str:
        name = self.operation.id + self.view.id_suffix
        is_twin = self.method == "POST" and not self.operation.writes and self.operation.body is None
        return f"{name}ByPost" if is_twin else name

    def get_summary(self) -> str:
        return self.operation.summary

    def get_tags(self) -> list[str]:
        return [self.operation.tag]

    def get_request_serializer(self) -> Any:
        return self.operation.body

    def get_response_serializers(self) -> Any:
        """A success is 200 by default, for POST and DELETE, too."""
        responses = self.operation.responses
        return responses if isinstance(responses, dict) else {200: responses}

    def _is_list_view(self, serializer: Any = None) -> bool:
        """Lists come in an envelope, so no response is a bare array, not even that of an action called `list`."""
        return False

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        described: Any = super().get_operation(*args, **kwargs)
        operation = self.operation
        if self.method == "POST" and "requestBody" not in described:
            described["requestBody"] = NO_BODY
        if operation.reads_without_body:
            described["requestBody"].pop("required", None)
        if operation.writes and not operation.tells_once:
            described["responses"]["204"] = deepcopy(NO_CONTENT)
        if operation.creates:
            described["responses"]["201"] = deepcopy(CREATED)
        described["x-writes"] = operation.writes
        described["x-needs-credential"] = operation.writes and not operation.reads_without_body
        described["x-conditional"] = self.is_conditional
        described["x-warns"] = operation.warns
        described["x-replica"] = operation.is_conditional
        return described

    def get_override_parameters(self) -> list[Any]:
        parameters = [
            OpenApiParameter(name, kind, OpenApiParameter.PATH, description=text)
            for name, (kind, text) in PATH_PARAMETERS.items()
            if f"{{{name}}}" in self.path
        ]
        versions = self.operation.versions
        parameters += [
            OpenApiParameter("api-version", str, place, enum=versions.supported, description=version_text(versions))
            for place in (OpenApiParameter.HEADER, OpenApiParameter.QUERY)
        ]
        headers = {"X-Request-ID": REQUEST_ID_TEXT}
        if self.operation.uses_language:
            headers["Accept-Language"] = LANGUAGE_TEXT
        if self.is_conditional:
            headers["If-None-Match"] = CONDITION_TEXT
        if self.operation.is_conditional:
            headers["Prefer"] = REPLICA_TEXT
        if self.operation.writes:
            headers |= WRITING_HEADERS
            if not self.operation.tells_once:
                headers["Prefer"] = MINIMAL_TEXT
        parameters += [
            OpenApiParameter(name, str, OpenApiParameter.HEADER, description=text) for name, text in headers.items()
        ]
        return [*parameters, *self.operation.parameters]


def version_text(versions: ApiVersions) -> str:
    return f"Version of the response format. The default is {versions.default}."


def close_objects(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Complete the document: close objects, and add errors, headers and credentials to every operation."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {})["Error"] = ERROR_SCHEMA
    for kind, name in KIND_NAMES.items():
        components["schemas"][name] = _error_schema(*kind)
    components["securitySchemes"] = SECURITY_SCHEMES
    components["responses"] = {
        f"Error{status}": _error_response(status, text, [ERROR_KINDS.get(status, ("error", "volatile"))])
        for status, text in {**ERRORS, **BODY_ERRORS, **WRITING_ERRORS}.items()
    }
    components["responses"][WARNING] = _error_response("422", WARNING_TEXT, [ERROR_KINDS["422"], WARNING_KIND])
    for schema in components["schemas"].values():
        _close(schema)
    for path in result["paths"].values():
        for operation in path.values():
            _complete(operation)
    return result


def _complete(operation: dict[str, Any]) -> None:
    anonymous: list[dict[str, Any]] = [] if operation.pop("x-needs-credential", False) else [{}]
    operation["security"] = [{name: []} for name in SECURITY_SCHEMES] + anonymous
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "query" and parameter["schema"].get("type") != "boolean":
            # An empty value counts as absent.
            parameter["allowEmptyValue"] = True
    has_version = any(parameter["name"] == "api-version" for parameter in operation.get("parameters", []))
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            response["description"] = response.get("description") or "Success."
            response["headers"] = {**REQUEST_ID, **response.get("headers", {})}
            if has_version:
                response["headers"]["api-version"] = {"schema": {"type": "string"}, "required": True}
        elif status in ("400", "404", "410"):
            response["headers"] = REQUEST_ID
    if operation.pop("x-conditional", False):
        operation["responses"]["200"]["headers"]["ETag"] = ETAG
        operation["responses"]["304"] = NOT_MODIFIED
    if operation.pop("x-replica", False):
        operation["responses"]["200"]["headers"]["Preference-Applied"] = REPLICA_APPLIED
    is_writing, warns = operation.pop("x-writes", False), operation.pop("x-warns", False)
    also = (BODY_ERRORS if "requestBody" in operation else {}) | (WRITING_ERRORS if is_writing else {})
    for status in {**ERRORS, **also}:
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
    """Return a complete schema: generators of clients cannot narrow one schema by another."""
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
