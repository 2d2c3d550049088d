"""Bulk requests of SCIM (RFC 7644, 3.7): each operation is a transaction of its own, in the order of its references."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson
from scim2_models import InvalidSyntaxException, InvalidValueException

from repository_site.core.problems import Problem, TooLarge
from storage.scim.resources import MOST_OPERATIONS

if TYPE_CHECKING:
    from storage.scim.protocol import Exchange, ScimReply

BULK = "urn:ietf:params:scim:api:messages:2.0:BulkResponse"
REFERENCE = re.compile(r"bulkId:([^\"/\\]+)")
METHODS = ("POST", "PUT", "PATCH", "DELETE")


def perform_bulk(exchange: Exchange, data: dict[str, Any]) -> ScimReply:
    """Perform the operations of a bulk request. An operation waits for the ids that it refers to."""
    from storage.scim.protocol import ScimReply

    operations = data.get("Operations")
    if not isinstance(operations, list) or not all(isinstance(each, dict) for each in operations):
        raise InvalidSyntaxException(detail="Operations: expected a list of objects.")
    if len(operations) > MOST_OPERATIONS:
        raise TooLarge(f"A bulk request has at most {MOST_OPERATIONS} operations.")
    allowed = data.get("failOnErrors")
    if not (allowed is None or (isinstance(allowed, int) and allowed > 0)):
        raise InvalidValueException(detail="failOnErrors: expected a positive number.")
    results: dict[int, dict[str, Any]] = {}
    ids: dict[str, str] = {}
    waiting, errors = dict(enumerate(operations)), 0
    while waiting and (allowed is None or errors < allowed):
        # Without an operation whose references are known, the others refer to failed ones, or to each other.
        ready = next((number for number, each in waiting.items() if _references(each) <= ids.keys()), min(waiting))
        each = waiting.pop(ready)
        results[ready] = _result(exchange, each, ids)
        errors += int(results[ready]["status"]) >= 400
    return ScimReply(200, {"schemas": [BULK], "Operations": [results[number] for number in sorted(results)]})


def _references(operation: dict[str, Any]) -> set[str]:
    text = orjson.dumps([operation.get("path"), operation.get("data")]).decode()
    return set(REFERENCE.findall(text))


def _result(exchange: Exchange, given: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    from storage.scim.protocol import ScimOperation, refusal

    method, bulk_id = str(given.get("method", "")).upper(), given.get("bulkId")
    path = _resolved(str(given.get("path") or ""), ids).strip("/")
    try:
        if problem := _problem(method, path, bulk_id, _references(given) - ids.keys()):
            raise InvalidValueException(detail=problem)
        body = _resolved(orjson.dumps(given.get("data")).decode(), ids).encode()
        reply = exchange.perform(ScimOperation(method, path.split("/"), body, if_match=str(given.get("version") or "")))
    except (InvalidValueException, Problem) as refused:
        reply = refusal(refused)
    location = reply.headers.get("Location") or (f"{exchange.base}/{path}" if method != "POST" else "")
    if method == "POST" and reply.status < 300:
        ids[str(bulk_id)] = location.rpartition("/")[2]
    found = {"method": method, "status": str(reply.status)}
    found |= {"bulkId": bulk_id} if isinstance(bulk_id, str) else {}
    found |= {"location": location} if location else {}
    found |= {"version": reply.headers["ETag"]} if "ETag" in reply.headers else {}
    return {**found, "response": reply.body} if reply.status >= 400 else found


def _resolved(text: str, ids: dict[str, str]) -> str:
    return REFERENCE.sub(lambda found: ids.get(found[1], found[0]), text)


def _problem(method: str, path: str, bulk_id: Any, unknown: set[str]) -> str:
    if method not in METHODS:
        return f"method: expected one of {', '.join(METHODS)}."
    if path.partition("/")[0] not in ("Users", "Groups"):
        return "path: expected /Users or /Groups, with an id for a change."
    if method == "POST" and not (isinstance(bulk_id, str) and bulk_id):
        return "bulkId: a POST needs one."
    return f"bulkId:{min(unknown)} is not the id of a created resource." if unknown else ""
