"""The life of a sub process from its first draft to its expiry, over HTTP, as the specification tells it.

Each step checks whole responses, everything that shows the step, and everything that must not have changed (D17 to D23).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.release.house import NO_END, Wire
from tests.release.story_of_drafts import EXPIRY, DraftStory
from tests.release.witness import day, edited, part, refusal


@dataclass
class Story(DraftStory):
    def review_and_release(self) -> None:
        """Review and release without a warning; the earlier version ends on that day."""
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
        """Check the changes of one request, which have one time and no defined order."""
        found = self.anna.values(part(self.element, "history"))[: len(changes)][::-1]
        told = [(each["action"], each["versionId"], each["before"], each["after"]) for each in found]
        assert sorted(told, key=str) == sorted(changes, key=str)
        for each in told:
            self.changed(*each, by=by, request=request, on=on)

    def step(self, by: str, transition: str, to: str, request: str) -> None:
        """Take a step that changes only the state."""
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
        """Request the expiry: the response shows the version unchanged, and a task waits for the owner."""
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
        text = f"subProcess {self.second} has an open task Approve expiry; decide or withdraw it first."
        assert self.anna.refused(path) == (409, refusal(text))
        accept = f"rest/tasks/{task['id']}/accept"
        text = f"Accepting a task of subProcess {self.second} requires the permission ApproveElement."
        assert self.anna.refused(accept) == (403, refusal(text, "unauthorized", "volatile"))
        text = "The task is assigned to another approver; only that approver or an administrator can decide it."
        assert self.people["dora"].refused(accept) == (403, refusal(text, "unauthorized", "volatile"))
        text = "Lifecycle and tasks require the role Analyzer or a higher one."
        assert self.vera.refused(accept) == (403, refusal(text, "unauthorized", "volatile"))
        assert self.glance(self.first, self.second) == shown
        self.check_views(self.first, self.second, shown=self.second)
        self.check_others()
        self.check_records()

    def check_task(self, waiting: dict[str, bool]) -> None:
        """Check a task for all callers who can see it, and the list in which it waits."""
        id = self.task["id"]
        for name, waits in waiting.items():
            person = self.people[name]
            assert person.values(f"rest/tasks/{id}") == [self.task]
            assert ([each for each in person.values("rest/tasks") if each["id"] == id] == [self.task]) is waits
            state = self.task["state"]
            assert person.values(f"rest/tasks?assignee=all&state={state}&element={self.second}") == [self.task]
        assert (self.vera.status("rest/tasks"), self.vera.status(f"rest/tasks/{id}")) == (403, 403)

    def summary(self) -> dict[str, int]:
        """Return the expected counts of tasks by state; all tasks are new."""
        found = {}
        for each in self.people["cora"].values("rest/tasks/summary"):
            assert each == {
                "type": "Approve expiry", "state": each["state"], "age": "underOneDay", "count": each["count"], "stuck": 0,
            }  # fmt: skip
            found[each["state"]] = each["count"]
        return found

    def approve_expiry(self) -> None:
        """Accept the expiry as the owner: only callers who see all states can read the version now."""
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
        # The earlier version changes only in its release history, which names the state of this version.
        [before] = earlier.json["elements"]
        [after], shown = self.glance(self.first)[0].json["elements"], self.glance(self.first)[1]
        assert (after, shown) == (edited(before, related={"releaseHistory": history}), drawn)
        for decision in ("accept", "reject"):
            refused = self.ben.refused(f"rest/tasks/{self.task['id']}/{decision}")
            assert refused == (409, refusal("The task has already been accepted."))
        self.check_others()

    def take_up_again(self) -> None:
        """Create a new version from the expired one and delete it again; everything is as before."""
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
