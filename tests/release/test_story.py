"""The life of a sub process from its first drawing to its end, over HTTP, as the specification tells it: each step with its
whole answers, with everything that shows it, and with everything that must not have changed (D17 to D23).

`test_release_under_load.py` tells it again to a real server.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import timezone

from storage.access.tokens import issue_token
from storage.models import Storage
from storage.models.roles import Role
from tests.api_client import ApiClient
from tests.factories import storage_context
from tests.release.house import ID, NO_END, PEOPLE, Wire
from tests.release.log_check import check_lifecycles
from tests.release.witness import ELEMENTS, Person, Reply, Send, Witness, day, edited, part, refusal

pytestmark = [pytest.mark.django_db, pytest.mark.long]
OUT_OF_DRAFT = {
    "anna": {"InProcessToInReview": "inReview", "InProcessToReadyForQA": "readyForQa",
             "InProcessToReadyForRelease": "readyForRelease"},
    "ben": dict.fromkeys(("InProcessToReleased", "InProcessToReleasedQA", "InProcessToReleasedExternal"), "released"),
}  # fmt: skip
EXPIRY = {"ReleasedToRequestToExpire": "requestToExpire"}


@dataclass
class Story(Witness):
    is_thorough: bool = False
    """Looks at every byte of the earlier version after each small step, too."""

    def create_and_draw(self) -> None:
        """A new draft, and the first content of its diagram, by operation 11."""
        made = {"type": "subProcess", "attributes": {"name": {"1033": "Hire"}}, "rootPath": [{"id": ID["house"]}]}
        new = self.anna.post(ELEMENTS, {"elements": [made]}, "create")
        self.element, self.first = new["id"], new["versionId"]
        self.own.add(self.element)
        items: list[Wire] = [
            {"shapeInfo": {"index": 0}, "element": {"type": "evStart", "attributes": {"name": {"1033": "Start"}}}},
            {"shapeInfo": {"index": 1, "predecessors": [0]},
             "element": {"type": "task", "attributes": {"name": {"1031": "Suchen", "1033": "Search"}}}},
            {"shapeInfo": {"index": 2, "predecessors": [1]}, "element": {"type": "subProcess", "id": ID["released"]}},
            {"shapeInfo": {"index": 3, "predecessors": [1, 2]}, "element": {"type": "evEnd", "attributes": {}}},
        ]  # fmt: skip
        drawn = self.anna.ask(
            "POST", part(self.first, "content", view="diagram"), {"values": items}, X_Request_ID="draw"
        )
        shapes = [each["id"] for each in drawn.json["values"]]
        assert (drawn.status, drawn.json) == (200, {"values": [{"id": id, "index": n} for n, id in enumerate(shapes)]})
        content = self.anna.elements(part(self.first, "content"))
        assert [each["properties"]["shapeId"] for each in content] == shapes
        assert [each["type"] for each in content] == ["evStart", "task", "subProcess", "evEnd"]
        before = [[one["properties"]["shapeId"] for one in each["properties"]["predecessors"]] for each in content]
        assert before == [[], [shapes[0]], [shapes[1]], [shapes[1], shapes[2]]]
        self.own |= {each["id"] for each in content if each["type"] != "subProcess"}
        read = self.read(self.first)
        self.changed(
            "created", self.first, {"attributes": {"name[1033]": None}, "related": {"author": []}, "parent": None},
            {"attributes": {"name[1033]": "Hire"}, "related": {"author": [ID["anna"]]}, "parent": ID["house"]},
            by="anna", request="create", on=new["attributes"]["changedOn"]["127"],
        )  # fmt: skip
        self.changed(
            "drawn", self.first, {}, {
                "shapes": [{"shapeId": shape, "element": each["id"]} for shape, each in zip(shapes, content, strict=True)],
                "flows": [{"shapeId": shapes[one], "predecessor": shapes[other]} for one, other in ((1, 0), (2, 1), (3, 1), (3, 2))],
            }, by="anna", request="draw", on=read["attributes"]["changedOn"]["127"],
        )  # fmt: skip
        assert read["attributes"] == {
            **new["attributes"],
            "changedOn": read["attributes"]["changedOn"],
            "validUntil": {"127": NO_END},
            "version": {"127": "0.1"},
            "state1": {"127": "inProcess"},
            "isReleased": {"127": False},
        }
        self.check_views(self.first, shown=None)
        self.check_records()
        self.check_info(self.first, "anna", "None", "Hire")
        self.check_info(self.first, "ben", "Never", "Hire")
        self.check_drawn_info(content[1], "anna", "None")
        self.check_offers(self.first, OUT_OF_DRAFT, "inProcess")

    def release_with_warnings(self) -> None:
        """An editor cannot, an approver is warned, and then does it all the same."""
        before, content = self.read(self.first), self.anna.elements(part(self.first, "content"))
        path = f"{self.prefix}/{self.element}/transitions/InProcessToReleased"
        text = f"InProcessToReleased of subProcess {self.first} needs the permission ApproveElement."
        assert self.anna.refused(path) == (403, refusal(text, "unauthorized", "volatile"))
        warnings = [
            f"subProcess {self.first}: no owner is set (owner).",
            f"subProcess {self.first}: no reason for the revision is given (reasonForRevision).",
        ]
        for ending in ("", "?ignoreWarnings=false", "/false"):
            assert self.ben.refused(path + ending) == (
                422, refusal("The element has 2 warnings. To apply the transition anyway, send ignoreWarnings=true.",
                             "warning", data=warnings))  # fmt: skip
        self.check_views(self.first, shown=None)
        self.check_records()
        assert self.read(self.first) == before
        after = self.ben.post(f"{path}?ignoreWarnings=true", {"comment": "Good enough."}, "release")
        on = after["attributes"]["relOn"]["127"]
        released = {"relOn": {"127": on}, "validFrom": {"127": day(on)}, "version": {"127": "1.0"}}
        assert after == edited(
            before,
            state="released",
            attributes={
                **released, "changedOn": {"127": on}, "isReleased": {"127": True}, "state1": {"127": "released"},
            },
            related={
                "changedBy": [self.user("ben")],
                "relBy": [self.user("ben")],
                "releaseHistory": [self.version(self.first, "released")],
            },
        )  # fmt: skip
        self.took(
            "transition", self.first, "1.0", "released", fromState="inProcess", transitionId="InProcessToReleased",
            comment="Good enough.", ignoredWarnings=warnings, by="ben", request="release", on=on,
        )  # fmt: skip
        self.changed(
            "transitioned", self.first, {"state": "inProcess", "version": "0.1", "relOn": None, "validFrom": None},
            {"state": "released", "version": "1.0", "relOn": on, "validFrom": day(on)},
            by="ben", request="release", on=on,
        )  # fmt: skip
        self.check_views(self.first, shown=self.first)
        self.check_records()
        self.check_info(self.first, "anna", "All", "Hire")
        self.check_info(self.first, "ben", "Never", "Hire")
        self.check_info(self.first, "vera", "Never", "Hire")
        self.check_drawn_info(content[1], "anna", "Diagram")
        self.check_offers(self.first, {"anna": EXPIRY}, "released")
        assert self.anna.elements(part(self.first, "content")) == content
        assert self.vera.elements(part(self.first, "content")) == content
        self.check_closed(self.first, content[1], "released")
        again = f"subProcess {self.first} is in the state released, InProcessToReleased is not offered; nothing is offered now."
        assert self.ben.refused(path) == (409, refusal(again))
        self.check_others()

    def make_a_new_version(self) -> None:
        """A copy to work with; every byte of the earlier version stays as it is, for everybody who reads it."""
        before = self.read(self.first)
        self.pages_before = self.pages(self.first)
        old = self.anna.elements(part(self.first, "content"))
        text = f"A new version of subProcess {self.first} needs the permission EditElement."
        path = f"{self.prefix}/{self.element}/createversion"
        assert self.ben.refused(path) == (403, refusal(text, "unauthorized", "volatile"))
        new = self.anna.post(path, request="version")
        self.second, on = new["versionId"], new["attributes"]["changedOn"]["127"]
        pointed = {
            lcid: f"{address[: -len(self.first)]}{self.second}"
            for lcid, address in before["attributes"]["gotoUrl"].items()
        }
        content = self.anna.elements(part(self.second, "content"))
        assert new == edited(
            before,
            versionId=self.second,
            state="inProcess",
            attributes={
                "changedOn": {"127": on}, "createdOn": {"127": on}, "gotoUrl": pointed, "isReleased": {"127": False},
                "relOn": None, "state1": {"127": "inProcess"}, "validFrom": None, "validUntil": {"127": NO_END},
                "version": {"127": "1.1"},
            },
            related={"changedBy": [self.user("anna")], "createdBy": [self.user("anna")], "relBy": None},
            content=[self.drawn(each) for each in content],
        )  # fmt: skip
        self.check_copies(old, content)
        self.took("version", self.second, "1.1", "inProcess", by="anna", request="version", on=on)
        after = {"state": "inProcess", "version": "1.1", "copiedFrom": self.first}
        self.changed("versioned", self.second, {}, after, by="anna", request="version", on=on)
        self.content = content
        assert self.pages(self.first) == self.pages_before
        self.check_views(self.first, self.second, shown=self.first)
        self.check_records()
        self.check_info(self.first, "anna", "All", "Hire")
        self.check_info(self.second, "anna", "None", "Hire")
        self.check_info(self.second, "ben", "Never", "Hire")
        self.check_drawn_info(content[1], "anna", "None")
        self.check_drawn_info(old[1], "anna", "Diagram")
        self.check_offers(self.second, OUT_OF_DRAFT, "inProcess")
        self.check_offers(self.first, {"anna": EXPIRY}, "released")
        text = (
            f"subProcess {self.element} has a version in work already."
            f" Version 1.1 ({self.second}) is in the state inProcess; there can be one at a time."
        )
        for id in (self.element, self.first, self.second):
            assert self.anna.refused(f"{self.prefix}/{id}/createversion") == (409, refusal(text))
        self.check_others()
        self.check_records()

    def check_copies(self, old: list[Wire], new: list[Wire]) -> None:
        """The same flow, drawn anew: what lives in the diagram was copied, what has a life of its own was not (D11)."""
        shapes = {each["properties"]["shapeId"]: n for n, each in enumerate(old)}
        assert not shapes.keys() & {each["properties"]["shapeId"] for each in new}

        def flows(content: list[Wire]) -> list[list[int]]:
            places = {each["properties"]["shapeId"]: n for n, each in enumerate(content)}
            return [
                [places[one["properties"]["shapeId"]] for one in each["properties"]["predecessors"]] for each in content
            ]

        assert flows(new) == flows(old)
        for before, after in zip(old, new, strict=True):
            assert (after["type"], after["attributes"].get("name")) == (
                before["type"],
                before["attributes"].get("name"),
            )
            if before["type"] == "subProcess":
                assert (after["id"], after["versionId"]) == (before["id"], before["versionId"])
            else:
                assert after["id"] != before["id"]
                assert after["creationId"] == before["creationId"] == before["id"]
                self.own.add(after["id"])
                assert self.vera.status(part(after["id"])) == 404

    def check_earlier(self) -> None:
        """Not a byte has changed, for those who see all states nor for viewers."""
        if self.is_thorough:
            assert self.pages(self.first) == self.pages_before

    def edit_the_new_version(self) -> None:
        """Its texts, what it refers to, a task in its diagram, and the diagram itself."""
        before = self.read(self.second)
        attributes = {"name": {"1031": "Einstellen", "1033": "Hire people"}, "reasonForRevision": {"1033": "Better."}}
        related = {"owner": [{"id": ID["ben"]}], "systems": [{"id": ID["erp"]}]}
        body = {"elements": [{"id": self.element, "attributes": attributes, "related": related}]}
        after = self.anna.post(ELEMENTS, body, "edit")
        on = after["attributes"]["changedOn"]["127"]
        system = {"facetName": "it", "id": ID["erp"], "versionId": ID["erp-1"], "type": "system", "state": "released",
                  "expandUri": f"{self.base}/rest/facets/it/views/detail/elements/{ID['erp-1']}"}  # fmt: skip
        assert after == edited(
            before,
            attributes={**attributes, "changedOn": {"127": on}},
            related={"owner": [self.user("ben")], "systems": [system]},
        )
        self.changed(
            "updated", self.second,
            {"attributes": {"name[1031]": None, "name[1033]": "Hire", "reasonForRevision[1033]": None},
             "related": {"owner": [], "systems": []}},
            {"attributes": {"name[1031]": "Einstellen", "name[1033]": "Hire people", "reasonForRevision[1033]": "Better."},
             "related": {"owner": [ID["ben"]], "systems": [ID["erp"]]}},
            by="anna", request="edit", on=on,
        )  # fmt: skip
        self.check_earlier()
        task = self.content[1]
        named = {"id": task["id"], "attributes": {"name": {"1033": "Search widely", "1031": None}},
                 "related": {"systems": [{"id": ID["erp"]}]}}  # fmt: skip
        renamed = self.anna.post(ELEMENTS, {"elements": [named]}, "edit-task")
        assert renamed["attributes"]["name"] == {"1033": "Search widely"}
        self.check_earlier()
        self.draw_and_erase()
        assert self.pages(self.first) == self.pages_before
        self.check_records()
        self.check_views(self.first, self.second, shown=self.first)
        self.check_info(self.second, "anna", "None", "Hire people")
        self.check_others()

    def draw_and_erase(self) -> None:
        """A task after the one that is there; and the end is taken away."""
        start, task, process, end = self.content
        anchor = {"shapeInfo": {"index": 7, "id": task["properties"]["shapeId"]}}
        item = {"shapeInfo": {"index": 8, "predecessors": [7]},
                "element": {"type": "task", "attributes": {"name": {"1033": "Meet"}}}}  # fmt: skip
        body = {"values": [anchor, item]}
        drawn = self.anna.ask("POST", part(self.second, "content", view="diagram"), body, X_Request_ID="draw-more")
        shape = drawn.json["values"][1]["id"]
        assert drawn.json == {"values": [{"id": task["properties"]["shapeId"], "index": 7}, {"id": shape, "index": 8}]}
        new = self.anna.elements(part(self.second, "content"))[-1]
        self.own.add(new["id"])
        on = self.read(self.second)["attributes"]["changedOn"]["127"]
        after = {
            "shapes": [{"shapeId": shape, "element": new["id"]}],
            "flows": [{"shapeId": shape, "predecessor": task["properties"]["shapeId"]}],
        }
        self.changed("drawn", self.second, {}, after, by="anna", request="draw-more", on=on)
        gone = end["properties"]["shapeId"]
        erased = self.anna.ask("POST", part(self.second, "content", gone, "delete"), X_Request_ID="erase")
        assert erased.status == 200
        on = self.read(self.second)["attributes"]["changedOn"]["127"]
        flows = [{"shapeId": gone, "predecessor": each["properties"]["shapeId"]} for each in (task, process)]
        before = {"shapes": [{"shapeId": gone, "element": end["id"]}], "flows": flows}
        self.changed("drawn", self.second, before, {"flows": []}, by="anna", request="erase", on=on)
        assert self.anna.status(part(end["id"])) == 404
        self.content = self.anna.elements(part(self.second, "content"))
        assert [each["id"] for each in self.content] == [start["id"], task["id"], process["id"], new["id"]]

    def review_and_release(self) -> None:
        """Through review, without a warning; the earlier version ends with that day."""
        earlier, draft = self.read(self.first), self.read(self.second)
        shown = self.glance(self.first)
        self.step("anna", "InProcessToInReview", "inReview", "review")
        self.check_earlier()
        self.check_info(self.second, "anna", "All", "Hire people")
        self.check_closed(self.second, self.content[1], "inReview")
        self.check_offers(
            self.second,
            {"anna": {"InReviewToInProcess": "inProcess", "InReviewToReadyForQA": "readyForQa",
                      "InReviewToReadyForRelease": "readyForRelease"},
             "ben": {"InReviewToInProcess": "inProcess"}},
            "inReview",
        )  # fmt: skip
        self.step("ben", "InReviewToInProcess", "inProcess", "decline")
        self.check_info(self.second, "anna", "None", "Hire people")
        self.step("anna", "InProcessToReadyForRelease", "readyForRelease", "submit")
        assert self.glance(self.first) == shown
        self.check_views(self.first, self.second, shown=self.first)
        after = self.ben.post(
            f"{self.prefix}/{self.second}/transitions/readyforreleasetoreleased", request="release-again"
        )
        on = after["attributes"]["relOn"]["127"]
        history = [self.version(self.first, "expired"), self.version(self.second, "released")]
        assert after == edited(
            draft,
            state="released",
            attributes={
                "changedOn": {"127": on}, "isReleased": {"127": True}, "relOn": {"127": on}, "version": {"127": "2.0"},
                "state1": {"127": "released"}, "validFrom": {"127": day(on)},
            },
            related={"changedBy": [self.user("ben")], "relBy": [self.user("ben")], "releaseHistory": history},
        )  # fmt: skip
        assert self.read(self.first) == edited(
            earlier,
            state="expired",
            attributes={
                "changedOn": {"127": on}, "isReleased": {"127": False}, "state1": {"127": "expired"},
                "validUntil": {"127": day(on)},
            },
            related={"changedBy": [self.user("ben")], "releaseHistory": history},
        )  # fmt: skip
        self.took(
            "transition", self.second, "2.0", "released", fromState="readyForRelease",
            transitionId="ReadyForReleaseToReleased", by="ben", request="release-again", on=on,
        )  # fmt: skip
        self.took(
            "succession", self.first, "1.0", "expired", fromState="released", by="ben", request="release-again", on=on
        )
        self.check_last_changes(
            ("transitioned", self.second, {"state": "readyForRelease", "version": "1.1", "relOn": None, "validFrom": None},
             {"state": "released", "version": "2.0", "relOn": on, "validFrom": day(on)}),
            ("transitioned", self.first, {"state": "released", "validUntil": NO_END},
             {"state": "expired", "validUntil": day(on)}),
            by="ben", request="release-again", on=on,
        )  # fmt: skip
        self.check_views(self.first, self.second, shown=self.second)
        self.check_records()
        self.check_info(self.first, "anna", "All", "Hire")
        self.check_info(self.second, "anna", "All", "Hire people")
        self.check_info(self.second, "vera", "Never", "Hire people")
        self.check_offers(self.first, {}, "expired")
        self.check_offers(self.second, {"anna": EXPIRY}, "released")
        old = self.anna.elements(part(self.first, "content"))
        assert {self.vera.status(part(each["id"])) for each in old if each["type"] != "subProcess"} == {404}
        assert self.vera.elements(part(self.second, "content")) == self.content
        self.check_closed(self.first, old[1], "expired")
        self.check_closed(self.second, self.content[1], "released")
        self.check_others()

    def check_last_changes(self, *changes: tuple[str, str, Any, Any], by: str, request: str, on: str) -> None:
        """What one request has changed has one time; in which order the record tells it is the record's to say."""
        found = self.anna.values(part(self.element, "history"))[: len(changes)][::-1]
        told = [(each["action"], each["versionId"], each["before"], each["after"]) for each in found]
        assert sorted(told, key=str) == sorted(changes, key=str)
        for each in told:
            self.changed(*each, by=by, request=request, on=on)

    def step(self, by: str, transition: str, to: str, request: str) -> None:
        """One that changes nothing but the state."""
        before = self.read(self.second)
        after = self.people[by].post(f"{self.prefix}/{self.second}/transitions/{transition}/true", request=request)
        on = after["attributes"]["changedOn"]["127"]
        stamps = {"changedOn": {"127": on}, "state1": {"127": to}}
        assert after == edited(before, state=to, attributes=stamps, related={"changedBy": [self.user(by)]})
        self.took(
            "transition", self.second, "1.1", to, fromState=before["state"], transitionId=transition,
            by=by, request=request, on=on,
        )  # fmt: skip
        states = {"state": before["state"]}, {"state": to}
        self.changed("transitioned", self.second, *states, by=by, request=request, on=on)
        self.check_records()

    def ask_for_expiry(self) -> None:
        """The answer shows the version as it was; a task waits for its owner."""
        summary, shown = self.summary(), self.glance(self.first, self.second)
        before = self.read(self.second)
        path = f"{self.prefix}/{self.element}/transitions/ReleasedToRequestToExpire"
        assert self.ben.refused(path)[0] == 403
        assert self.anna.post(path, {"comment": "Not needed."}, "ask") == before
        [task] = self.anna.values(f"rest/tasks?requester=me&element={self.element}")
        self.task: Wire = {
            "id": task["id"],
            "type": "Approve expiry",
            "state": "open",
            "element": self.version(self.second, "released"),
            "transitionId": "ReleasedToRequestToExpire",
            "sourceState": "released",
            "targetState": "requestToExpire",
            "requestedOn": task["requestedOn"],
            "requester": self.anna.label,
            "requestedBy": self.user("anna"),
            "assignee": self.user("ben"),
            "comment": "Not needed.",
            "isStuck": False,
        }
        assert task == self.task
        self.took(
            "request", self.second, "2.0", "released", fromState="released", transitionId="ReleasedToRequestToExpire",
            comment="Not needed.", taskId=task["id"], by="anna", request="ask", on=task["requestedOn"],
        )  # fmt: skip
        self.check_records()
        assert self.glance(self.first, self.second) == shown
        self.check_task({"anna": False, "ben": True, "dora": False, "cora": False})
        assert self.summary() == {**summary, "open": summary.get("open", 0) + 1}
        self.check_offers(self.second, {}, "released")
        text = f"A task Approve expiry of subProcess {self.second} is open; it must be decided or withdrawn first."
        assert self.anna.refused(path) == (409, refusal(text))
        accept = f"rest/tasks/{task['id']}/accept"
        text = f"Accepting a task of subProcess {self.second} needs the permission ApproveElement."
        assert self.anna.refused(accept) == (403, refusal(text, "unauthorized", "volatile"))
        text = "The task is for another approver; this needs the role administrator."
        assert self.people["dora"].refused(accept) == (403, refusal(text, "unauthorized", "volatile"))
        text = "The lifecycle of elements needs the role analyzer or one above it."
        assert self.vera.refused(accept) == (403, refusal(text, "unauthorized", "volatile"))
        assert self.glance(self.first, self.second) == shown
        self.check_views(self.first, self.second, shown=self.second)
        self.check_others()
        self.check_records()

    def check_task(self, waiting: dict[str, bool]) -> None:
        """One task as everybody sees it who may, and in whose list it waits."""
        id = self.task["id"]
        for name, waits in waiting.items():
            person = self.people[name]
            assert person.values(f"rest/tasks/{id}") == [self.task]
            assert ([each for each in person.values("rest/tasks") if each["id"] == id] == [self.task]) is waits
            state = self.task["state"]
            assert person.values(f"rest/tasks?assignee=all&state={state}&element={self.second}") == [self.task]
        assert (self.vera.status("rest/tasks"), self.vera.status(f"rest/tasks/{id}")) == (403, 403)

    def summary(self) -> dict[str, int]:
        """Numbers of tasks by state; all of them are young."""
        found = {}
        for each in self.people["cora"].values("rest/tasks/summary"):
            assert each == {
                "type": "Approve expiry", "state": each["state"], "age": "underOneDay", "count": each["count"], "stuck": 0,
            }  # fmt: skip
            found[each["state"]] = each["count"]
        return found

    def approve_expiry(self) -> None:
        """Its owner consents: nobody reads it from now on but those who see all states."""
        summary, before = self.summary(), self.read(self.second)
        earlier, drawn = self.glance(self.first)
        content = self.anna.elements(part(self.second, "content"))
        after = self.ben.post(f"rest/tasks/{self.task['id']}/accept", {"comment": "Agreed."}, "accept")
        on = after["decidedOn"]
        self.task |= {
            "state": "accepted", "element": self.version(self.second, "expired"), "decidedOn": on,
            "decider": self.ben.label, "decidedBy": self.user("ben"), "decision": "Agreed.",
        }  # fmt: skip
        assert after == self.task
        history = [self.version(self.first, "expired"), self.version(self.second, "expired")]
        assert self.read(self.second) == edited(
            before,
            state="expired",
            attributes={
                "changedOn": {"127": on}, "isReleased": {"127": False}, "state1": {"127": "expired"},
                "validUntil": {"127": day(on)},
            },
            related={"changedBy": [self.user("ben")], "releaseHistory": history},
        )  # fmt: skip
        task = {"taskId": self.task["id"], "by": "ben", "request": "accept", "on": on}
        self.took(
            "transition", self.second, "2.0", "requestToExpire", fromState="released",
            transitionId="ReleasedToRequestToExpire", comment="Agreed.", **task,
        )  # fmt: skip
        self.took("expiry", self.second, "2.0", "expired", fromState="requestToExpire", **task)
        self.check_last_changes(
            ("transitioned", self.second, {"state": "released", "validUntil": NO_END},
             {"state": "requestToExpire", "validUntil": day(on)}),
            ("transitioned", self.second, {"state": "requestToExpire"}, {"state": "expired"}),
            by="ben", request="accept", on=on,
        )  # fmt: skip
        self.check_records()
        self.check_views(self.first, self.second, shown=None)
        self.check_task({"anna": False, "ben": False, "cora": False})
        left = {state: count for state, count in {**summary, "open": summary["open"] - 1}.items() if count}
        assert self.summary() == {**left, "accepted": summary.get("accepted", 0) + 1}
        self.check_info(self.second, "anna", "All", "Hire people")
        self.check_offers(self.second, {}, "expired")
        self.check_closed(self.second, content[1], "expired")
        assert self.anna.elements(part(self.second, "content")) == content
        assert {self.vera.status(part(each["id"])) for each in content if each["type"] != "subProcess"} == {404}
        # Of the version before nothing has changed but the state in which its release history names this one.
        [before] = earlier.json["elements"]
        [after], shown = self.glance(self.first)[0].json["elements"], self.glance(self.first)[1]
        assert (after, shown) == (edited(before, related={"releaseHistory": history}), drawn)
        for decision in ("accept", "reject"):
            refused = self.ben.refused(f"rest/tasks/{self.task['id']}/{decision}")
            assert refused == (409, refusal("The task is accepted already."))
        self.check_others()

    def take_up_again(self) -> None:
        """What has expired can be the ground of a new version; that is dropped again, and all is as it was."""
        before, versions = self.glance(self.first, self.second), self.anna.elements(part(self.element, "versions"))
        new = self.anna.post(f"{self.prefix}/{self.second}/createversion", request="take-up")
        on = new["attributes"]["changedOn"]["127"]
        assert (new["state"], new["attributes"]["version"]) == ("inProcess", {"127": "2.1"})
        self.took("version", new["versionId"], "2.1", "inProcess", by="anna", request="take-up", on=on)
        content = self.anna.elements(part(new["versionId"], "content"))
        assert [each["attributes"].get("name") for each in content] == [
            each["attributes"].get("name") for each in self.content
        ]
        assert self.glance(self.first, self.second) == before
        assert self.anna.ask("DELETE", part(new["versionId"])).status == 200
        assert {self.anna.status(part(each["id"])) for each in content if each["type"] != "subProcess"} == {404}
        assert self.glance(self.first, self.second) == before
        assert self.anna.elements(part(self.element, "versions")) == versions
        assert self.anna.values(part(self.element, "lifecycle")) == self.lifecycle
        self.check_others()


