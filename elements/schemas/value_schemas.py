"""JSON Schemas for the values of each data type (D16): the rules of `values/checking.py`, as far as a schema can
express them (D141).

Pure. Patterns mean the same in Python and ECMAScript; they end with a lookahead for the end, because `$` also matches
before a final line break in Python.
"""

from __future__ import annotations

from typing import Any

from elements.values.checking import MAX_INTEGER
from elements.values.files import FILE_FIELDS, STORED
from facets.blueprint.data_types import DataType

Schema = dict[str, Any]

END = r"(?![\s\S])"
_BREAKS = r"\n\r\u000b\f\u0085\u2028\u2029"
_DAY = (
    r"(?!0000)[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    r"|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    r"|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29"
)
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,7})?"
_IGNORED = r"[\s\u0000-\u0020\u007f-\u00a0\u00ad\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]*"
_SCHEMES = ("javascript", "vbscript", "livescript", "mocha", "data")


def _spelled(word: str) -> str:
    """Match any letter case, and the characters that browsers ignore between letters."""
    return "".join(f"[{letter}{letter.upper()}]{_IGNORED}" for letter in word)


RUNS_CODE = f"^{_IGNORED}(?:{'|'.join(map(_spelled, _SCHEMES))}):"
_TEXT: Schema = {"type": "string", "not": {"pattern": r"\u0000"}}
_LINE: Schema = {"type": "string", "not": {"pattern": rf"[\u0000{_BREAKS}]"}}
_ADDRESS: Schema = {"type": "string", "not": {"pattern": RUNS_CODE}}
_LINK: Schema = {
    "type": "object",
    "properties": {name: _ADDRESS if name.lower().endswith("address") else {"type": "string"} for name in FILE_FIELDS},
    "required": ["address"],
    "additionalProperties": False,
}
_STORED_FILE: Schema = {
    "type": "object",
    "description": "A file of the storage: write its `id`, or the whole object that was read.",
    "properties": {
        **{name: {"type": "string"} for name in FILE_FIELDS},
        "address": {"type": "string", "format": "uuid"},
        "id": {"type": "string", "format": "uuid"},
        "protocol": {"const": STORED},
        "size": {"type": "integer", "minimum": 0},
    },
    "anyOf": [{"required": ["id"]}, {"required": ["address", "protocol"]}],
    "additionalProperties": False,
}

VALUES: dict[DataType, Schema] = {
    DataType.SINGLE_LINE_TEXT: _LINE,
    DataType.MULTI_LINE_TEXT: _TEXT,
    DataType.HTML: {
        **_TEXT,
        "contentMediaType": "application/xhtml+xml",
        "description": "Well-formed markup without scripts; the server adds a missing XML declaration.",
    },
    DataType.BOOLEAN: {"type": "boolean"},
    DataType.INTEGER: {"type": "integer", "minimum": -MAX_INTEGER - 1, "maximum": MAX_INTEGER},
    DataType.DECIMAL: {"type": "number"},
    DataType.DATE: {"type": "string", "format": "date", "pattern": f"^(?:{_DAY}){END}"},
    DataType.DATE_TIME: {
        "type": "string",
        "pattern": f"^(?:{_DAY})T{_TIME}{END}",
        "description": "Local to the time zone of the storage, such as 2026-12-31T13:45:00.",
    },
    DataType.URL: {"type": "string", "allOf": [{"not": _LINE["not"]}, {"not": _ADDRESS["not"]}]},
    DataType.FILES: {"type": "array", "items": {"anyOf": [_LINK, _STORED_FILE]}},
}
"""Return the schemas by data type, except for the two whose values the attribute defines."""
