"""Applying a transition (operation 18; D21, D83 to D86, D89): the response, the stored versions, the log and the tasks
that a release overtakes."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from django.utils import timezone

from elements.models import ElementChange, ElementVersion
from elements.transfer.exporting import export_lines
from elements.transfer.importing import import_elements
from facets.blueprint.cycles import Transition
from release.models import LifecycleEntry
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.release.house import BASE, ID, NO_END, PUBLISHED, HouseClient, MakeClient, Wire, user
from tests.release.settable_clock import SettableClock
from tests.release.task_calls import change_cycle
from tests.release.transition_calls import (
    DETAIL,
    LOCAL_AFTERNOON,
    LOCAL_NIGHT,
    NIGHT,
    TODAY,
    UNKNOWN,
    pointers,
    refusal,
    released_draft,
    state,
    version,
)
from tests.release.transition_table import user_reference, version_reference
from tests.tags import Unlike, version_tag

pytestmark = pytest.mark.django_db
BERLIN_MIDNIGHT = datetime.fromisoformat("2026-07-01T22:00:00+00:00")


def expected_draft(draft: Wire) -> Wire:
    """Return the whole element before the release."""
    own = draft["versionId"]
    parts = zip(draft["content"], ("evStart", "task", "evEnd"), ("start", "task", "end"), strict=True)
    return {
        "facetName": "processes", "id": ID["order"], "versionId": own, "type": "subProcess", "state": "inProcess",
        "displayNames": {"1031": "Teilprozess", "1033": "Sub process"},
        "attributes": {
            "authorNote": {
                "1031": "Nur der Autor, weitere Autoren und Architekten dürfen dieses Element ändern.",
                "1033": "Only the author, further authors and architects may change this element.",
            },
            "changedOn": {"127": LOCAL_AFTERNOON}, "createdOn": {"127": LOCAL_AFTERNOON},
            "gotoUrl": {lcid: f"http://testserver/acme/house/{lcid}/processes/{own}" for lcid in ("1031", "1033")},
            "isReleased": {"127": False}, "name": {"1031": "order-2 deutsch", "1033": "order-2"},
            "purp": {"1033": "Purpose"}, "reasonForRevision": {"1033": "Faster."}, "state1": {"127": "inProcess"},
            "validUntil": {"127": NO_END}, "version": {"127": "2.1"},
        },
        "related": {
            "author": [user_reference("anna")], "changedBy": [user_reference("anna")],
            "createdBy": [user_reference("anna")], "owner": [user_reference("ben")],
            "releaseHistory": [
                version_reference("order", "order-1", "expired"), version_reference("order", "order-2", "released"),
            ],
            "systems": [{
                "facetName": "it", "id": ID["erp"], "versionId": ID["erp-1"], "type": "system", "state": "released",
                "expandUri": f"{BASE}/rest/facets/it/views/detail/elements/{ID['erp-1']}",
            }],
        },
        "content": [
            {
                "facetName": "processes", "id": shape["id"], "creationId": ID[f"order-2-{part}"], "type": type,
                "expandUri": f"{BASE}/rest/facets/processes/views/detail/elements/{shape['id']}",
            }
            for shape, type, part in parts
        ],
        "rootPath": [{
            "facetName": "processes", "id": ID["house"], "versionId": ID["house-1"], "type": "mainProcess",
            "state": "released", "expandUri": f"{BASE}/rest/facets/processes/views/detail/elements/{ID['house-1']}",
        }],
    }  # fmt: skip


def test_the_response_is_the_released_version(desk: MakeClient, draft: Wire) -> None:
    assert draft == expected_draft(draft)
    ben = desk(user="ben")
    before = ben.get(f"{DETAIL}/{ID['order']}/versions").json()["elements"]
    response = ben.apply("order", "InProcessToReleased")
    assert response.json() == {"count": 1, "elements": [released_draft(draft)]}
    assert (response.status_code, response["api-version"]) == (200, "4.0")
    # The fields are in order, too (D9).
    found = response.json()["elements"][0]
    assert list(found) == [
        "facetName", "id", "versionId", "type", "state", "displayNames", "attributes", "related", "content", "rootPath"
    ]  # fmt: skip
    assert list(found["attributes"]) == sorted(found["attributes"])
    assert list(found["related"]) == sorted(found["related"])
    read = ben.get(f"{DETAIL}/{ID['order']}")
    assert (read.json(), version_tag(read["ETag"])) == (response.json(), response["ETag"])
    check_versions(before, ben.get(f"{DETAIL}/{ID['order']}/versions").json(), found)


def check_versions(before: list[Wire], after: Wire, released: Wire) -> None:
    """Check the release history of each version; the formerly published version has expired."""
    first, second, _ = before
    ended = {
        "changedOn": {"127": LOCAL_NIGHT}, "isReleased": {"127": False}, "state1": {"127": "expired"},
        "validUntil": {"127": TODAY},
    }  # fmt: skip
    replaced = {**second, "state": "expired", "attributes": {**second["attributes"], **ended}}
    replaced["related"] = {**second["related"], "changedBy": [user_reference("ben")]}
    history = {"releaseHistory": released["related"]["releaseHistory"]}
    told = [{**each, "related": {**each["related"], **history}} for each in (first, replaced)]
    assert after == {"count": 3, "elements": [*told, released]}
    assert [each["state"] for each in before] == ["expired", "released", "inProcess"]


def test_both_versions_are_stored(desk: MakeClient, house: Storage, rival: Storage, draft: Wire) -> None:
    own, ben = draft["versionId"], UUID(ID["ben"])
    before = {name: version(house, name) for name in (own, "order-2", "order-1")}
    assert pointers(house, "order") == (own, ID["order-2"])
    caller = desk(user="ben")
    lines, others = {*export_lines(house)}, list(export_lines(rival))
    caller.applied("order", "InProcessToReleased", "")
    assert pointers(house, "order") == (own, own)
    after = {name: version(house, name) for name in before}
    changed = {"changed_on": NIGHT, "changed_by_id": ben}
    assert after[own] == before[own] | changed | {
        "state": "released", "category": "published", "major": 3, "minor": 0, "released_on": NIGHT,
        "released_by_id": ben, "valid_from": BERLIN_MIDNIGHT, "revision": Unlike(before[own]["revision"]),
    }  # fmt: skip
    assert after["order-2"] == before["order-2"] | changed | {
        "state": "expired", "category": "retired", "valid_until": BERLIN_MIDNIGHT,
        "revision": Unlike(before["order-2"]["revision"]),
    }  # fmt: skip
    assert before["order-2"]["valid_until"] == datetime(9999, 12, 30, 23, tzinfo=UTC)
    # Nothing else changes, here or in the other storage.
    assert after["order-1"] == before["order-1"]
    assert {json.loads(line)["versionId"] for line in {*export_lines(house)} - lines} == {own, ID["order-2"]}
    assert list(export_lines(rival)) == others


def test_log_and_change_history(desk: MakeClient, house: Storage, draft: Wire) -> None:
    own, ben = draft["versionId"], desk(user="ben")
    response = ben.apply("order", "InProcessToReleased", "", {"comment": "Well done."})
    caller = ben.steps("order")[-1]["caller"]
    by_ben = {
        "changedOn": LOCAL_NIGHT, "caller": caller, "requestId": response["X-Request-ID"],
        "changedBy": user_reference("ben"),
    }  # fmt: skip
    made, *steps = ben.steps("order")
    assert (made["step"], made["changedBy"]) == ("version", user_reference("anna"))
    assert steps == [
        {
            "number": 2, "step": "transition", "versionId": own, "version": "3.0", "fromState": "inProcess",
            "toState": "released", "transitionId": "InProcessToReleased", "comment": "Well done.", **by_ben,
        },
        {
            "number": 3, "step": "succession", "versionId": ID["order-2"], "version": "2.0", "fromState": "released",
            "toState": "expired", **by_ben,
        },
    ]  # fmt: skip
    changes = ben.get(f"{DETAIL}/{ID['order']}/history").json()["values"]
    found = {each["versionId"]: each for each in changes if each["action"] == "transitioned"}
    assert len(changes) == 4
    assert found == {
        own: {
            "versionId": own, "action": "transitioned", **by_ben,
            "before": {"state": "inProcess", "version": "2.1", "relOn": None, "validFrom": None},
            "after": {"state": "released", "version": "3.0", "relOn": LOCAL_NIGHT, "validFrom": TODAY},
        },
        ID["order-2"]: {
            "versionId": ID["order-2"], "action": "transitioned", **by_ben,
            "before": {"state": "released", "validUntil": NO_END}, "after": {"state": "expired", "validUntil": TODAY},
        },
    }  # fmt: skip
    with tenant_scope(house):
        rows = ElementChange.objects.filter(action="transitioned")
        assert {(row.changed_on, row.caller_id, row.caller_label) for row in rows} == {(NIGHT, UUID(ID["ben"]), caller)}


def test_all_changes_of_a_release_have_one_time(
    desk: MakeClient, house: Storage, draft: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter(range(1, 10_000))
    monkeypatch.setattr(timezone, "now", lambda: NIGHT + timedelta(seconds=next(looks)))
    found = desk(user="ben").applied("order", "InProcessToReleased", "")
    assert found["attributes"]["relOn"] == found["attributes"]["changedOn"]
    rows = [version(house, name) for name in (draft["versionId"], "order-2")]
    with tenant_scope(house):
        steps = LifecycleEntry.objects.filter(number__gt=1).values("changed_on")
        changes = ElementChange.objects.filter(action="transitioned").values("changed_on")
        moments = [rows[0]["released_on"], *(row["changed_on"] for row in (*rows, *steps, *changes))]
    assert len(moments) == 1 + 2 + 2 + 2
    assert len(set(moments)) == 1


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_earlier_version_expires_from_any_published_state(caller: HouseClient, house: Storage, name: str) -> None:
    new = caller.new_version(name)
    found = caller.applied(name, "InProcessToReleased")
    assert (found["versionId"], found["attributes"]["version"]) == (new["versionId"], {"127": "2.0"})
    assert (state(house, f"{name}-1"), pointers(house, name)) == ("expired", (new["versionId"],) * 2)
    assert [(each["step"], each.get("fromState"), each["toState"]) for each in caller.steps(name)] == [
        ("version", None, "inProcess"), ("transition", "inProcess", "released"), ("succession", name, "expired"),
    ]  # fmt: skip


def test_a_version_that_has_ended_before_keeps_its_end(caller: HouseClient, house: Storage, draft: Wire) -> None:
    """The scheduled jobs have not expired it yet."""
    ended = datetime.fromisoformat("2026-05-01T00:00:00+00:00")
    with tenant_scope(house):
        ElementVersion.objects.filter(id=ID["order-2"]).update(valid_until=ended)
    caller.applied("order", "InProcessToReleased", "")
    found = version(house, "order-2")
    assert (found["state"], found["valid_until"]) == ("expired", ended)


def test_a_new_version_of_an_expired_one_replaces_nothing(caller: HouseClient, house: Storage) -> None:
    before = version(house, "expired-1")
    caller.new_version("expired")
    found = caller.applied("expired", "InProcessToReleased")
    assert (found["state"], found["attributes"]["version"]) == ("released", {"127": "2.0"})
    assert [each["step"] for each in caller.steps("expired")] == ["version", "transition"]
    assert version(house, "expired-1") == before


def test_every_release_has_a_major_number_of_its_own(caller: HouseClient, house: Storage) -> None:
    """The number after the highest, for all transitions to a published state (D86)."""
    assert caller.new_version("order")["attributes"]["version"] == {"127": "2.1"}
    caller.applied("order", "InProcessToReadyForRelease")
    assert caller.applied("order", "ReadyForReleaseToReleased")["attributes"]["version"] == {"127": "3.0"}
    assert caller.new_version("order")["attributes"]["version"] == {"127": "3.1"}
    assert caller.applied("order", "InProcessToReleasedQA")["attributes"]["version"] == {"127": "4.0"}
    assert caller.new_version("order")["attributes"]["version"] == {"127": "4.1"}
    found = caller.applied("order", "InProcessToReleasedExternal")
    assert found["attributes"]["version"] == {"127": "5.0"}
    assert [each["state"] for each in found["related"]["releaseHistory"]] == ["expired"] * 4 + ["released"]
    with tenant_scope(house):
        numbers = ElementVersion.objects.filter(element_id=ID["order"]).order_by("major", "minor")
        assert [(row.major, row.minor, row.state) for row in numbers] == [
            (1, 0, "expired"), (2, 0, "expired"), (3, 0, "expired"), (4, 0, "expired"), (5, 0, "released")
        ]  # fmt: skip


def test_a_draft_with_a_lower_number_becomes_the_newest_by_its_release(
    desk: MakeClient, house: Storage, tmp_path: Path
) -> None:
    """Imports can have a draft 0.5 beside a released 3.0."""
    element, old, new = "eeeeeeee-0000-4000-8000-000000000000", "eeeeeeee-3333-4000-8000-000000000000", UNKNOWN
    common = {"facetName": "processes", "id": element, "type": "subProcess"}
    related = {"author": [user("anna")], "owner": [user("ben")]}
    lines = [
        {
            **common, "versionId": version, "state": state, "related": related,
            "attributes": {"name": {"1033": number}, "version": {"127": number}, "reasonForRevision": {"1033": "x"}},
        }
        for version, state, number in ((old, "released", "3.0"), (new, "inProcess", "0.5"))
    ]  # fmt: skip
    path = tmp_path / "lines.ndjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    import_elements(house, str(path))
    assert pointers(house, element) == (old, old)
    ben, vera = desk(user="ben"), desk(user="vera")
    found = ben.applied(new, "InProcessToReleased")
    assert (found["versionId"], found["attributes"]["version"]) == (new, {"127": "4.0"})
    assert pointers(house, element) == (new, new)
    for reader in (ben, vera):
        assert (reader.element(element)["versionId"], reader.element(element)["state"]) == (new, "released")
    assert (state(house, old), ben.element(old)["attributes"]["version"]) == ("expired", {"127": "3.0"})
    # The next version is a copy of it.
    made = desk(user="anna").new_version(element)
    assert (made["attributes"]["name"], made["attributes"]["version"]) == ({"1033": "0.5"}, {"127": "4.1"})


def test_a_version_retired_without_a_task_ends_today(desk: MakeClient, house: Storage, clock: SettableClock) -> None:
    """If the release cycle has such a transition; a version that ended earlier keeps its end."""
    change_cycle(house, Transition("Retire", "released", "expired", ((1033, "Retire"),)))
    ended = datetime.fromisoformat("2026-05-01T00:00:00+00:00")
    with tenant_scope(house):
        ElementVersion.objects.filter(id=ID["order-2"]).update(valid_until=ended)
    anna, ben, vera = desk(user="anna"), desk(user="ben"), desk(user="vera")
    clock.moment = NIGHT
    before = version(house, "released-1")
    refusal(anna.apply("released", "Retire"), 403, "unauthorized", "volatile",
            f"Retire of subProcess {ID['released-1']} requires the permission ApproveElement.")  # fmt: skip
    found = ben.applied("released", "Retire", "")
    assert (found["state"], found["attributes"]["validUntil"]) == ("expired", {"127": TODAY})
    assert version(house, "released-1") == before | {
        "state": "expired", "category": "retired", "valid_until": BERLIN_MIDNIGHT, "changed_on": NIGHT,
        "changed_by_id": UUID(ID["ben"]), "revision": Unlike(before["revision"]),
    }  # fmt: skip
    assert pointers(house, "released") == (ID["released-1"], None)
    assert vera.get(f"{DETAIL}/{ID['released']}").status_code == 404
    [step] = ben.steps("released")
    assert (step["step"], step["transitionId"], step["toState"]) == ("transition", "Retire", "expired")
    ben.applied("order", "Retire", "")
    assert (state(house, "order-2"), version(house, "order-2")["valid_until"]) == ("expired", ended)


def test_a_task_about_the_earlier_version_becomes_obsolete(desk: MakeClient, draft: Wire) -> None:
    """The version has expired, as the task requested."""
    anna, ben = desk(user="anna"), desk(user="ben")
    assert anna.apply("order-2", "ReleasedToRequestToExpire").status_code == 200
    [task] = ben.tasks()
    ben.applied("order", "InProcessToReleased", "")
    assert ben.tasks() == []
    [closed] = ben.tasks("?state=obsolete&assignee=all")
    assert (closed["id"], closed["decidedOn"], closed["decidedBy"]) == (task["id"], LOCAL_NIGHT, user_reference("ben"))


def test_any_other_step_of_its_version_makes_a_task_obsolete(desk: MakeClient, house: Storage) -> None:
    """Also between published states: the request starts from a state that the version has left."""
    change_cycle(house, Transition("TakeEffect", "released", "inEffect", ((1033, "Take effect"),)))
    anna, ben = desk(user="anna"), desk(user="ben")
    for name in ("released", "order"):
        anna.applied(name, "ReleasedToRequestToExpire", "")
    ben.applied("released", "TakeEffect", "")
    [closed] = ben.tasks("?state=obsolete&assignee=all")
    assert closed["element"] == version_reference("released", "released-1", "inEffect")
    assert (closed["decidedOn"], closed["decidedBy"]) == (LOCAL_AFTERNOON, user_reference("ben"))
    assert [each["element"]["id"] for each in ben.tasks()] == [ID["order"]]
    # A new request from the current state is possible at once.
    assert anna.offered("released") == ["InEffectToRequestToExpire"]
    assert anna.apply("released", "InEffectToRequestToExpire").status_code == 200
