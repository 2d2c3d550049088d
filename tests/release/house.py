"""The storage acme/house of the release tests, from nearly the standard template, with short names for ids.

People: anna edits; ben, dora and eve approve (eve is inactive); cora administers; the group crew has ben and dora.
There is one sub process in each state, named after the state, each with a diagram of start, task and end. `order` has
an expired version 1.0 and a published version 2.0. Two tenants have the same ids to detect leaks.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from storage.models import Storage
from storage.options import Role
from storage.provisioning.templates import TEMPLATE_DIR
from tests.api_client import ApiClient
from tests.factories import token_for

Wire = dict[str, Any]
STATES = (
    "inProcess", "inReview", "readyForQa", "readyForRelease", "released", "inEffect", "requestToExpire", "expired",
)  # fmt: skip
PUBLISHED = ("released", "inEffect", "requestToExpire")
PEOPLE = {
    "anna": (Role.EDITOR,),
    "ben": (Role.APPROVER,),
    "cora": (Role.ADMINISTRATOR,),
    "dora": (Role.APPROVER,),
    "eve": (Role.APPROVER,),
    "vera": (Role.VIEWER,),
}
NAMES = (
    *PEOPLE, "crew", "house", "house-1", "order", "order-1", "order-2", "erp", "erp-1",
    *(f"{state}{part}" for state in STATES for part in ("", "-1", "-start", "-task", "-end", "-s1", "-s2", "-s3")),
    *(f"order-{number}-{part}" for number in (1, 2) for part in ("start", "task", "end", "s1", "s2", "s3")),
)  # fmt: skip
ID = {name: f"00000000-0000-4000-8000-{number:012x}" for number, name in enumerate(NAMES, 1)}
API = "/acme/house/_api"
BASE = f"http://testserver{API}"
DETAIL = f"{API}/rest/facets/processes/views/detail/elements"
NO_END = "9999-12-31T00:00:00"


def reference(facet: str, type: str, name: str) -> Wire:
    return {"facetName": facet, "id": ID[name], "type": type}


def user(name: str) -> Wire:
    return reference("users", "user", name)


def lines(prefix: str = "") -> list[Wire]:
    """Return the elements as lines of a transfer file."""
    found = [_person(name) for name in PEOPLE]
    found.append(_unversioned("usergroups", "userGroup", "crew", {"name": {"1033": f"{prefix}Crew"}}))
    found += [
        _versioned("processes", "mainProcess", "house", {"name": {"1033": f"{prefix}House"}}),
        _versioned("it", "system", "erp", {"name": {"1033": f"{prefix}ERP"}}),
    ]
    found[-2]["children"] = [reference("processes", "subProcess", name) for name in ("order", *STATES)]
    for state in STATES:
        found += _process(state, f"{state}-1", state, "1.0" if state in (*PUBLISHED, "expired") else "0.1", prefix)
    found += _process("order", "order-1", "expired", "1.0", prefix)
    found += _process("order", "order-2", "released", "2.0", prefix)
    return found


def write_lines(path: Path, prefix: str = "") -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines(prefix)), encoding="utf-8")
    return path


def write_template(path: Path, rules: Wire | None = None) -> str:
    """Write the standard template with a release cycle that asks for no tasks in review, as older ones."""
    template = json.loads((TEMPLATE_DIR / "standard.json").read_text(encoding="utf-8"))
    for state in template["releaseCycles"]["standard"]["states"].values():
        state.pop("task", None)
    template["validationRules"] |= rules or {}
    path.write_text(json.dumps(template), encoding="utf-8")
    return str(path)


def _person(name: str) -> Wire:
    attributes: Wire = {f"role{role.value.capitalize()}": {"127": True} for role in PEOPLE[name]}
    attributes |= {"name": {"1033": name.capitalize()}, "roleInactive": {"127": name == "eve"}}
    line = _unversioned("users", "user", name, attributes)
    if name in ("ben", "dora"):
        line["related"] = {"userGroups": [reference("usergroups", "userGroup", "crew")]}
    return line


def _unversioned(facet: str, type: str, name: str, attributes: Wire) -> Wire:
    return {"facetName": facet, "id": ID[name], "creationId": ID[name], "type": type, "attributes": attributes}


def _versioned(facet: str, type: str, name: str, attributes: Wire) -> Wire:
    number = {"version": {"127": "1.0"}}
    identity = {"facetName": facet, "id": ID[name], "versionId": ID[f"{name}-1"], "type": type, "state": "released"}
    return {**identity, "attributes": {**attributes, **number}}


def _process(element: str, version: str, state: str, number: str, prefix: str) -> list[Wire]:
    """Return a version with its diagram: three elements that live only there."""
    parts = element if version == f"{element}-1" and element in STATES else version
    types = {"start": "evStart", "task": "task", "end": "evEnd"}
    drawn = [
        _unversioned("processes", type, f"{parts}-{part}", {"name": {"1033": f"{prefix}{part} of {version}"}})
        for part, type in types.items()
    ]
    content = [
        {
            **reference("processes", type, f"{parts}-{part}"),
            "properties": {
                "shapeId": ID[f"{parts}-s{place}"],
                "predecessors": [{"properties": {"shapeId": ID[f"{parts}-s{place - 1}"]}}] if place > 1 else [],
            },
        }
        for place, (part, type) in enumerate(types.items(), 1)
    ]
    released = {"relOn": {"127": "2026-01-05T10:00:00"}, "validFrom": {"127": "2026-01-05T00:00:00"}}
    ended = {"validUntil": {"127": "2026-02-01T00:00:00" if state == "expired" else NO_END}}
    line = {
        "facetName": "processes", "id": ID[element], "versionId": ID[version], "type": "subProcess", "state": state,
        "attributes": {
            "name": {"1031": f"{prefix}{version} deutsch", "1033": f"{prefix}{version}"},
            "reasonForRevision": {"1033": "Because."},
            "purp": {"1033": "Purpose"},
            "version": {"127": number},
            "createdOn": {"127": "2026-01-02T08:00:00"},
            "changedOn": {"127": "2026-01-03T09:00:00"},
            **ended,
            **(released if state in (*PUBLISHED, "expired") else {}),
        },
        "related": {
            "author": [user("anna")], "owner": [user("ben")], "systems": [reference("it", "system", "erp")],
            "createdBy": [user("anna")], "changedBy": [user("anna")],
            **({"relBy": [user("ben")]} if state in (*PUBLISHED, "expired") else {}),
        },
        "content": content,
    }  # fmt: skip
    return [*drawn, line]


class HouseClient:
    """A caller of the API of acme/house, with a token of its own."""

    def __init__(self, storage: Storage, api: ApiClient, *roles: Role, user: str | None = None) -> None:
        self.storage, self.api = storage, api
        options = {"user_id": ID[user]} if user else {}
        self.token = token_for(storage, *(roles or PEOPLE[user or "cora"]), **options)

    def get(self, path: str, **headers: str) -> Any:
        return self.api.get(f"{API}/{path}", token=self.token, headers=headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        content = b"" if body is None else json.dumps(body).encode()
        return self.api.post(
            f"{API}/{path}", content, content_type="application/json", token=self.token, headers=headers
        )

    def offered(self, name: str) -> list[str]:
        """Return the transitions that this caller can apply to an element or version."""
        response = self.get(f"release/{ID.get(name, name)}/transitions")
        assert response.status_code == 200, response.content
        return [each["transitionId"] for each in response.json()["values"]]

    def apply(self, name: str, transition: str, query: str = "", body: Any = None) -> Any:
        return self.post(f"release/{ID.get(name, name)}/transitions/{transition}{query}", body)

    def applied(self, name: str, transition: str, query: str = "?ignoreWarnings=true", body: Any = None) -> Wire:
        """Return the element after a transition that must succeed."""
        return one(self.apply(name, transition, query, body))

    def new_version(self, name: str) -> Wire:
        return one(self.post(f"release/{ID.get(name, name)}/createversion"))

    def element(self, name: str, query: str = "") -> Wire:
        return one(self.get(f"rest/facets/processes/views/detail/elements/{ID.get(name, name)}{query}"))

    def update(self, *elements: Wire) -> Any:
        return self.post("rest/facets/processes/views/detail/elements", {"elements": list(elements)})

    def steps(self, name: str, query: str = "") -> list[Wire]:
        response = self.get(f"rest/facets/processes/views/detail/elements/{ID.get(name, name)}/lifecycle{query}")
        assert response.status_code == 200, response.content
        found: list[Wire] = response.json()["values"]
        return found

    def tasks(self, query: str = "") -> list[Wire]:
        response = self.get(f"rest/tasks{query}")
        assert response.status_code == 200, response.content
        found: list[Wire] = response.json()["values"]
        return found


MakeClient = Callable[..., HouseClient]


def one(response: Any) -> Wire:
    assert response.status_code == 200, response.content
    body = response.json()
    found = body.get("elements") or body.get("values")
    assert body["count"] == len(found) == 1
    element: Wire = found[0]
    return element


def error(response: Any) -> tuple[int, str, str, list[str]]:
    """Return status, type, output and texts of an error."""
    body = response.json()
    return response.status_code, body["type"], body["output"], [each["error"] for each in body["data"]]
