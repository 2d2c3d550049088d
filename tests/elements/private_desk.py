"""The storage acme/open: anonymous readers, a facet that is not for readers, people with sign-ins, and a token.

Two users: eve, whose sign-ins and rights others try to learn, and vera, who has a deputy: eve. The process has eve as
its owner and refers to the risk, whose facet is not for readers. The token has created the tag and changed eve.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from storage.provisioning.templates import TEMPLATE_DIR

Wire = dict[str, Any]
NAMES = ("eve", "vera", "token", "tag", "risk", "risk-1", "process", "process-1")
ID = {name: f"00000000-0000-4000-a000-{number:012x}" for number, name in enumerate(NAMES, 1)}
API = "/acme/open/_api"
FACETS = f"{API}/rest/facets"
USERS = f"{FACETS}/users/views/detail/elements"
TOKENS = f"{FACETS}/automation/views/detail/elements"
RISKS = f"{FACETS}/risks/views/detail/elements"
PROCESSES = f"{FACETS}/processes/views/detail/elements"
TAGS = f"{FACETS}/tags/views/detail/elements"
LAST, FIRST, COUNT, CHANGED = "2031-05-06T07:08:09", "2029-03-04T05:06:07", 987654, "2032-10-11T12:13:14"
# Values that nobody but administrators and eve may learn, and what leads to closed elements.
SECRETS = (LAST, FIRST, str(COUNT), "Nightly import", ID["token"])
# The same for viewers and anonymous readers.
READER_SECRETS = (*SECRETS, CHANGED, "Bankruptcy", ID["risk"], ID["risk-1"])
PRIVATE = (
    "roleViewer", "roleAnalyzer", "roleEditor", "roleApprover", "roleArchitect", "roleAdministrator", "roleInactive",
    "userFirstLogin", "userLastLogin", "userLoginCount",
)  # fmt: skip


def write_template(path: Path) -> str:
    """Write the standard template with a facet that is not for readers."""
    template = json.loads((TEMPLATE_DIR / "standard.json").read_text(encoding="utf-8"))
    template["facets"]["risks"]["forReaders"] = False
    path.write_text(json.dumps(template), encoding="utf-8")
    return str(path)


def write_lines(path: Path) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in lines()), encoding="utf-8")
    return path


def lines() -> list[Wire]:
    sign_ins = {"userLastLogin": LAST, "userFirstLogin": FIRST, "userLoginCount": COUNT}
    rights = {"roleArchitect": True, "roleInactive": False}
    eve = {name: {"127": value} for name, value in {**sign_ins, **rights, "changedOn": CHANGED}.items()}
    token, owner = reference("automation", "authToken", "token"), reference("users", "user", "eve")
    number = {"version": {"127": "1.0"}}
    return [
        _element("users", "user", "eve", eve, changedBy=[token]),
        _element(
            "users", "user", "vera", {"roleViewer": {"127": True}, "userLoginCount": {"127": 3}}, deputies=[owner]
        ),
        _element("automation", "authToken", "token", {"name": {"1033": "Nightly import"}}),
        _element("tags", "tag", "tag", {}, createdBy=[token]),
        _element("risks", "risk", "risk", {"name": {"1033": "Bankruptcy"}, **number}, owner=[owner]),
        _element(
            "processes", "subProcess", "process", number, owner=[owner], risks=[reference("risks", "risk", "risk")]
        ),
    ]


def reference(facet: str, type: str, name: str) -> Wire:
    return {"facetName": facet, "id": ID[name], "type": type}


def _element(facet: str, type: str, name: str, attributes: Wire, **related: Any) -> Wire:
    is_versioned = f"{name}-1" in ID
    rest = {"versionId": ID[f"{name}-1"], "state": "released"} if is_versioned else {"creationId": ID[name]}
    named = {"name": {"1033": name.capitalize()}, "createdOn": {"127": "2028-01-02T03:04:05"}, **attributes}
    return {**reference(facet, type, name), **rest, "attributes": named, "related": related}
