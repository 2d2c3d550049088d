"""Hooks of the fuzzer (`SCHEMATHESIS_HOOKS`): the caller of each request, and forbidden content of responses."""

from __future__ import annotations

import itertools
import json
import os
import re
from typing import Any

import schemathesis

AUTHORIZATION = "Authorization"
GUID = re.compile(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{27}")
FORBIDDEN: dict[str, list[str]] = json.loads(os.environ["ATTACK_CALLERS"])
"""Forbidden prefixes and words by credential; the credential of an anonymous caller is empty."""
_turns = itertools.cycle(FORBIDDEN)


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Choose the callers in turn."""
    case.headers = {name: value for name, value in (case.headers or {}).items() if name.title() != AUTHORIZATION}
    if credential := next(_turns):
        case.headers[AUTHORIZATION] = credential


@schemathesis.check
def nothing_of_another_tenant(context: Any, response: Any, case: Any) -> None:
    """Ignore ids that the request itself contains, as in "There is no element ...", and names that an error repeats."""
    answer = f"{response.content.decode('utf-8', 'replace')} {response.headers}"
    asked = f"{case.path_parameters} {case.query} {case.headers} {case.body}"
    for each in GUID.findall(asked):
        answer = answer.replace(each, "")
    for each in FORBIDDEN[response.request.headers.get(AUTHORIZATION, "")]:
        is_repeated = response.status_code >= 400 and each in asked
        if each in answer and not is_repeated:
            raise AssertionError(f"{each} of another storage stands in the answer.")
