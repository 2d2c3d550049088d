"""Bulk changes (D471): operations, refusals for each element, previews, and mistakes in requests."""

from __future__ import annotations

import pytest

from elements.bulk import steps
from elements.models import BulkRefusal, BulkRun
from release.models import Task
from storage.models import Event, Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.release.bulk.bulk_calls import ALL_STATES, BULK, bulk, numbers, reasons, report_of
from tests.release.house import ID, STATES, HouseClient, MakeClient, Wire, error, user

pytestmark = [pytest.mark.django_db, pytest.mark.on_cluster]


def names_of(client: HouseClient, name: str, context: str) -> list[str]:
    known = {value: key for key, value in ID.items()}
    return [known[each["id"]] for each in client.element(name).get("related", {}).get(context, [])]


def test_values_and_references_are_set_cleared_added_and_removed(caller: HouseClient, rival: Storage) -> None:
    report = bulk(
        caller,
        {
            "set": {
                "attributes": {"purp": {"1033": "New"}, "name": {"1031": "Neu"}},
                "related": {"owner": [user("cora")]},
            }
        },
        {"clear": ["reasonForRevision", "name[1031]"]},
        {"add": {"related": {"secondaryAuthors": [user("ben"), user("dora")]}}},
        {"remove": {"related": {"secondaryAuthors": [user("ben")], "systems": [{"id": ID["erp"]}]}}},
    )
    assert numbers(report) == (1, 0, 0)
    element = caller.element("inProcess")
    assert element["attributes"]["purp"] == {"1033": "New"}
    assert element["attributes"]["name"] == {"1033": "inProcess-1"}
    assert "reasonForRevision" not in element["attributes"]
    assert names_of(caller, "inProcess", "owner") == ["cora"]
    assert names_of(caller, "inProcess", "secondaryAuthors") == ["dora"]
    assert names_of(caller, "inProcess", "systems") == []


def test_history_and_events_name_the_caller(desk: MakeClient) -> None:
    anna = desk(user="anna")
    bulk(anna, {"set": {"attributes": {"purp": {"1033": "New"}}}})
    [change] = anna.get(f"rest/facets/processes/views/detail/elements/{ID['inProcess']}/history").json()["values"][:1]
    assert change["after"] == {"attributes": {"purp[1033]": "New"}}
    assert change["changedBy"]["id"] == ID["anna"]
    with tenant_scope(anna.storage):
        event = Event.objects.filter(subject_id=ID["inProcess"]).latest("time")
        assert (event.type, event.data["attributes"]) == ("element.changed", ["purp"])


def test_each_element_is_changed_or_refused_with_reasons(caller: HouseClient) -> None:
    missing = "00000000-0000-4000-8000-00000000ffff"
    report = bulk(caller, {"set": {"attributes": {"purp": {"1033": "New"}}}}, ids=[*ALL_STATES, ID["anna"], missing])
    assert report["total"] == report["processed"] == len(STATES) + 2
    assert numbers(report) == (1, 0, len(STATES) + 1)
    found = reasons(report)
    assert found["inReview"] == ["purp cannot be changed in the state inReview; send it back first."]
    assert found["released"] == ["purp cannot be changed in the state released; create a new version."]
    unknown = ["there is no such element in the view detail of the facet processes."]
    assert found["anna"] == found[missing] == unknown
    assert caller.element("inProcess")["attributes"]["purp"] == {"1033": "New"}
    assert caller.element("inReview")["attributes"]["purp"] == {"1033": "Purpose"}


def test_an_element_that_refuses_a_later_operation_stays_as_it_was(caller: HouseClient) -> None:
    before = caller.element("released")
    report = bulk(
        caller,
        {"createVersion": True},
        {"set": {"attributes": {"purp": {"1033": "New"}}}},
        {"transition": "InReviewToInProcess"},
        ids=[ID["released"], ID["inProcess"]],
    )
    assert numbers(report) == (0, 0, 2)
    assert caller.element("released") == before
    assert "InReviewToInProcess is not available" in reasons(report)["released"][0]
    assert "already has an open version" in reasons(report)["inProcess"][0]


def test_a_new_version_is_created_changed_and_sent_to_review(caller: HouseClient) -> None:
    report = bulk(
        caller,
        {"createVersion": True},
        {"set": {"attributes": {"purp": {"1033": "New"}}}},
        {"transition": "InProcessToInReview", "ignoreWarnings": True, "comment": "all of them"},
        ids=[ID["released"], ID["inEffect"], ID["inReview"]],
    )
    assert numbers(report) == (2, 0, 1)
    for name in ("released", "inEffect"):
        element = caller.element(name)
        assert (element["state"], element["attributes"]["purp"]) == ("inReview", {"1033": "New"})
        assert [each["step"] for each in caller.steps(name)][-2:] == ["version", "transition"]
        assert caller.steps(name)[-1]["comment"] == "all of them"