def tell(story: Story, next_day: Callable[[], None]) -> None:
    of_the_rival = story.everything_of_the_rival()
    story.create_and_draw()
    story.release_with_warnings()
    next_day()
    story.make_a_new_version()
    story.edit_the_new_version()
    story.review_and_release()
    story.ask_for_expiry()
    story.approve_expiry()
    story.take_up_again()
    assert story.everything_of_the_rival() == of_the_rival


def send_by(client: Client) -> Send:
    def send(method: str, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        response: Any = client.generic(method, path, body, "application/json", headers=headers)
        content = b"".join(response) if response.streaming else response.content
        return Reply.of(response.status_code, content, response.headers.get("ETag"))

    return send


def test_the_life_of_a_sub_process(house: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins weeks ago, late in the evening: in the time zone of the storage it is the next day already."""
    evening, now, moments = (timezone.now() - timedelta(days=30)).replace(hour=23, minute=30), timezone.now, count()
    monkeypatch.setattr(timezone, "now", lambda: evening + timedelta(milliseconds=next(moments)))
    rival = Storage.objects.get(collection__key="rival", key="house")

    def person(client: Client, storage: Storage, *roles: Role, name: str | None = None) -> Person:
        issued = issue_token(storage_context(storage), "story", roles, user_id=UUID(ID[name]) if name else None)
        key = f"{storage.collection.key}/{storage.key}"
        return Person(send_by(client), issued.value, f"token:{issued.token.id}", key)

    people = {name: person(api, house, *roles, name=name) for name, roles in PEOPLE.items() if name != "eve"}
    # Of what is read again and again the bytes are compared, and that must do.
    people |= {role.value: person(Client(), house, role) for role in (Role.ANALYZER, Role.VIEWER)}
    people["rival"] = person(Client(), rival, Role.ANALYZER)
    story = Story(people, "http://testserver/acme/house/_api")
    days = {today()}
    tell(story, lambda: monkeypatch.setattr(timezone, "now", now))
    days.add(today())
    first = story.read(story.first)["attributes"]
    assert first["validFrom"]["127"] == f"{evening.date() + timedelta(days=1)}T00:00:00"
    assert first["validUntil"]["127"] in {f"{day}T00:00:00" for day in days}
    for storage in (house, rival):
        check_lifecycles(storage)


def today() -> date:
    return datetime.now(ZoneInfo("Europe/Berlin")).date()
