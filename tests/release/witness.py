"""All readers of an element over HTTP and all responses that show it, to check which parts a step changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.release.house import ID, Wire
from tests.tags import FULL

VIEWS = ("diagram", "documentContent", "list", "reporting", "tree", "detail")
ELEMENTS = "rest/facets/processes/views/detail/elements"
PREFIXES = ("release", "rest/release")
NEW, EDIT, DELETE, SHOW, APPROVE, OPEN = (
    f"{each}Element" for each in ("New", "Edit", "Delete", "Show", "Approve", "Open")
)
GRANTED = {"anna": [NEW, EDIT, DELETE, SHOW, OPEN], "ben": [SHOW, APPROVE, OPEN], "vera": [SHOW, OPEN]}


class Reply(NamedTuple):
    status: int
    content: bytes
    etag: str | None
    """The part of the entity tag that depends on the version alone."""

    @classmethod
    def of(cls, status: int, content: bytes, tag: str | None) -> Reply:
        found = FULL.fullmatch(tag or "")
        return cls(status, content, f'"{found[1]}"' if found else None)

    @property
    def json(self) -> Any:
        return json.loads(self.content)


# Method, path, body, headers.
Send = Callable[[str, str, bytes, dict[str, str]], Reply]


@dataclass
class WireCaller:
    """A caller, and its name in the log."""

    send: Send
    token: str
    label: str
    storage: str = "acme/house"

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        content = b"" if body is None else json.dumps(body).encode()
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers |= {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        return self.send(method, f"/{self.storage}/_api/{path}", content, headers)

    def get(self, path: str) -> Any:
        reply = self.ask("GET", path)
        assert reply.status == 200, reply.content
        return reply.json

    def values(self, path: str) -> list[Wire]:
        body = self.get(path)
        found: list[Wire] = body["values"]
        assert body == {"count": len(found), "values": found}
        return found

    def elements(self, path: str) -> list[Wire]:
        body = self.get(path)
        found: list[Wire] = body["elements"]
        assert body == {"count": len(found), "elements": found}
        return found

    def post(self, path: str, body: Any = None, request: str = "") -> Wire:
        """Return the only element or task of a response."""
        reply = self.ask("POST", path, body, **({"X_Request_ID": request} if request else {}))
        assert reply.status == 200, reply.content
        found: list[Wire] = reply.json.get("elements") or reply.json.get("values")
        assert (len(found), reply.json["count"]) == (1, 1)
        return found[0]

    def refused(self, path: str, body: Any = None) -> tuple[int, Any]:
        reply = self.ask("POST", path, body)
        return reply.status, reply.json

    def status(self, path: str) -> int:
        return self.ask("GET", path).status


def part(id: str, *more: str, view: str = "detail") -> str:
    return "/".join((f"rest/facets/processes/views/{view}/elements/{id}", *more))


def refusal(text: str, type: str = "error", output: str = "dialog", data: list[str] | None = None) -> Wire:
    details = [{"error": each} for each in data or [text]]
    return {"message": text, "output": output, "type": type, "data": details}


def edited(before: Wire, **changes: Any) -> Wire:
    """Return an element after a change; parts are merged, and None removes a value."""
    found = dict(before)
    for name, value in changes.items():
        merged = {**before.get(name, {}), **value} if isinstance(value, dict) else value
        found[name] = (
            {key: each for key, each in merged.items() if each is not None} if isinstance(merged, dict) else merged
        )
    return found


def day(stamp: str) -> str:
    return f"{stamp[:10]}T00:00:00"


@dataclass
class Witness:
    people: dict[str, WireCaller]
    """The people of the house, the readers `analyzer` and `viewer`, and `rival`, a reader of another storage."""
    base: str
    """Prefix of addresses in responses."""
    turn: int = 0
    """Release operations alternate between the two prefixes."""
    element: str = ""
    first: str = ""
    second: str = ""
    """Two versions of the element."""
    lifecycle: list[Wire] = field(default_factory=list)
    history: list[Wire] = field(default_factory=list)
    """Expected log and change history, oldest first."""
    own: set[str] = field(default_factory=set)
    """Ids of all elements that the story has created."""

    def __post_init__(self) -> None:
        self.anna, self.ben, self.vera = (self.people[name] for name in ("anna", "ben", "vera"))
        self.others_before = self.others()

    @property
    def prefix(self) -> str:
        self.turn += 1
        return PREFIXES[self.turn % 2]

    def user(self, name: str) -> Wire:
        address = f"{self.base}/rest/facets/users/views/detail/elements/{ID[name]}"
        return {"facetName": "users", "id": ID[name], "creationId": ID[name], "type": "user", "expandUri": address}

    def version(self, id: str, state: str) -> Wire:
        identity = {"facetName": "processes", "id": self.element, "versionId": id, "type": "subProcess", "state": state}
        return {**identity, "expandUri": f"{self.base}/{part(id)}"}

    def read(self, id: str, name: str = "anna") -> Wire:
        [found] = self.people[name].elements(part(id))
        return found

    def pages(self, id: str) -> dict[tuple[str, str], Reply]:
        """Return all responses of operations 4, 6, 7, 8 and 10 about a version through every view, for editors and
        viewers."""
        found: dict[tuple[str, str], Reply] = {}
        for name in ("analyzer", "viewer"):
            person = self.people[name]
            for view in VIEWS:
                related = person.ask("GET", part(id, "related", view=view))
                found[name, f"{view} related"] = related
                paths = [part(id, *more, view=view) for more in ((), ("attributes",), ("content",))]
                paths += [part(id, "related", context, view=view) for context in related.json["values"]]
                found |= {(name, path): person.ask("GET", path) for path in paths}
            # The version of the parent depends on the reader (D6) and is not part of the element.
            drawn = [each["id"] for each in found[name, part(id, "content")].json["elements"]]
            paths = [part(f"{each}?$resources=displayNames,attributes,related") for each in drawn]
            paths.append(part(id, f"related?$expandRelated={','.join(related.json['values'])}"))
            found |= {(name, path): person.ask("GET", path) for path in paths}
        assert {each.status for each in found.values()} == {200}
        return found

    def glance(self, *ids: str) -> list[Reply]:
        """Return a short form of `pages`."""
        return [self.people["analyzer"].ask("GET", part(id, *more)) for id in ids for more in ((), ("content",))]

    def others(self) -> list[Wire]:
        """Return everything outside this story."""
        found = [each for each in self.people["analyzer"].elements(ELEMENTS) if self.is_other(each)]
        for each in found:
            for name in ("children", "content"):
                if name in each:
                    each[name] = [one for one in each[name] if one["id"] not in self.own]
        return found

    def everything_of_the_rival(self) -> bytes:
        return self.people["rival"].ask("GET", ELEMENTS).content

    def check_others(self) -> None:
        assert self.others() == self.others_before

    def is_other(self, each: Wire) -> bool:
        return each["id"] not in self.own and self.element not in [one["id"] for one in each.get("rootPath", ())]

    def check_views(self, *versions: str, shown: str | None) -> None:
        """Check the versions and the version that a viewer sees."""
        every = [self.read(each) for each in versions]
        assert self.anna.elements(part(self.element, "versions")) == every
        assert self.read(self.element) == every[-1]
        released = [self.version(each["versionId"], each["state"]) for each in every if "relOn" in each["attributes"]]
        assert [each["related"].get("releaseHistory", []) for each in every] == [released] * len(every)
        hidden = [part(each) for each in versions if each != shown]
        if shown is None:
            hidden += [part(self.element), part(self.element, "versions")]
        else:
            [seen] = [each for each in every if each["versionId"] == shown]
            seen = edited(seen, related={"releaseHistory": [self.version(shown, seen["state"])]})
            for path in (part(shown), part(self.element), part(self.element, "versions")):
                assert self.vera.elements(path) == [seen]
        assert [self.vera.status(path) for path in hidden] == [404] * len(hidden)

    def check_records(self) -> None:
        """Check log and change history, whichever version is addressed; viewers cannot read them."""
        assert self.anna.values(part(self.element, "lifecycle")) == self.lifecycle
        assert self.anna.values(part(self.first, "history")) == self.history[::-1]
        for name in ("lifecycle", "history"):
            assert self.vera.status(part(self.first, name)) == 403

    def note(self, by: str, request: str, on: str) -> Wire:
        return {"changedOn": on, "caller": self.people[by].label, "requestId": request, "changedBy": self.user(by)}

    def took(self, step: str, id: str, number: str, to: str, *, by: str, request: str, on: str, **more: Any) -> None:
        """Expect a step in the lifecycle log."""
        own = {"number": len(self.lifecycle) + 1, "step": step, "versionId": id, "version": number, "toState": to}
        self.lifecycle.append({**own, **self.note(by, request, on), **more})

    def changed(self, action: str, id: str, before: Any, after: Any, *, by: str, request: str, on: str) -> None:
        """Expect a change in the change history."""
        own = {"versionId": id, "action": action, "before": before, "after": after}
        self.history.append({**own, **self.note(by, request, on)})

    def check_info(self, id: str, name: str, lock: str, text: str) -> None:
        """Check operation 12 in full."""
        granted, is_locked = GRANTED[name], lock != "None"
        may_insert = NEW in granted
        expected = {
            "elementTypeName": "SubProcessDiagram",
            "entityIds": [id],
            "entityTypeName": "SubProcess",
            "facetTypeName": "Processes",
            "facetViewKey": "Detail",
            "hasDiagram": True,
            "hasEditPermission": EDIT in granted,
            "id": id,
            "insertableDynamicTypes": {},
            "isCurrentCopyable": False,
            # New elements can still be created below it.
            "isCurrentInsertable": may_insert,
            "isCurrentMovable": not is_locked,
            "isCurrentRemovable": not is_locked,
            "isReadOnly": is_locked,
            "isReadOnlyCollection": not may_insert,
            "name": text,
            "permissions": granted,
            "readOnlyCollectionContext": "None" if may_insert else lock,
            "readOnlyContext": lock,
            "rootPath": [id],
            "shapeId": id,
            "typeColor": "#007ACC",
            "uid": f"_{id}",
        }
        assert self.people[name].values(part(id, "info")) == [expected]

    def check_drawn_info(self, drawn: Wire, name: str, lock: str) -> None:
        shape, is_locked = drawn["properties"]["shapeId"], lock != "None"
        [found] = self.people[name].values(part(drawn["id"], "info"))
        assert found["entityIds"] == [drawn["id"], shape]
        flags = ("isReadOnly", "readOnlyContext", "isCurrentRemovable", "permissions", "shapeId")
        assert [found[each] for each in flags] == [is_locked, lock, not is_locked, GRANTED[name], shape]

    def check_offers(self, id: str, offers: dict[str, dict[str, str]], source: str) -> None:
        """Check the offered transitions by GET and POST; others are refused."""
        for name in ("anna", "ben"):
            offered = [
                {"transitionId": each, "sourceState": source, "targetState": target}
                for each, target in offers.get(name, {}).items()
            ]
            assert self.people[name].values(f"{self.prefix}/{id}/transitions") == offered
            posted = self.people[name].ask("POST", f"{self.prefix}/{id}/transitions")
            assert (posted.status, posted.json) == (200, {"count": len(offered), "transitions": offered})

    def check_closed(self, id: str, drawn: Wire, state: str) -> None:
        """Check that a version outside draft cannot be changed in any way."""
        before = self.glance(id, drawn["id"])
        way_out = (
            "send it back first" if state in ("inReview", "readyForQa", "readyForRelease") else "create a new version"
        )
        again = f"in the state {state}; {way_out}."
        texts = {"attributes": {"name": {"1033": "Late"}}}
        where = f"elements[0] {id}"
        assert self.anna.refused(ELEMENTS, {"elements": [{"versionId": id, **texts}]}) == (
            409, refusal(f"{where}: name cannot be changed {again}"))  # fmt: skip
        assert self.anna.refused(ELEMENTS, {"elements": [{"id": drawn["id"], **texts}]}) == (
            409, refusal(f"elements[0] {drawn['id']}: name cannot be changed {again}"))  # fmt: skip
        item = {"shapeInfo": {"index": 0}, "element": {"type": "task", **texts}}
        assert self.anna.refused(part(id, "content"), {"values": [item]}) == (
            409, refusal(f"{id}: the diagram cannot be changed {again}"))  # fmt: skip
        erased = part(id, "content", drawn["properties"]["shapeId"], "delete")
        assert self.anna.refused(erased) == (409, refusal(f"{id}: the diagram cannot be changed {again}"))
        assert self.anna.refused(part(id, "delete"))[0] == 409
        assert self.glance(id, drawn["id"]) == before

    def drawn(self, shown: Wire) -> Wire:
        """Return the reference of an element to the content of its diagram."""
        keys = ("facetName", "id", "versionId", "creationId", "type", "state", "stereotype")
        found = {key: shown[key] for key in keys if key in shown}
        return {**found, "expandUri": f"{self.base}/{part(str(shown.get('versionId', shown['id'])))}"}
