"""Adds examples to the OpenAPI document: recorded requests and responses, which a test repeats and compares.

`make examples` records them again, into `examples.json`.
"""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings

from repository_site.core.rest.schema import ERROR_KINDS, WARNING, WARNING_KIND

EXAMPLES = settings.PROJECT_DIR / "repository_site/api_document/examples.json"
# Suffixes of operations that have the example of another one.
ENDINGS = ("ByPost", "UnderRest", "IgnoringWarnings")
# One message for each error status.
MESSAGES = {
    "400": "$page: expected a whole number from 1 to 1000000000, not 'x'.",
    "401": "This needs a credential. Send an API token: Authorization: Bearer <token>.",
    "403": "Lifecycle and tasks require the role Analyzer or a higher one.",
    "404": "There is no element 27a13a9d-f7bb-5426-bbfa-d9285df04370 in the view list of the facet it.",
    "405": "PUT is not allowed at this address; use GET, HEAD, POST.",
    "406": "Accept: this operation responds with application/json only.",
    "408": "The request body arrives more slowly than 8192 bytes a second. Send it faster.",
    "409": "elements[0]: name cannot be changed in the state released; create a new version",
    "412": "The element has changed since it was read; read it again.",
    "413": "1001 elements are too many for one request. Split it into requests of at most 1000.",
    "415": "The request body must have the Content-Type application/json.",
    "422": "elements[0]: the type subProcess has no such attribute",
    "429": "Too many requests; try again in 3 seconds.",
    "500": "Internal error. Report the request id 0f2c8c5e-8f2b-4bb4-9e39-5b8c2f1f5a10 to the operator.",
    "503": "Other requests are changing the same elements; send the request again.",
}
WARNING_MESSAGE = "owner: no owner is set"


def add_examples(document: dict[str, Any]) -> None:
    recorded = json.loads(EXAMPLES.read_text(encoding="utf-8")) if EXAMPLES.exists() else {}
    for path in document["paths"].values():
        for operation in path.values():
            example = example_of(operation["operationId"], recorded)
            if example is not None:
                _add(operation, example)
    for name, response in document["components"]["responses"].items():
        status = name.removeprefix("Error")[:3]
        is_warning = name == WARNING
        kind = WARNING_KIND if is_warning else ERROR_KINDS.get(status, ("error", "volatile"))
        message = WARNING_MESSAGE if is_warning else MESSAGES[status]
        body = {"message": message, "output": kind[1], "type": kind[0], "data": [{"error": message}]}
        response["content"]["application/json"]["example"] = body


def example_of(operation_id: str, recorded: dict[str, Any]) -> dict[str, Any] | None:
    name = operation_id
    for ending in ("", *ENDINGS, *ENDINGS):
        name = name.removesuffix(ending)
        if name in recorded:
            found: dict[str, Any] = recorded[name]
            return found
    return None


def _add(operation: dict[str, Any], example: dict[str, Any]) -> None:
    given = {**example["path"], **example.get("query", {})}
    for parameter in operation["parameters"]:
        if parameter["in"] in ("path", "query") and parameter["name"] in given:
            parameter["example"] = given[parameter["name"]]
    bodies = operation.get("requestBody", {}).get("content", {})
    body = bodies.get("application/json") or bodies.get("application/xml")
    if body is not None and "body" in example:
        body["example"] = example["body"]
    contents = operation["responses"]["200"]["content"]
    # Tables of a list have no example.
    for content in [contents["application/json"]] if "text/csv" in contents else contents.values():
        answer = example["answer"]
        if operation["operationId"] in ("listTransitionsByPost", "listTransitionsUnderRestByPost"):
            answer = {"count": answer["count"], "transitions": answer["values"]}
        content["example"] = answer
