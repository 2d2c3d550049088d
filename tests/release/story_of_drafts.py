"""The first half of the story: a sub process is created, drawn, released and edited in a new version."""

from __future__ import annotations

from dataclasses import dataclass

from tests.release.house import ID, NO_END, Wire
from tests.release.witness import ELEMENTS, Witness, day, edited, part, refusal

OUT_OF_DRAFT = {
    "anna": {"InProcessToInReview": "inReview", "InProcessToReadyForQA": "readyForQa",
             "InProcessToReadyForRelease": "readyForRelease"},
    "ben": dict.fromkeys(("InProcessToReleased", "InProcessToReleasedQA", "InProcessToReleasedExternal"), "released"),
}  # fmt: skip
EXPIRY = {"ReleasedToRequestToExpire": "requestToExpire"}


@dataclass
class DraftStory(Witness):
    is_thorough: bool = False
    """Also compare all responses about the earlier version after each small step."""

    def create_and_draw(self) -> None:
        """Create a draft and the first content of its diagram (operation 11)."""
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
        """Release the draft: an editor is refused, an approver is warned and ignores the warnings."""
        before, content = self.read(self.first), self.anna.elements(part(self.first, "content"))
        path = f"{self.prefix}/{self.element}/transitions/InProcessToReleased"
        text = f"InProcessToReleased of subProcess {self.first} requires the permission ApproveElement."
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
        again = f"InProcessToReleased is not available for subProcess {self.first} in the state released. No transition is available."
        assert self.ben.refused(path) == (409, refusal(again))
        self.check_others()

    def make_a_new_version(self) -> None:
        """Create a new version; all responses about the earlier version stay identical for every reader."""
        before = self.read(self.first)
        self.pages_before = self.pages(self.first)
        old = self.anna.elements(part(self.first, "content"))
        text = f"A new version of subProcess {self.first} requires the permission EditElement."
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
            f"subProcess {self.element} already has an open version: 1.1 ({self.second}) in the state inProcess."
            " Release or delete it first."
        )
        for id in (self.element, self.first, self.second):
            assert self.anna.refused(f"{self.prefix}/{id}/createversion") == (409, refusal(text))
        self.check_others()
        self.check_records()

    def check_copies(self, old: list[Wire], new: list[Wire]) -> None:
        """Check that the new diagram has copies of the elements that live in it, and references to the others (D11)."""
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
        """Check that all responses about the earlier version are identical, for viewers too."""
        if self.is_thorough:
            assert self.pages(self.first) == self.pages_before

    def edit_the_new_version(self) -> None:
        """Edit texts, references, a task of the diagram, and the diagram itself."""
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
        """Add a task to the diagram and remove its end."""
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
