"""Loaded by the fuzzer (`SCHEMATHESIS_HOOKS`): what no answer may hold."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import schemathesis

GUID = re.compile(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{27}")
FORBIDDEN: list[str] = json.loads(os.environ["ATTACK_FORBIDDEN"])
"""What only the other storage holds: how its ids begin, and a word."""


@schemathesis.check
def nothing_of_another_tenant(context: Any, response: Any, case: Any) -> None:
    """What the request names may be named in the answer: "There is no element ..."."""
    answer = f"{response.content.decode('utf-8', 'replace')} {response.headers}"
    asked = f"{case.path_parameters} {case.query} {case.headers} {case.body}"
    for each in GUID.findall(asked):
        answer = answer.replace(each, "")
    for each in FORBIDDEN:
        if each in answer:
            raise AssertionError(f"{each} of another storage stands in the answer.")
