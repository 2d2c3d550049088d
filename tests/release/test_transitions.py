"""Applying a transition, operation 18 (D21, D83 to D86, D89): the whole answer, what is stored, who sees what before and
after, and every way to ask for it. Who may apply which is in `test_transition_table.py`.

The storage of a rival, with the same ids, must be the same after every test.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from elements.models import Element, ElementChange, ElementVersion
from elements.reading.rows import VersionRow, read_versions
from elements.transfer.exporting import export_lines
from elements.transfer.importing import import_elements
from elements.writing.history import Author
from elements.writing.updating import Writer
from facets.blueprint.cycles import Transition
from facets.configuration import configuration_of
from release.lifecycle.transitions import TransitionRequest, apply_transition
from release.models import LifecycleEntry
from release.steps.days import start_of_day
from repository_site.core.problems import Conflict, Forbidden, NotFound
from storage.access.tokens import recognise_token
from storage.models import Storage
from storage.models.roles import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.factories import storage_context, token_for
from tests.release.house import API, BASE, ID, NO_END, PUBLISHED, Desk, Wire, error, one, user
from tests.release.test_tasks import change_cycle
from tests.release.test_transition_table import contents, first_contents, undone, user_reference, version_reference
from tests.tags import version_tag

pytestmark = pytest.mark.django_db
Sit = Callable[..., Desk]
UNKNOWN = "ffffffff-0000-4000-8000-000000000000"
DETAIL = "rest/facets/processes/views/detail/elements"
# A draft is made in the afternoon, and released when it is the next day already in Berlin, where the storage is.
AFTERNOON = datetime.fromisoformat("2026-07-01T14:00:00+00:00")
NIGHT = datetime.fromisoformat("2026-07-01T22:30:00.25+00:00")
LOCAL_AFTERNOON, LOCAL_NIGHT, TODAY = "2026-07-01T16:00:00", "2026-07-02T00:30:00.25", "2026-07-02T00:00:00"
BERLIN_MIDNIGHT = datetime.fromisoformat("2026-07-01T22:00:00+00:00")


class Clock:
    def __init__(self, now: datetime) -> None:
        self.now = now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock(AFTERNOON)
    monkeypatch.setattr(timezone, "now", lambda: found.now)
    return found


@pytest.fixture
def caller(desk: Sit) -> Desk:
    """Who may do everything, where it does not matter who it is."""
    return desk(Role.ARCHITECT)


@pytest.fixture(autouse=True)
def rival(house: Storage, db: None) -> Iterator[Storage]:
    """Nothing that is done here concerns it."""
    storage = Storage.objects.get(collection__key="rival", key=house.key)
    before = first_contents(storage)
    yield storage
    assert contents(storage) == before


def refusal(response: Any, status: int, type: str, output: str, *errors: str, message: str = "") -> None:
    """The whole body of an error."""
    data = [{"error": each} for each in errors]
    expected = {"message": message or errors[0], "output": output, "type": type, "data": data}
    assert (response.status_code, response.json()) == (status, expected)


def unreadable(response: Any, *errors: str, message: str = "") -> None:
    refusal(response, 400, "error", "inline", *errors, message=message)


def version(storage: Storage, name: str) -> Wire:
    """Every column."""
    with tenant_scope(storage):
        return dict(ElementVersion.objects.values().get(id=ID.get(name, name)))


def pointers(storage: Storage, name: str) -> tuple[str, str | None]:
    """The newest and the published version of an element."""
    with tenant_scope(storage):
        found = Element.objects.get(id=ID.get(name, name))
        return str(found.newest_id), str(found.published_id) if found.published_id else None


def entries(storage: Storage) -> int:
    with tenant_scope(storage):
        return LifecycleEntry.objects.count()


def state(storage: Storage, name: str) -> str:
    return str(version(storage, name)["state"])


# Releasing a draft of what is published.


@pytest.fixture
def draft(desk: Sit, clock: Clock) -> Wire:
    """A version 2.1 of order, made by anna in the afternoon, and then it is night."""
    anna = desk(user="anna")
    made = anna.new_version("order")
    reason = {"attributes": {"reasonForRevision": {"1033": "Faster."}}}
    found = one(anna.update({"versionId": made["versionId"], **reason}))
    clock.now = NIGHT
    return found


def released_draft(draft: Wire) -> Wire:
    """The whole of it, after ben has released it in the night."""
    own = draft["versionId"]
    attributes = {
        **draft["attributes"],
        "changedOn": {"127": LOCAL_NIGHT}, "isReleased": {"127": True}, "relOn": {"127": LOCAL_NIGHT},
        "state1": {"127": "released"}, "validFrom": {"127": TODAY}, "version": {"127": "3.0"},
    }  # fmt: skip
    history = [("order-1", "expired"), ("order-2", "expired"), (own, "released")]
    related = {
        **draft["related"],
        "changedBy": [user_reference("ben")], "relBy": [user_reference("ben")],
        "releaseHistory": [version_reference("order", name, state) for name, state in history],
    }  # fmt: skip
    return {**draft, "state": "released", "attributes": attributes, "related": related}


def expected_draft(draft: Wire) -> Wire:
    """The whole of it, before."""
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


def test_the_answer_is_the_released_version(desk: Sit, draft: Wire) -> None:
    assert draft == expected_draft(draft)
    ben = desk(user="ben")
    before = ben.get(f"{DETAIL}/{ID['order']}/versions").json()["elements"]
    response = ben.apply("order", "InProcessToReleased")
    assert response.json() == {"count": 1, "elements": [released_draft(draft)]}
    assert (response.status_code, response["api-version"]) == (200, "4.0")
    # It stands in order, too (D9).
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
    """Each version tells the release history as it is now; the one that was published has expired."""
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


def test_what_is_stored_of_both_versions(desk: Sit, house: Storage, rival: Storage, draft: Wire) -> None:
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
        "released_by_id": ben, "valid_from": BERLIN_MIDNIGHT, "revision": before[own]["revision"] + 1,
    }  # fmt: skip
    assert after["order-2"] == before["order-2"] | changed | {
        "state": "expired", "category": "retired", "valid_until": BERLIN_MIDNIGHT,
        "revision": before["order-2"]["revision"] + 1,
    }  # fmt: skip
    assert before["order-2"]["valid_until"] == datetime(9999, 12, 30, 23, tzinfo=UTC)
    # Everything else stays as it is, here and in the other storage.
    assert after["order-1"] == before["order-1"]
    assert {json.loads(line)["versionId"] for line in {*export_lines(house)} - lines} == {own, ID["order-2"]}
    assert list(export_lines(rival)) == others


def test_what_the_log_and_the_record_of_changes_say(desk: Sit, house: Storage, draft: Wire) -> None:
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


def test_the_clock_is_read_once_for_all_of_it(
    desk: Sit, house: Storage, draft: Wire, monkeypatch: pytest.MonkeyPatch
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
def test_whatever_published_state_the_earlier_version_is_in_it_expires(caller: Desk, house: Storage, name: str) -> None:
    new = caller.new_version(name)
    found = caller.applied(name, "InProcessToReleased")
    assert (found["versionId"], found["attributes"]["version"]) == (new["versionId"], {"127": "2.0"})
    assert (state(house, f"{name}-1"), pointers(house, name)) == ("expired", (new["versionId"],) * 2)
    assert [(each["step"], each.get("fromState"), each["toState"]) for each in caller.steps(name)] == [
        ("version", None, "inProcess"), ("transition", "inProcess", "released"), ("succession", name, "expired"),
    ]  # fmt: skip


def test_a_version_that_has_ended_before_keeps_its_end(caller: Desk, house: Storage, draft: Wire) -> None:
    """The clock had not come round to it."""
    ended = datetime.fromisoformat("2026-05-01T00:00:00+00:00")
    with tenant_scope(house):
        ElementVersion.objects.filter(id=ID["order-2"]).update(valid_until=ended)
    caller.applied("order", "InProcessToReleased", "")
    found = version(house, "order-2")
    assert (found["state"], found["valid_until"]) == ("expired", ended)


def test_a_version_of_what_has_expired_takes_nothing_over(caller: Desk, house: Storage) -> None:
    before = version(house, "expired-1")
    caller.new_version("expired")
    found = caller.applied("expired", "InProcessToReleased")
    assert (found["state"], found["attributes"]["version"]) == ("released", {"127": "2.0"})
    assert [each["step"] for each in caller.steps("expired")] == ["version", "transition"]
    assert version(house, "expired-1") == before


def test_every_release_has_a_major_number_of_its_own(caller: Desk, house: Storage) -> None:
    """The number after the highest, through all the ways to a release (D86)."""
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
    desk: Sit, house: Storage, tmp_path: Path
) -> None:
    """As imports can have it: a draft 0.5 beside a released 3.0."""
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
    # And the next one is made of it.
    made = desk(user="anna").new_version(element)
    assert (made["attributes"]["name"], made["attributes"]["version"]) == ({"1033": "0.5"}, {"127": "4.1"})


def test_what_is_retired_without_a_task_ends_today(desk: Sit, house: Storage, clock: Clock) -> None:
    """Where the release cycle has such a way; what has ended before keeps its end."""
    change_cycle(house, Transition("Retire", "released", "expired", ((1033, "Retire"),)))
    ended = datetime.fromisoformat("2026-05-01T00:00:00+00:00")
    with tenant_scope(house):
        ElementVersion.objects.filter(id=ID["order-2"]).update(valid_until=ended)
    anna, ben, vera = desk(user="anna"), desk(user="ben"), desk(user="vera")
    clock.now = NIGHT
    before = version(house, "released-1")
    refusal(anna.apply("released", "Retire"), 403, "unauthorized", "volatile",
            f"Retire of subProcess {ID['released-1']} needs the permission ApproveElement.")  # fmt: skip
    found = ben.applied("released", "Retire", "")
    assert (found["state"], found["attributes"]["validUntil"]) == ("expired", {"127": TODAY})
    assert version(house, "released-1") == before | {
        "state": "expired", "category": "retired", "valid_until": BERLIN_MIDNIGHT, "changed_on": NIGHT,
        "changed_by_id": UUID(ID["ben"]), "revision": before["revision"] + 1,
    }  # fmt: skip
    assert pointers(house, "released") == (ID["released-1"], None)
    assert vera.get(f"{DETAIL}/{ID['released']}").status_code == 404
    [step] = ben.steps("released")
    assert (step["step"], step["transitionId"], step["toState"]) == ("transition", "Retire", "expired")
    ben.applied("order", "Retire", "")
    assert (state(house, "order-2"), version(house, "order-2")["valid_until"]) == ("expired", ended)


def test_a_task_about_the_earlier_version_is_overtaken(desk: Sit, draft: Wire) -> None:
    """It was to expire, and now it has."""
    anna, ben = desk(user="anna"), desk(user="ben")
    assert anna.apply("order-2", "ReleasedToRequestToExpire").status_code == 200
    [task] = ben.tasks()
    ben.applied("order", "InProcessToReleased", "")
    assert ben.tasks() == []
    [closed] = ben.tasks("?state=obsolete&assignee=all")
    assert (closed["id"], closed["decidedOn"], closed["decidedBy"]) == (task["id"], LOCAL_NIGHT, user_reference("ben"))


def test_a_task_is_overtaken_by_any_other_step_of_its_version(desk: Sit, house: Storage) -> None:
    """Within what is published as well: what was asked for starts from the state that it was in."""
    change_cycle(house, Transition("TakeEffect", "released", "inEffect", ((1033, "Take effect"),)))
    anna, ben = desk(user="anna"), desk(user="ben")
    for name in ("released", "order"):
        anna.applied(name, "ReleasedToRequestToExpire", "")
    ben.applied("released", "TakeEffect", "")
    [closed] = ben.tasks("?state=obsolete&assignee=all")
    assert closed["element"] == version_reference("released", "released-1", "inEffect")
    assert (closed["decidedOn"], closed["decidedBy"]) == (LOCAL_AFTERNOON, user_reference("ben"))
    assert [each["element"]["id"] for each in ben.tasks()] == [ID["order"]]
    # It can be asked for at once from where it is now.
    assert anna.offered("released") == ["InEffectToRequestToExpire"]
    assert anna.apply("released", "InEffectToRequestToExpire").status_code == 200


# What readers see.


def test_a_viewer_sees_the_released_version_and_no_longer_the_one_before(desk: Sit, draft: Wire) -> None:
    vera, ben = desk(user="vera"), desk(user="ben")
    own = draft["versionId"]
    before = vera.element("order")
    assert (before["versionId"], before["state"]) == (ID["order-2"], "released")
    # Of what a viewer does not see nothing is told: neither the draft nor what has expired.
    assert before["related"]["releaseHistory"] == [version_reference("order", "order-2", "released")]
    hidden = "There is no element {} in the view detail of the facet processes."
    refusal(vera.get(f"{DETAIL}/{own}"), 404, "error", "volatile", hidden.format(own))
    ben.applied("order", "InProcessToReleased", "")
    expected = released_draft(draft)
    expected["related"]["releaseHistory"] = [version_reference("order", own, "released")]
    assert vera.element("order") == vera.element(own) == expected
    refusal(vera.get(f"{DETAIL}/{ID['order-2']}"), 404, "error", "volatile", hidden.format(ID["order-2"]))


def shapes_of(desk: Desk, name: str) -> list[tuple[str, str]]:
    """The elements of a diagram and the names they have."""
    response = desk.get(f"{DETAIL}/{ID.get(name, name)}/content")
    assert response.status_code == 200, response.content
    return [(each["id"], each["attributes"]["name"]["1033"]) for each in response.json()["elements"]]


def test_what_lives_in_the_diagrams_appears_and_vanishes_with_them(desk: Sit, house: Storage, draft: Wire) -> None:
    vera, ben = desk(user="vera"), desk(user="ben")
    old = [ID[f"order-2-{part}"] for part in ("start", "task", "end")]
    new = [each["id"] for each in draft["content"]]
    names = [f"{part} of order-2" for part in ("start", "task", "end")]

    def seen_by(desk: Desk, elements: list[str]) -> list[int]:
        return [desk.get(f"{DETAIL}/{each}").status_code for each in elements]

    assert (seen_by(vera, old), seen_by(vera, new)) == ([200] * 3, [404] * 3)
    assert shapes_of(vera, "order") == list(zip(old, names, strict=True))
    assert vera.get(f"{DETAIL}/{draft['versionId']}/content").status_code == 404
    ben.applied("order", "InProcessToReleased", "")
    assert (seen_by(vera, old), seen_by(vera, new)) == ([404] * 3, [200] * 3)
    assert shapes_of(vera, "order") == shapes_of(vera, draft["versionId"]) == list(zip(new, names, strict=True))
    assert vera.get(f"{DETAIL}/{ID['order-2']}/content").status_code == 404
    assert [pointers(house, each)[1] for each in (*old, *new)] == [None, None, None, *new]
    # Who sees drafts still sees both, and the diagram of the version before.
    assert (seen_by(ben, old), seen_by(ben, new)) == ([200] * 3, [200] * 3)
    assert shapes_of(ben, "order-2") == list(zip(old, names, strict=True))


def test_what_is_released_for_the_first_time_comes_into_the_lists_of_viewers(desk: Sit, house: Storage) -> None:
    vera, ben = desk(user="vera"), desk(user="ben")
    parts = [ID[f"inProcess-{part}"] for part in ("start", "task", "end")]

    def lists() -> tuple[bool, bool, bool]:
        listed = vera.get("rest/facets/processes/views/list/elements").json()["elements"]
        children = vera.element("house")["children"]
        found = vera.get(f"{DETAIL}?$filter=isReleased eq true AND name eq 'inProcess-1'").json()
        return (
            ID["inProcess"] in [each["id"] for each in listed],
            ID["inProcess"] in [each["id"] for each in children],
            found["count"] == 1,
        )

    assert lists() == (False, False, False)
    assert vera.get(f"{DETAIL}/{ID['inProcess']}").status_code == 404
    ben.applied("inProcess", "InProcessToReleased")
    assert lists() == (True, True, True)
    assert shapes_of(vera, "inProcess")[1] == (parts[1], "task of inProcess-1")
    assert [pointers(house, each)[1] for each in parts] == parts


@pytest.mark.parametrize(("name", "key"), [("inProcess", "InProcessToInReview"), ("inReview", "InReviewToInProcess")])
def test_within_draft_and_review_nothing_shows_for_viewers(desk: Sit, house: Storage, name: str, key: str) -> None:
    vera = desk(user="vera")
    desk(user="anna").applied(name, key)
    for each in (name, f"{name}-1", f"{name}-task"):
        assert vera.get(f"{DETAIL}/{ID[each]}").status_code == 404
    assert pointers(house, name) == (ID[f"{name}-1"], None)
    assert pointers(house, f"{name}-task") == (ID[f"{name}-task"], None)


def test_a_reference_names_the_version_that_its_reader_sees(desk: Sit, draft: Wire) -> None:
    vera, ben = desk(user="vera"), desk(user="ben")

    def child(desk: Desk) -> tuple[str, str]:
        [found] = [each for each in desk.element("house")["children"] if each["id"] == ID["order"]]
        return found["versionId"], found["state"]

    assert (child(vera), child(ben)) == ((ID["order-2"], "released"), (draft["versionId"], "inProcess"))
    ben.applied("order", "InProcessToReleased", "")
    assert child(vera) == child(ben) == (draft["versionId"], "released")


# Validity (D85).


def set_validity(desk: Desk, name: str, **moments: str | None) -> None:
    response = desk.update({"id": ID[name], "attributes": {each: {"127": value} for each, value in moments.items()}})
    assert response.status_code == 200, response.content


def test_a_beginning_that_is_set_stays(caller: Desk, house: Storage, clock: Clock) -> None:
    set_validity(caller, "inProcess", validFrom="2026-12-24T08:00:00")
    clock.now = NIGHT
    found = caller.applied("inProcess", "InProcessToReleased", "")
    assert found["attributes"]["validFrom"] == {"127": "2026-12-24T08:00:00"}
    assert found["attributes"]["relOn"] == {"127": LOCAL_NIGHT}
    assert version(house, "inProcess-1")["valid_from"] == datetime.fromisoformat("2026-12-24T07:00:00+00:00")


PASSED, ENDS_FIRST = "the end of its validity has passed", "its validity ends before it begins"
NOT_VALID: list[tuple[dict[str, str | None], str]] = [
    ({"validUntil": "2026-07-02T00:30:00"}, PASSED),
    ({"validUntil": "2026-07-02T00:30:00.25"}, PASSED),
    ({"validUntil": "2025-01-01T00:00:00"}, PASSED),
    ({"validFrom": "2027-01-01T00:00:00", "validUntil": "2026-12-31T00:00:00"}, ENDS_FIRST),
    ({"validFrom": "2027-01-01T00:00:00", "validUntil": "2027-01-01T00:00:00"}, ENDS_FIRST),
    ({"validFrom": "2025-01-01T00:00:00", "validUntil": "2025-06-01T00:00:00"}, PASSED),
]
VALID: list[dict[str, str | None]] = [
    {"validUntil": "2026-07-02T00:30:01"},
    {"validUntil": None},
    {"validFrom": "2027-01-01T00:00:00", "validUntil": "2027-01-01T00:00:01"},
    {"validFrom": "2020-01-01T00:00:00"},
]


def test_what_would_end_at_once_is_not_released(caller: Desk, house: Storage, clock: Clock) -> None:
    clock.now = NIGHT
    for moments, text in NOT_VALID:
        set_validity(caller, "inProcess", **{"validFrom": None, **moments})
        stored = contents(house)
        refusal(caller.apply("inProcess", "InProcessToReleased", "?ignoreWarnings=true"), 422, "error", "inline",
                f"subProcess {ID['inProcess-1']}: {text} (validUntil).", message="The element has 1 error.")  # fmt: skip
        assert contents(house) == stored
    # Handing it in for review is possible: the dates can still be changed.
    assert caller.applied("inProcess", "InProcessToReadyForRelease")["state"] == "readyForRelease"
    assert error(caller.apply("inProcess", "ReadyForReleaseToReleased"))[0] == 422


def test_what_is_still_valid_is_released(caller: Desk, clock: Clock) -> None:
    clock.now = NIGHT
    for moments in VALID:
        with undone():
            set_validity(caller, "inProcess", **moments)
            found = caller.applied("inProcess", "InProcessToReleased", "")["attributes"]
            assert found["validFrom"] == {"127": moments.get("validFrom", TODAY)}
            assert found.get("validUntil", {"127": None}) == {"127": moments.get("validUntil", NO_END)}


@pytest.mark.parametrize(
    ("moment", "zone", "begin"),
    [
        ("2026-07-01T22:30:00+00:00", "Europe/Berlin", "2026-07-01T22:00:00+00:00"),
        ("2026-07-01T21:59:59.999999+00:00", "Europe/Berlin", "2026-06-30T22:00:00+00:00"),
        ("2026-01-01T12:00:00+00:00", "Europe/Berlin", "2025-12-31T23:00:00+00:00"),
        # The day on which the clocks go forward, and back, at night.
        ("2026-03-29T12:00:00+00:00", "Europe/Berlin", "2026-03-28T23:00:00+00:00"),
        ("2026-10-25T12:00:00+00:00", "Europe/Berlin", "2026-10-24T22:00:00+00:00"),
        # There was no midnight; the day began at one.
        ("2018-11-04T12:00:00+00:00", "America/Sao_Paulo", "2018-11-04T03:00:00+00:00"),
        # Midnight came twice.
        ("2018-11-04T06:00:00+00:00", "America/Havana", "2018-11-04T04:00:00+00:00"),
        ("2026-07-01T12:00:00+00:00", "Pacific/Kiritimati", "2026-07-01T10:00:00+00:00"),
    ],
)
def test_a_day_begins_with_its_first_instant(moment: str, zone: str, begin: str) -> None:
    assert start_of_day(datetime.fromisoformat(moment), ZoneInfo(zone)) == datetime.fromisoformat(begin)


# Addresses.


def test_the_case_of_a_transition_does_not_matter(caller: Desk) -> None:
    for key in ("inprocesstoinreview", "INPROCESSTOINREVIEW", "iNpROCESStOiNrEVIEW"):
        with undone():
            assert caller.applied("inProcess", key)["state"] == "inReview"
            [step] = caller.steps("inProcess")
            assert step["transitionId"] == "InProcessToInReview"
            refusal(caller.apply("inProcess", key), 409, "error", "dialog",
                    f"subProcess {ID['inProcess-1']} is in the state inReview, InProcessToInReview is not offered; offered "
                    "now: InReviewToInProcess, InReviewToReadyForQA and InReviewToReadyForRelease.")  # fmt: skip


@pytest.mark.parametrize("name", ["inProcess", "inProcess-1"])
def test_elements_and_versions_in_any_case_with_or_without_a_slash(caller: Desk, name: str) -> None:
    shouted = ID[name].upper()
    assert caller.offered(shouted) == caller.offered(name)
    found = one(caller.post(f"rest/release/{shouted}/transitions/InProcessToInReview/"))
    assert (found["id"], found["versionId"], found["state"]) == (ID["inProcess"], ID["inProcess-1"], "inReview")


def test_an_element_stands_for_its_newest_version(desk: Sit, house: Storage, draft: Wire) -> None:
    """The published one is asked for by its own id, and by a viewer always."""
    anna, ben, vera = desk(user="anna"), desk(user="ben"), desk(user="vera")
    own = draft["versionId"]
    assert anna.offered("order") == anna.offered(own)
    assert anna.offered("order-2") == ["ReleasedToRequestToExpire"]
    refusal(anna.apply("order", "ReleasedToRequestToExpire"), 409, "error", "dialog",
            f"subProcess {own} is in the state inProcess, ReleasedToRequestToExpire is not offered; offered now: "
            "InProcessToInReview, InProcessToReadyForQA and InProcessToReadyForRelease.")  # fmt: skip
    refusal(ben.apply("order-2", "InProcessToReleased"), 409, "error", "dialog",
            f"subProcess {ID['order-2']} is in the state released, InProcessToReleased is not offered; "
            "nothing is offered now.")  # fmt: skip
    refusal(ben.apply("order-1", "InProcessToReleased"), 409, "error", "dialog",
            f"subProcess {ID['order-1']} is in the state expired, InProcessToReleased is not offered; "
            "nothing is offered now.")  # fmt: skip
    refusal(vera.apply("order", "InProcessToReleased"), 403, "unauthorized", "volatile",
            f"InProcessToReleased of subProcess {ID['order-2']} needs the permission ApproveElement.")  # fmt: skip
    refusal(vera.apply(own, "InProcessToReleased"), 404, "error", "volatile", f"There is no element {own}.")
    assert one(anna.apply("order-2", "ReleasedToRequestToExpire"))["versionId"] == ID["order-2"]
    assert state(house, own) == "inProcess"


def writer_of(desk: Desk) -> Writer:
    """For what happens between finding a version and holding it."""
    caller = recognise_token(desk.token, storage_context(desk.storage))
    author = Author(caller.element_id, caller.label, "")
    return Writer(configuration_of(desk.storage), caller, ZoneInfo(desk.storage.time_zone), author)


def step_from(desk: Desk, stale: VersionRow, key: str, named: str) -> str:
    with tenant_scope(desk.storage):
        return apply_transition(writer_of(desk), stale, TransitionRequest(transition=key), named=named)


def found_by(storage: Storage, name: str) -> VersionRow:
    with tenant_scope(storage):
        return read_versions([ID.get(name, name)])[ID.get(name, name)]


def test_an_element_is_looked_for_again_when_its_draft_is_gone(desk: Sit, house: Storage, draft: Wire) -> None:
    """Somebody deleted it meanwhile: the element now stands for its published version; the draft itself is unknown."""
    anna, own, expire = desk(user="anna"), draft["versionId"], "ReleasedToRequestToExpire"
    stale = found_by(house, own)
    assert anna.post(f"{DETAIL}/{own}/delete").status_code == 200
    stored = contents(house)
    with pytest.raises(NotFound) as caught:
        step_from(anna, stale, expire, own)
    assert caught.value.message == f"There is no element {own}."
    with pytest.raises(Conflict) as refused:
        step_from(anna, stale, "InProcessToInReview", ID["order"])
    assert refused.value.message == (
        f"subProcess {ID['order-2']} is in the state released, InProcessToInReview is not offered; "
        "offered now: ReleasedToRequestToExpire."
    )
    assert contents(house) == stored
    assert step_from(anna, stale, expire, ID["order"]) == ID["order-2"]
    [task] = anna.tasks("?requester=me")
    assert task["element"] == version_reference("order", "order-2", "released")


def test_an_element_is_looked_for_again_when_it_has_a_new_draft(desk: Sit, house: Storage) -> None:
    anna, ben = desk(user="anna"), desk(user="ben")
    stale = found_by(house, "order-2")
    own = anna.new_version("order")["versionId"]
    for caller, named in ((ben, ID["order-2"]), (desk(Role.VIEWER), ID["order"])):
        # A version is what it is, and so is the element of somebody who does not see drafts.
        with pytest.raises((Conflict, Forbidden)) as caught:
            step_from(caller, stale, "InProcessToReleased", named)
        assert caught.value.message.partition(": ")[0].count(ID["order-2"]) == 1
    assert step_from(anna, stale, "InProcessToInReview", ID["order"]) == own
    assert (state(house, own), state(house, "order-2")) == ("inReview", "released")


def test_an_element_that_is_gone_altogether(desk: Sit, house: Storage) -> None:
    cora = desk(user="cora")
    stale = found_by(house, "inProcess-1")
    assert cora.post(f"{DETAIL}/{ID['inProcess']}/delete").status_code == 200
    for name in ("inProcess", "inProcess-1"):
        with pytest.raises(NotFound) as caught:
            step_from(cora, stale, "InProcessToInReview", ID[name])
        assert caught.value.message == f"There is no element {ID[name]}."


@pytest.mark.parametrize(("name", "type"), [("anna", "user"), ("crew", "userGroup"), ("inProcess-task", "task")])
def test_what_has_no_versions_has_no_transitions(caller: Desk, house: Storage, name: str, type: str) -> None:
    stored = contents(house)
    assert caller.get(f"release/{ID[name]}/transitions").json() == {"count": 0, "values": []}
    assert caller.post(f"rest/release/{ID[name]}/transitions").json() == {"count": 0, "transitions": []}
    for key in ("InProcessToReleased", "Whatever"):
        refusal(caller.apply(name, key), 404, "error", "volatile",
                f"There is no transition of a {type}: it has no versions.")  # fmt: skip
    assert contents(house) == stored


def test_ids_that_nothing_has(caller: Desk) -> None:
    missing = f"There is no element {UNKNOWN}."
    for response in (
        caller.get(f"release/{UNKNOWN.upper()}/transitions"),
        caller.post(f"rest/release/{UNKNOWN}/transitions"),
        caller.apply(UNKNOWN, "InProcessToReleased"),
        caller.apply(UNKNOWN, "Whatever"),
    ):
        refusal(response, 404, "error", "volatile", missing)
    for name in ("attic", UNKNOWN[:-1], f"{{{UNKNOWN}}}", UNKNOWN.replace("-", "")):
        unreadable(caller.get(f"release/{name}/transitions"), f"{name!r} is no GUID.")
        unreadable(caller.apply(name, "InProcessToReleased"), f"{name!r} is no GUID.")


def test_the_transition_is_named_in_messages_without_harm(caller: Desk) -> None:
    for key in ("x" * 300, "%00", "%0A", "%F0%9F%98%80", "a%20b", "'", '"', "%25", "ſ"):
        response = caller.apply("inProcess", key)
        assert error(response)[:3] == (404, "error", "volatile")
        assert response.json()["message"].startswith("There is no transition ")
        assert response.json()["message"].isprintable()
        assert len(response.json()["message"]) < 600


def test_other_tenants(house: Storage, rival: Storage, api: ApiClient, draft: Wire) -> None:
    """An id that only the other storage has is unknown, and so is its token."""
    own = draft["versionId"]

    def release(address: str, name: str) -> Any:
        path = f"{address}/release/{ID.get(name, name)}/transitions/InProcessToReleased"
        return api.post(path, b"", content_type="application/json", token=token)

    with undone():
        token = token_for(rival, Role.ADMINISTRATOR)
        stored = contents(house)
        listed = api.get(f"/rival/house/_api/release/{own}/transitions", token=token)
        for response in (listed, release("/rival/house/_api", own)):
            refusal(response, 404, "error", "volatile", f"There is no element {own}.")
        unknown = "The token is unknown here, expired or revoked."
        refusal(release(API, own), 401, "unauthorized", "volatile", unknown)
        # What both have is one's own.
        assert one(release("/rival/house/_api", "inProcess"))["attributes"]["name"]["1033"] == "Rival inProcess-1"
        assert contents(house) == stored
    assert state(house, own) == "inProcess"


# ignoreWarnings (D89). The new version of `released` has no reason for its revision, so that releasing it warns.


@pytest.fixture
def warned(caller: Desk) -> str:
    found: str = caller.new_version("released")["versionId"]
    return found


SAYS_TRUE = ("?ignoreWarnings=true", "?ignoreWarnings=TRUE", "/true", "/True/", "/true?ignoreWarnings=TRUE")
SAYS_FALSE = (
    "", "?ignoreWarnings=false", "?ignoreWarnings=FALSE", "/false", "/False", "/false?ignoreWarnings=false", "?x=true",
)  # fmt: skip
SAYS_NOTHING = {
    "?ignoreWarnings=yes": ["must be true or false, not 'yes'."],
    "?ignoreWarnings=1": ["must be true or false, not '1'."],
    "?ignoreWarnings=": ["must be true or false, not ''."],
    "?ignoreWarnings=true&ignoreWarnings=true": ["is given more than once."],
    "?ignoreWarnings=false&ignoreWarnings=true": ["is given more than once."],
    "/maybe": ["must be true or false, not 'maybe'."],
    "/true?ignoreWarnings=false": ["the address and the parameter say different things."],
    "/false?ignoreWarnings=true": ["the address and the parameter say different things."],
    "/maybe?ignoreWarnings=yes": ["must be true or false, not 'maybe'.", "must be true or false, not 'yes'."],
}


def test_warnings_are_ignored_when_asked_to(caller: Desk, house: Storage, warned: str) -> None:
    for ending in SAYS_TRUE:
        with undone():
            assert caller.applied("released", "InProcessToReleased", ending)["state"] == "released"
            assert state(house, warned) == "released"


def test_warnings_stop_it_otherwise(caller: Desk, house: Storage, warned: str) -> None:
    stored = contents(house)
    text = f"subProcess {warned}: no reason for the revision is given (reasonForRevision)."
    for ending in SAYS_FALSE:
        refusal(caller.apply("released", "InProcessToReleased", ending), 422, "warning", "dialog", text,
                message="The element has 1 warning.")  # fmt: skip
    assert contents(house) == stored


def test_anything_else_cannot_be_read(caller: Desk, house: Storage, warned: str) -> None:
    stored = contents(house)
    for ending, errors in SAYS_NOTHING.items():
        response = caller.apply("released", "InProcessToReleased", ending)
        texts = [f"ignoreWarnings: {each}" for each in errors]
        assert sorted(error(response)[3]) == texts, ending
        assert error(response)[:3] == (400, "error", "inline")
        many = f"{len(texts)} parameters cannot be used."
        assert response.json()["message"] == (texts[0] if len(texts) == 1 else many)
    assert contents(house) == stored


def test_dollar_parameters_are_refused(caller: Desk, house: Storage) -> None:
    response = caller.apply("inProcess", "InProcessToReleased", "?$select=name")
    unreadable(response, "$select: this operation takes no $ parameters.")
    response = caller.apply("inProcess", "InProcessToReleased", "?$select=name&ignoreWarnings=x")
    unreadable(response, "$select: this operation takes no $ parameters.",
               "ignoreWarnings: must be true or false, not 'x'.", message="2 parameters cannot be used.")  # fmt: skip
    response = caller.get(f"release/{ID['inProcess']}/transitions?$filter=x")
    unreadable(response, "$filter: this operation takes no $ parameters.")
    assert state(house, "inProcess-1") == "inProcess"


# The body (D89).


def send(
    desk: Desk, content: bytes | str, key: str = "InProcessToInReview", name: str = "inProcess", **more: Any
) -> Any:
    more.setdefault("content_type", "application/json")
    address = f"{API}/release/{ID.get(name, name)}/transitions/{key}"
    return desk.api.generic("POST", address, content, token=desk.token, **more)


COMMENTS = {
    "": None, "{}": None, " \n": None, " {} ": None, '{"comment": null}': None, '{"comment": ""}': None,
    '{"validUntil": null}': None,
    '{"comment": "Looks good."}': "Looks good.",
    '{"comment": " two\\nlines \\u00e4 😀 "}': " two\nlines ä 😀 ",
    json.dumps({"comment": "c" * 10_000}): "c" * 10_000,
}  # fmt: skip


def test_a_body_may_hold_a_comment(caller: Desk) -> None:
    for content, comment in COMMENTS.items():
        with undone():
            assert one(send(caller, content))["state"] == "inReview"
            [step] = caller.steps("inProcess")
            assert step.get("comment") == comment


def test_no_content_type_is_needed_without_a_body(caller: Desk) -> None:
    assert one(send(caller, b"", content_type=""))["state"] == "inReview"


TOO_LONG = "comment: expected a text of up to 10000 characters."
NO_MOMENT = "validUntil: expected a date-time such as 2026-12-31T00:00:00."
NO_OBJECT = "The body must be empty or an object with comment and validUntil."


UNREADABLE: list[tuple[Any, list[str]]] = [
    ([], [NO_OBJECT]),
    ("text", [NO_OBJECT]),
    (1, [NO_OBJECT]),
    ([{"comment": "x"}], [NO_OBJECT]),
    ({"comment": "c" * 10_001}, [TOO_LONG]),
    ({"comment": 1}, [TOO_LONG]),
    ({"comment": ["x"]}, [TOO_LONG]),
    ({"comment": False}, [TOO_LONG]),
    ({"Comment": "x"}, ["Comment: unknown field; there are comment and validUntil."]),
    ({"ignoreWarnings": True}, ["ignoreWarnings: unknown field; there are comment and validUntil."]),
    ({"validUntil": "tomorrow"}, [NO_MOMENT]),
    ({"validUntil": "2026-02-30T00:00:00"}, [NO_MOMENT]),
    ({"validUntil": 20261231}, [NO_MOMENT]),
    ({"validUntil": ""}, [NO_MOMENT]),
    ({"comment": 1, "validUntil": "x"}, [TOO_LONG, NO_MOMENT]),
]
BROKEN = (
    '{"comment": "x"', '{"comment": "a", "comment": "b"}', '{"comment": "\\u0000"}', '{"comment": "\\ud800"}',
    "null", "x",
)  # fmt: skip


def test_bodies_that_cannot_be_read(caller: Desk, house: Storage) -> None:
    stored = contents(house)
    for body, errors in UNREADABLE:
        message = "" if len(errors) == 1 else f"The body has {len(errors)} problems."
        unreadable(send(caller, json.dumps(body)), *errors, message=message)
    for content in BROKEN:
        assert error(send(caller, content))[:3] == (400, "error", "inline"), content
    assert contents(house) == stored


def test_unknown_fields_are_told_in_their_order(caller: Desk) -> None:
    names = ["zeta", "alpha", "mid", "omega", "beta", "kappa", "nu", "eta"]
    errors = [f"{name}: unknown field; there are comment and validUntil." for name in names]
    unreadable(send(caller, json.dumps(dict.fromkeys(names, 1))), *errors, message="The body has 8 problems.")


def test_unknown_fields_are_told_without_harm(caller: Desk) -> None:
    response = send(caller, json.dumps({"a\nb": 1, "c" * 100: 2, "comment": 3}))
    assert (response.status_code, response.json()["message"]) == (400, "The body has 3 problems.")
    assert [each["error"] for each in response.json()["data"]] == [
        "a b: unknown field; there are comment and validUntil.",
        f"{'c' * 40}…: unknown field; there are comment and validUntil.",
        TOO_LONG,
    ]


def test_a_body_of_another_kind(caller: Desk, house: Storage) -> None:
    response = send(caller, "comment=x", content_type="application/x-www-form-urlencoded")
    refusal(response, 415, "error", "volatile", "Bodies must be application/json.")
    assert state(house, "inProcess-1") == "inProcess"


def test_an_end_is_asked_for_only_where_that_is_the_request(desk: Sit, house: Storage) -> None:
    anna, ben = desk(user="anna"), desk(user="ben")
    later = {"validUntil": "2027-12-31T00:00:00"}
    text = "validUntil: is possible with a request to end a version only, not with {}."
    for caller, key in ((anna, "InProcessToInReview"), (ben, "InProcessToReleased")):
        refusal(caller.apply("inProcess", key, "", later), 422, "error", "inline", text.format(key))
    # What is answered before it (D83) is answered before it.
    assert anna.apply("inProcess", "InProcessToReleased", "", later).status_code == 403
    assert anna.apply("inProcess", "InReviewToInProcess", "", later).status_code == 409
    assert (state(house, "inProcess-1"), entries(house)) == ("inProcess", 0)
    assert anna.apply("released", "ReleasedToRequestToExpire", "", later).status_code == 200
    [task] = ben.tasks()
    assert task["validUntil"] == "2027-12-31T00:00:00"
    # A request for something else has no end either.
    effect = Transition("TakeEffect", "released", "inEffect", ((1033, "Take effect"),), "Approve effect")
    change_cycle(house, effect)
    refusal(anna.apply("order", "TakeEffect", "", later), 422, "error", "inline", text.format("TakeEffect"))
    assert (anna.tasks("?requester=me"), entries(house)) == ([task], 1)


def test_an_end_that_does_not_exist_or_has_passed(caller: Desk, house: Storage) -> None:
    skipped = caller.apply("released", "ReleasedToRequestToExpire", "", {"validUntil": "2027-03-28T02:30:00"})
    refusal(skipped, 422, "error", "inline", "validUntil: does not exist in Europe/Berlin: the clocks are put forward "
            "over 2027-03-28T02:30:00 there.")  # fmt: skip
    # What cannot be read comes first.
    both = caller.apply(
        "released", "ReleasedToRequestToExpire", "", {"validUntil": "2027-03-28T02:30:00", "comment": 1}
    )
    unreadable(both, TOO_LONG)
    past = caller.apply("released", "ReleasedToRequestToExpire", "", {"validUntil": "2026-01-10T00:00:00"})
    refusal(past, 422, "error", "inline",
            "validUntil: must be later than now; leave it out to let the version end when it is accepted.")  # fmt: skip
    assert (caller.tasks("?assignee=all"), entries(house)) == ([], 0)


# Once.


def test_a_key_makes_it_happen_once(desk: Sit, house: Storage) -> None:
    ben, key = desk(user="ben"), {"Idempotency-Key": "release-1"}
    address = f"release/{ID['inProcess']}/transitions/InProcessToReleased"
    first, second = ben.post(address, **key), ben.post(address, **key)
    assert (first.status_code, second.status_code) == (200, 200)
    assert (second.content, second["ETag"]) == (first.content, first["ETag"])
    assert first["X-Request-ID"] != second["X-Request-ID"]
    assert entries(house) == 1
    assert version(house, "inProcess-1")["revision"] == 1
    # Another request under the same key, and the same without it.
    used = "The Idempotency-Key was used for a different request. Use a new key for each request."
    refusal(ben.post(f"{address}?ignoreWarnings=true", **key), 422, "error", "inline", used)
    refusal(ben.post(address, {"comment": "x"}, **key), 422, "error", "inline", used)
    other = ben.post(f"release/{ID['inReview']}/transitions/InReviewToInProcess", **key)
    refusal(other, 422, "error", "inline", used)
    assert error(ben.post(address))[0] == 409
    assert (entries(house), state(house, "inReview-1")) == (1, "inReview")
    # Keys are the caller's own.
    assert one(desk(user="anna").post(f"release/{ID['inReview']}/transitions/InReviewToInProcess", **key))


def test_a_key_is_free_again_after_a_refusal(caller: Desk, house: Storage, warned: str) -> None:
    key = {"Idempotency-Key": "release-2"}
    address = f"release/{warned}/transitions/InProcessToReleased"
    assert error(caller.post(address, **key))[:2] == (422, "warning")
    assert one(caller.post(f"{address}?ignoreWarnings=true", **key))["state"] == "released"
    assert one(caller.post(f"{address}?ignoreWarnings=true", **key))["state"] == "released"
    assert entries(house) == 3


def test_a_key_that_is_none(caller: Desk, house: Storage) -> None:
    for key in ("", " ", "ä", "x" * 256):
        response = caller.post(f"release/{ID['inProcess']}/transitions/InProcessToReleased", **{"Idempotency-Key": key})
        unreadable(response, "The Idempotency-Key must be 1 to 255 visible ASCII characters.")
    assert entries(house) == 0


def test_only_what_was_read_is_changed(desk: Sit, house: Storage) -> None:
    anna, ben = desk(user="anna"), desk(user="ben")
    tag = ben.get(f"{DETAIL}/{ID['inProcess']}")["ETag"]
    assert one(anna.update({"id": ID["inProcess"], "attributes": {"scope": {"1033": "All"}}}))
    address = f"release/{ID['inProcess']}/transitions/InProcessToReleased"
    stale = "The element has changed since it was read; read it again."
    refusal(ben.post(address, **{"If-Match": tag}), 412, "error", "dialog", stale)
    assert (state(house, "inProcess-1"), entries(house)) == ("inProcess", 0)
    unreadable(ben.post(address, **{"If-Match": "tag"}),
               'If-Match must be * or a list of tags in quotes, such as "1a2b.3".')  # fmt: skip
    fresh = ben.get(f"{DETAIL}/{ID['inProcess-1']}")["ETag"]
    response = ben.post(address, **{"If-Match": f"{tag}, {fresh}"})
    assert (response.status_code, response["ETag"]) == (200, f'"{ID["inProcess-1"]}.2"')
    assert version_tag(ben.get(f"{DETAIL}/{ID['inProcess']}")["ETag"]) == response["ETag"] != version_tag(fresh)


def test_any_tag_will_do_for_a_star(caller: Desk) -> None:
    address = f"release/{ID['inProcess']}/transitions/InProcessToReleased"
    assert one(caller.post(address, **{"If-Match": "*"}))["state"] == "released"


def test_a_step_renews_the_tag_of_the_version_that_is_replaced(caller: Desk, draft: Wire) -> None:
    """So that who has read it notices (D84)."""
    tag = version_tag(caller.get(f"{DETAIL}/{ID['order-2']}")["ETag"])
    caller.applied("order", "InProcessToReleased", "")
    assert version_tag(caller.get(f"{DETAIL}/{ID['order-2']}")["ETag"]) == f'"{ID["order-2"]}.1"' != tag


def test_the_second_of_two_finds_that_it_has_happened(desk: Sit, house: Storage) -> None:
    ben, dora = desk(user="ben"), desk(user="dora")
    assert ben.apply("inProcess", "InProcessToReleased").status_code == 200
    refusal(dora.apply("inProcess", "InProcessToReleased"), 409, "error", "dialog",
            f"subProcess {ID['inProcess-1']} is in the state released, InProcessToReleased is not offered; "
            "nothing is offered now.")  # fmt: skip
    assert entries(house) == 1


# api-version and methods.


def test_older_clients_find_the_element_in_values(caller: Desk, clock: Clock) -> None:
    with undone():
        expected = caller.applied("inProcess", "InProcessToInReview")
    for label in ("1.0", "3.0"):
        with undone():
            address = f"release/{ID['inProcess']}/transitions/InProcessToInReview"
            response = caller.post(address, **{"api-version": label})
            assert response.json() == {"count": 1, "values": [expected]}
            assert (response.status_code, response["api-version"]) == (200, label)


def test_the_label_may_stand_in_the_query(caller: Desk, house: Storage) -> None:
    response = caller.apply("inProcess", "InProcessToInReview", "?api-version=3.0")
    assert (list(response.json()), response["api-version"]) == (["count", "values"], "3.0")
    unreadable(caller.apply("inProcess", "InReviewToInProcess", "?api-version=5.0"),
               "api-version '5.0' is not supported by this operation; supported: 1.0, 2.0, 3.0, 4.0.")  # fmt: skip
    for response in (
        caller.get(f"release/{ID['inProcess']}/transitions", **{"api-version": "2.0"}),
        caller.post(f"release/{ID['inProcess']}/transitions", **{"api-version": "2.0"}),
    ):
        unreadable(response, "api-version '2.0' is not supported by this operation; supported: 1.0.")
    assert state(house, "inProcess-1") == "inReview"


def test_other_methods(caller: Desk, house: Storage) -> None:
    stored = contents(house)
    allowed = {
        "transitions/InProcessToReleased": "POST",
        "transitions/InProcessToReleased/true": "POST",
        "transitions": "GET, HEAD, POST",
    }
    for prefix, method in product(("release", "rest/release"), ("GET", "PUT", "PATCH", "DELETE")):
        for path, methods in allowed.items():
            if method not in methods:
                response = caller.api.generic(method, f"{API}/{prefix}/{ID['inProcess']}/{path}", token=caller.token)
                assert response["Allow"] == methods
                refusal(response, 405, "error", "volatile", f"{method} is not possible here; allowed: {methods}.")
    assert contents(house) == stored


def test_reading_the_list_takes_no_body(caller: Desk) -> None:
    unreadable(
        caller.post(f"release/{ID['inProcess']}/transitions", {"comment": "x"}), "This operation reads: send no body."
    )


def test_only_json_is_answered(caller: Desk, house: Storage) -> None:
    response = caller.post(f"release/{ID['inProcess']}/transitions/InProcessToReleased", Accept="text/html")
    refusal(response, 406, "error", "volatile", "Answers are application/json only.")
    assert state(house, "inProcess-1") == "inProcess"


# Editing before and after.


def scope(desk: Desk, name: str, text: str) -> Any:
    return desk.update({"id": ID[name], "attributes": {"scope": {"1033": text}}})


def test_what_is_in_review_is_not_edited_until_it_is_sent_back(desk: Sit, house: Storage) -> None:
    anna, ben, cora = desk(user="anna"), desk(user="ben"), desk(user="cora")
    assert one(scope(anna, "inProcess", "first"))["attributes"]["scope"] == {"1033": "first"}
    anna.applied("inProcess", "InProcessToInReview")
    stored = contents(house)
    locked = "{}: {} cannot be changed in the state inReview; send it back first."
    shape = {"values": [{"shapeInfo": {"index": 0}, "element": {"type": "task", "attributes": {}}}]}
    for caller in (anna, cora):
        response = scope(caller, "inProcess", "second")
        refusal(response, 409, "error", "dialog", locked.format(f"elements[0] {ID['inProcess']}", "scope"))
        response = caller.update({"id": ID["inProcess-task"], "attributes": {"name": {"1033": "Other"}}})
        refusal(response, 409, "error", "dialog", locked.format(f"elements[0] {ID['inProcess-task']}", "name"))
        response = caller.post(f"rest/facets/processes/views/diagram/elements/{ID['inProcess']}/content", shape)
        refusal(response, 409, "error", "dialog", locked.format(ID["inProcess-1"], "the diagram"))
        response = caller.post(f"{DETAIL}/{ID['inProcess']}/delete")
        reason = f"{ID['inProcess-1']}: it is in the state inReview; only a draft can be deleted."
        refusal(response, 409, "error", "dialog", reason)
    # A state is no field that one writes.
    assert error(anna.update({"id": ID["inProcess"], "state": "inProcess"}))[0] == 409
    assert contents(house) == stored
    ben.applied("inProcess", "InReviewToInProcess", "", {"comment": "Please say who."})
    assert one(scope(anna, "inProcess", "second"))["attributes"]["scope"] == {"1033": "second"}
    assert one(anna.update({"id": ID["inProcess-task"], "attributes": {"name": {"1033": "Other"}}}))
    told = [(each["transitionId"], each["caller"], each.get("comment")) for each in anna.steps("inProcess")]
    assert [(key, comment) for key, _, comment in told] == [
        ("InProcessToInReview", None), ("InReviewToInProcess", "Please say who.")
    ]  # fmt: skip
    assert told[0][1] != told[1][1]


def test_what_is_released_is_not_edited(desk: Sit, house: Storage) -> None:
    """But for what may be changed in released versions."""
    anna = desk(user="anna")
    desk(user="ben").applied("inProcess", "InProcessToReleased")
    text = f"elements[0] {ID['inProcess']}: scope cannot be changed in the state released; make a new version."
    refusal(scope(anna, "inProcess", "late"), 409, "error", "dialog", text)
    assert error(anna.update({"id": ID["inProcess-task"], "attributes": {"name": {"1033": "Other"}}}))[0] == 409
    found = one(anna.update({"id": ID["inProcess"], "related": {"reviewer": [user("dora")]}}))
    assert (found["state"], found["related"]["reviewer"]) == ("released", [user_reference("dora")])
    assert pointers(house, "inProcess") == (ID["inProcess-1"], ID["inProcess-1"])


def test_steps_within_draft_and_review_change_the_state_and_nothing_else(
    desk: Sit, house: Storage, clock: Clock
) -> None:
    anna, dora = desk(user="anna"), desk(user="dora")
    before = version(house, "inProcess-1")
    clock.now = NIGHT
    response = anna.apply("inProcess", "InProcessToReadyForQA")
    assert response.status_code == 200
    after = version(house, "inProcess-1")
    assert after == before | {
        "state": "readyForQa", "category": "review", "changed_on": NIGHT, "changed_by_id": UUID(ID["anna"]),
        "revision": before["revision"] + 1,
    }  # fmt: skip
    [change] = anna.get(f"{DETAIL}/{ID['inProcess']}/history").json()["values"]
    assert (change["action"], change["before"], change["after"], change["requestId"]) == (
        "transitioned", {"state": "inProcess"}, {"state": "readyForQa"}, response["X-Request-ID"]
    )  # fmt: skip
    # Back, by somebody who approves: again the state, and who did it.
    dora.applied("inProcess", "ReadyForQAToInProcess", "")
    assert version(house, "inProcess-1") == after | {
        "state": "inProcess", "category": "draft", "changed_by_id": UUID(ID["dora"]), "revision": before["revision"] + 2
    }  # fmt: skip


def test_a_request_changes_nothing_of_the_version(caller: Desk, house: Storage) -> None:
    """It is the task that waits; the record of changes has nothing to tell."""
    before = version(house, "released-1")
    response = caller.apply("released", "ReleasedToRequestToExpire")
    assert response["ETag"] == f'"{ID["released-1"]}.0"'
    assert version(house, "released-1") == before
    assert caller.get(f"{DETAIL}/{ID['released']}/history").json() == {"count": 0, "values": []}
    assert [each["step"] for each in caller.steps("released")] == ["request"]


def test_the_request_id_of_the_client_is_logged(caller: Desk) -> None:
    address = f"release/{ID['inProcess']}/transitions/InProcessToInReview"
    assert caller.post(address, **{"X-Request-ID": "trace-42"})["X-Request-ID"] == "trace-42"
    [step] = caller.steps("inProcess")
    assert step["requestId"] == "trace-42"