def test_transitions_of_many_elements(caller: HouseClient) -> None:
    report = bulk(caller, {"transition": "ReadyForReleaseToReleased", "ignoreWarnings": True}, ids=ALL_STATES)
    assert numbers(report) == (1, 0, len(STATES) - 1)
    element = caller.element("readyForRelease")
    assert (element["state"], element["attributes"]["version"]["127"]) == ("released", "1.0")
    unknown = bulk(caller, {"transition": "Nowhere"}, ids=[ID["inProcess"], ID["anna"]])
    assert numbers(unknown) == (0, 0, 2)


def test_a_requested_transition_opens_a_task_for_each_element(desk: MakeClient) -> None:
    anna = desk(user="anna")
    operation = {"transition": "ReleasedToRequestToExpire", "ignoreWarnings": True}
    assert numbers(bulk(anna, operation, ids=[ID["released"], ID["order"]])) == (2, 0, 0)
    with tenant_scope(anna.storage):
        tasks = Task.objects.filter(state=Task.State.OPEN).values_list("element_id", "assignee_id")
        assert {(str(element), str(person)) for element, person in tasks} == {
            (ID["released"], ID["ben"]),
            (ID["order"], ID["ben"]),
        }
    assert "has an open task" in reasons(bulk(anna, operation, ids=[ID["released"]]))["released"][0]


def test_elements_move_and_are_deleted(caller: HouseClient) -> None:
    moved = bulk(caller, {"move": {"parent": ID["released"]}}, ids=[ID["inProcess"], ID["released"]])
    assert numbers(moved) == (1, 0, 1)
    assert "rootPath cannot be changed in the state released" in reasons(moved)["released"][0]
    assert caller.element("inProcess", "?$resources=rootPath")["rootPath"][0]["id"] == ID["released"]
    deleted = bulk(caller, {"delete": True}, ids=[ID["inProcess"], ID["released"]])
    assert numbers(deleted) == (1, 0, 1)
    assert any("released" in each for each in reasons(deleted)["released"])
    assert caller.get(f"rest/facets/processes/views/detail/elements/{ID['inProcess']}").status_code == 404


