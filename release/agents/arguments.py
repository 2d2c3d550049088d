"""Arguments of a tool, checked against the part of JSON Schema that the tools use; all problems are reported at once.

Pure. The same schemas tell agents what a tool takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from repository_site.core.problems import Unreadable, placed
from repository_site.core.wording import GUID, listed, printable, similar_hint

Schema = dict[str, Any]
KINDS: Mapping[str, tuple[type, str]] = {
    "string": (str, "a text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
    "object": (dict, "an object"),
    "array": (list, "a list"),
}


def object_schema(properties: Mapping[str, Schema], *required: str) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def check_arguments(schema: Schema, given: Mapping[str, Any]) -> None:
    known: Mapping[str, Schema] = schema["properties"]
    problems = [
        placed(printable(name, 40), f"unknown argument{similar_hint(name, known, place)}.")
        for place, name in enumerate(given)
        if name not in known
    ]
    problems += [placed(name, "is missing.") for name in schema["required"] if given.get(name) is None]
    for name, value in given.items():
        # Null is the same as a missing argument.
        if name in known and value is not None and (problem := _problem(known[name], value)):
            problems.append(placed(name, problem))
    if problems:
        raise Unreadable(problems[0] if len(problems) == 1 else f"{len(problems)} arguments are invalid.", problems)


def _problem(schema: Schema, value: Any) -> str:
    kind, expected = KINDS[schema["type"]]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return f"expected {expected}."
    if "enum" in schema and value not in schema["enum"]:
        return f"expected {listed(schema['enum'], 'or')}, not {printable(str(value), 40)!r}."
    if isinstance(value, str):
        if schema.get("format") == "uuid" and not GUID.fullmatch(value):
            return f"{printable(value, 40)!r} is not a GUID."
        if len(value) > schema.get("maxLength", len(value)):
            return f"more than {schema['maxLength']} characters."
    if kind is int and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return f"expected a whole number from {schema['minimum']} to {schema['maximum']}."
    return ""