def test_children_are_deleted_before_their_parents(caller: HouseClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MOST_ATTEMPTS", 1)
    chain: list[str] = []
    for level in range(6):
        place = {"rootPath": [{"id": chain[-1]}]} if chain else {}
        body = {"type": "subProcess", "attributes": {"name": {"1033": f"Level {level}"}}, **place}
        chain.append(caller.update(body).json()["elements"][0]["id"])
    assert numbers(bulk(caller, {"delete": True}, ids=chain)) == (6, 0, 0)


def test_a_preview_says_the_same_and_changes_nothing(caller: HouseClient, house: Storage) -> None:
    operations: list[Wire] = [
        {"set": {"attributes": {"purp": {"1033": "New"}}}},
        {"transition": "InProcessToInReview", "ignoreWarnings": True},
    ]
    before = caller.element("inProcess")
    preview = bulk(caller, *operations, ids=ALL_STATES, dryRun=True)
    assert preview["dryRun"] is True
    assert "id" not in preview
    assert caller.element("inProcess") == before
    with tenant_scope(house):
        assert not BulkRun.objects.exists()
    report = bulk(caller, *operations, ids=ALL_STATES)
    assert numbers(report) == numbers(preview) == (1, 0, len(STATES) - 1)
    assert reasons(report) == reasons(preview)


def test_elements_that_are_as_requested_are_left_alone(caller: HouseClient) -> None:
    operation = {"set": {"related": {"owner": [user("ben")]}, "attributes": {"purp": {"1033": "Purpose"}}}}
    tag = caller.get(f"rest/facets/processes/views/detail/elements/{ID['inProcess']}")["ETag"]
    assert numbers(bulk(caller, operation)) == (0, 1, 0)
    assert caller.get(f"rest/facets/processes/views/detail/elements/{ID['inProcess']}")["ETag"] == tag


def test_a_filter_selects_from_the_list(caller: HouseClient) -> None:
    operation = {"set": {"attributes": {"purp": {"1033": "New"}}}}
    report = bulk(caller, operation, filter="type -eq subProcess AND state -in ('inProcess', 'inReview')")
    assert numbers(report) == (1, 0, 1)
    assert report["filter"] == "type -eq subProcess AND state -in ('inProcess', 'inReview')"
    nothing = bulk(caller, operation, filter="name -eq 'none'")
    assert (nothing["total"], numbers(nothing)) == (0, (0, 0, 0))


def test_permissions_are_those_of_single_operations(desk: MakeClient) -> None:
    operation = {"set": {"attributes": {"purp": {"1033": "New"}}}}
    stranger = bulk(desk(Role.EDITOR), operation)
    assert numbers(stranger) == (0, 0, 1)
    assert "only its authors and architects can change it" in reasons(stranger)["inProcess"][0]
    approver = bulk(desk(user="ben"), operation)
    assert "EditElement" in reasons(approver)["inProcess"][0]
    released = bulk(
        desk(user="ben"),
        {"transition": "ReadyForReleaseToReleased", "ignoreWarnings": True},
        ids=[ID["readyForRelease"]],
    )
    assert numbers(released) == (1, 0, 0)
    refused = desk(user="vera").post(BULK, {"ids": [ID["inProcess"]], "operations": [operation]})
    assert error(refused)[0] == 403


def test_reports_stay_for_their_caller_and_for_administrators(desk: MakeClient) -> None:
    anna = desk(user="anna")
    report = bulk(anna, {"set": {"attributes": {"purp": {"1033": "New"}}}}, ids=ALL_STATES)
    assert report_of(anna, report["id"]) == report
    assert report_of(desk(user="cora"), report["id"]) == report
    assert anna.post(f"{BULK}/{report['id']}").json()["values"] == [report]
    page = anna.get(f"{BULK}/{report['id']}?$page=2&$pageSize=3")
    assert page["X-Total-Count"] == "7"
    assert page.json()["values"][0]["refusals"] == report["refusals"][3:6]
    assert desk(user="ben").get(f"{BULK}/{report['id']}").status_code == 404
    assert anna.get(f"{BULK}/{ID['anna']}").status_code == 404
    assert anna.get(f"{BULK}/x").status_code == 400


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ([], "The body must be an object with filter, ids, operations and dryRun."),
        ({"operations": [{"delete": True}]}, "Send either filter or ids."),
        ({"ids": [], "operations": [{"delete": True}]}, "ids: expected a list of 1 to 10,000 ids."),
        ({"ids": ["x"], "operations": [{"delete": True}]}, "ids: 'x' is not a GUID."),
        ({"filter": 3, "operations": [{"delete": True}]}, "filter: expected a text, such as state -eq 'inProcess'."),
        ({"filter": "", "operations": [{"delete": True}], "dryRun": 1}, "dryRun: expected true or false."),
        ({"filter": "", "operations": [{"delete": True}], "dry": True}, "dry: unknown field; use filter, ids, operations or dryRun."),
        ({"filter": ""}, 'operations: expected a list of 1 to 20 operations, such as [{"clear": ["owner"]}].'),
        ({"filter": "", "operations": [{"erase": True}]}, "operations[0]: expected an object with one of add, clear, createVersion, delete, handOver, move, remove, set or transition."),
        ({"filter": "", "operations": [{"delete": False}]}, "operations[0]: delete: expected true."),
        ({"filter": "", "operations": [{"delete": True}, {"clear": ["owner"]}]}, "operations: delete must be the last operation."),
        ({"filter": "", "operations": [{"set": {"name": "x"}}]}, "operations[0]: set: expected an object with attributes or related."),
        ({"filter": "", "operations": [{"set": {"attributes": {"createdOn": {"127": "x"}}}}]}, "operations[0]: set: createdOn is read-only."),
        ({"filter": "", "operations": [{"add": {"related": {"owner": [{"type": "user", "attributes": {}}]}}}]}, 'operations[0]: add: owner[0]: expected the id of an existing element, such as {"id": "…"}.'),
        ({"filter": "", "operations": [{"clear": "owner"}]}, 'operations[0]: clear: expected names of attributes and contexts, such as ["owner", "name[1031]"].'),
        ({"filter": "", "operations": [{"move": {"parent": "x"}}]}, 'operations[0]: move: expected {"parent": "…"} with the id of an element, or null for the top of the tree, and optionally position.'),
        ({"filter": "", "operations": [{"move": {"parent": ID["house"], "position": -1}}]}, 'operations[0]: move: position: expected a number from 0 on, {"before": "…"} or {"after": "…"} with the id of a sibling.'),
        ({"filter": "", "operations": [{"move": {"parent": None, "position": 0}}]}, "operations[0]: move: position: elements without a parent are sorted by name; leave it out."),
        ({"filter": "", "operations": [{"transition": 1}]}, "operations[0]: transition: expected the id of a transition, such as InProcessToInReview."),
        ({"filter": "", "operations": [{"createVersion": False}]}, "operations[0]: createVersion: expected true."),
        ({"filter": "nmae -eq 1", "operations": [{"delete": True}]}, "The filter is invalid at character 1 (>>>nmae -eq 1): there is no property nmae here; similar: name, images."),
    ],
)  # fmt: skip
def test_mistakes_in_a_request(caller: HouseClient, body: object, problem: str) -> None:
    response = caller.post(BULK, body)
    status, _, _, problems = error(response)
    assert (status, problems[0].partition("; similar")[0]) == (400, problem.partition("; similar")[0])


def test_refusals_belong_to_their_storage(caller: HouseClient, house: Storage, rival: Storage) -> None:
    bulk(caller, {"delete": True}, ids=ALL_STATES)
    with tenant_scope(house):
        assert BulkRefusal.objects.count() == len(STATES) - 1
    with tenant_scope(rival):
        assert not BulkRun.objects.exists()
