"""Tasks (D23, D90 to D92): the life of `Approve expiry`, from the request to its end, and who may do what with it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.utils import timezone

from elements.models import Element, ElementChange, ElementVersion, Reference
from facets.blueprint.cycles import Transition
from facets.changing.changes import change_configuration
from facets.rows.reading import read_blueprint
from release.models import LifecycleEntry, Task
from release.schedule.clock import run_lifecycle
from storage.access.callers import Caller
from storage.access.tokens import recognise_token
from storage.models import Storage, StorageMembership
from storage.models.roles import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.cycles import set_state
from tests.factories import StaffAccountFactory, storage_context, token_for
from tests.release.house import API, BASE, ID, NO_END, PEOPLE, Desk, Wire, error
from tests.tags import version_tag

pytestmark = pytest.mark.django_db
Sit = Callable[..., Desk]
TYPE = "Approve expiry"
WAY = {
    "released": "ReleasedToRequestToExpire",
    "inEffect": "InEffectToRequestToExpire",
    "order": "ReleasedToRequestToExpire",
    "house": "ReleasedToRequestToExpire",
}
NOW, TODAY = "2026-07-01T12:00:00", "2026-07-01T00:00:00"
LATER, LATER_INSTANT = "2026-07-20T08:30:00", "2026-07-20T06:30:00+00:00"
VERBS = ("accept", "reject", "withdraw", "delegate")
UNKNOWN = "ffffffff-0000-4000-8000-000000000000"
FOUR_EYES = "Nobody decides on their own request (four eyes); this needs the role administrator."
ANOTHERS = "The task is for another approver; this needs the role administrator."
NOT_YOURS = "Only who has made the request withdraws it; this needs the role administrator."
LIFECYCLE = "The lifecycle of elements needs the role analyzer or one above it."
KINDS = {
    401: ("unauthorized", "volatile"),
    403: ("unauthorized", "volatile"),
    404: ("error", "volatile"),
    405: ("error", "volatile"),
    409: ("error", "dialog"),
}
KINDS |= {400: ("error", "inline"), 422: ("error", "inline")}
TABLES = (
    "elements_element", "elements_elementversion", "elements_reference", "elements_shape", "elements_shapeflow",
    "elements_elementchange", "release_task", "release_lifecycleentry",
)  # fmt: skip


class Clock:
    """What the server takes for the time; a test moves it on."""

    def __init__(self) -> None:
        self.set("2026-07-01T10:00:00+00:00")

    def set(self, text: str) -> None:
        self.moment = datetime.fromisoformat(text)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """It is noon of 1 July 2026 in the storage's time zone, and stays so."""
    found = Clock()
    monkeypatch.setattr(timezone, "now", lambda: found.moment)
    return found


def ask(desk: Desk, name: str = "released", **body: Any) -> str:
    """The id of the task that asks to let an element expire."""
    response = desk.apply(name, WAY[name], "", body)
    assert response.status_code == 200, response.content
    with tenant_scope(desk.storage):
        return str(Task.objects.get(element_id=ID[name], state="open").id)


def act(desk: Desk, task: str, verb: str, /, **body: Any) -> Any:
    return desk.post(f"rest/tasks/{task}/{verb}", body)


def done(response: Any) -> Wire:
    """The one task of an answer."""
    assert response.status_code == 200, response.content
    body = response.json()
    assert list(body) == ["count", "values"]
    (found,) = body["values"]
    assert body["count"] == 1
    task: Wire = found
    return task


def refused(response: Any, status: int, *errors: str) -> None:
    """The whole body of the answer."""
    type, output = KINDS[status]
    message = errors[0] if len(errors) == 1 else f"The body has {len(errors)} problems."
    data = [{"error": each} for each in errors]
    assert response.json() == {"message": message, "output": output, "type": type, "data": data}
    assert response.status_code == status


def fresh(storage: Storage) -> Storage:
    """As it is stored now; the object of the module's fixture must not take over what one test changes."""
    return Storage.objects.select_related("collection").get(pk=storage.pk)


def rival_of(storage: Storage) -> Storage:
    return Storage.objects.select_related("collection").get(collection__key="rival", key=storage.key)


def fingerprints(storage: Storage) -> list[str]:
    """Of everything that is stored about elements and their lives, in both storages."""
    found = []
    for each in (storage, rival_of(storage)):
        parts = (f"(SELECT coalesce(string_agg(t::text, ',' ORDER BY t.id), '') FROM {name} t)" for name in TABLES)
        with tenant_scope(each), connection.cursor() as cursor:
            cursor.execute(f"SELECT md5(concat_ws('|', {', '.join(parts)}))")
            found.append(str(cursor.fetchone()[0]))
    return found


def recognised(desk: Desk) -> Caller:
    return recognise_token(desk.token, storage_context(desk.storage))


def label(desk: Desk) -> str:
    """How the log names who calls here."""
    return recognised(desk).label


def wire(name: str, state: str = "", version: str = "") -> Wire:
    """A reference, as answers show it."""
    if state:
        identity = {"versionId": ID[version or f"{name}-1"], "type": "subProcess", "state": state}
        return {
            "facetName": "processes", "id": ID[name], **identity,
            "expandUri": f"{BASE}/rest/facets/processes/views/detail/elements/{ID[version or f'{name}-1']}",
        }  # fmt: skip
    facet, type = ("usergroups", "userGroup") if name == "crew" else ("users", "user")
    return {
        "facetName": facet, "id": ID[name], "creationId": ID[name], "type": type,
        "expandUri": f"{BASE}/rest/facets/{facet}/views/detail/elements/{ID[name]}",
    }  # fmt: skip


def appoint(storage: Storage, version: str, **people: list[str]) -> None:
    """Put these into contexts of a version, whatever its state, without a change of the version."""
    with tenant_scope(storage):
        for context, names in people.items():
            Reference.objects.filter(version_id=UUID(ID[version]), context=context).delete()
            for place, name in enumerate(names):
                Reference.objects.create(
                    version_id=ID[version], context=context, position=place, target_id=ID.get(name, name)
                )


def set_task(storage: Storage, task: str, **fields: Any) -> None:
    with tenant_scope(storage):
        Task.objects.filter(id=task).update(**fields)


def open_task(storage: Storage, version: str = "released-1", assignee: str | None = "ben") -> str:
    """The id of a task that Anna has asked for at noon of 1 July."""
    with tenant_scope(storage):
        task = Task.objects.create(
            type=TYPE, element_id=ID[version.rpartition("-")[0]], version_id=ID[version], revision=0,
            transition=WAY["released"], source_state="released", target_state="requestToExpire", requested_on=Clock().moment,
            requester_id=ID["anna"], requester_label="x", assignee_id=assignee and ID.get(assignee, assignee),
        )  # fmt: skip
    return str(task.id)


def grant(storage: Storage, name: str, **roles: bool) -> None:
    """Change the role attributes of a user."""
    with tenant_scope(storage):
        row = ElementVersion.objects.get(id=ID[name])
        row.attributes |= {f"role{role.capitalize()}": {"127": value} for role, value in roles.items()}
        row.save()


def logged(desk: Desk, name: str) -> list[tuple[str, ...]]:
    """The steps of an element in short: what, from, to, by whom, and the comment."""
    return [
        (each["step"], each.get("fromState", ""), each["toState"], each["caller"], each.get("comment", ""))
        for each in desk.steps(name)
    ]


def entry(desk: Desk, response: Any, task: str, number: int, step: str, states: tuple[str, str], **more: Any) -> Wire:
    """A step of `released` in full: by who answers to this desk, in the request that was answered so."""
    (person,) = [name for name in PEOPLE if ID[name] == str(recognised(desk).element_id)]
    return {
        "number": number, "step": step, "versionId": ID["released-1"], "version": "1.0",
        "fromState": states[0], "toState": states[1], "caller": label(desk), "changedBy": wire(person),
        "requestId": response["X-Request-ID"], "changedOn": NOW, "taskId": task, **more,
    }  # fmt: skip


def pointers(storage: Storage, *names: str) -> list[tuple[str, str | None]]:
    """What editors and what viewers read of elements."""
    with tenant_scope(storage):
        rows = {str(each.id): each for each in Element.objects.filter(id__in=[ID[name] for name in names])}
    found = [rows[ID[name]] for name in names]
    return [(str(each.newest_id), str(each.published_id) if each.published_id else None) for each in found]


class TestAsking:
    @pytest.mark.parametrize("name", ["released", "inEffect"])
    def test_it_leaves_everything_as_it_was_and_makes_a_task(self, house: Storage, desk: Sit, name: str) -> None:
        anna, vera = desk(user="anna"), desk(user="vera")
        rival = fingerprints(house)[1]
        before = anna.get(f"rest/facets/processes/views/detail/elements/{ID[name]}")
        response = anna.apply(name, WAY[name], "", {"comment": "Out of date."})
        assert response.status_code == 200
        assert response.json() == before.json()
        assert response["ETag"] == version_tag(before["ETag"])
        assert response.json()["elements"][0]["state"] == name
        with tenant_scope(house):
            task = str(Task.objects.get().id)
        assert done(anna.get(f"rest/tasks/{task}")) == {
            "id": task,
            "type": TYPE,
            "state": "open",
            "element": wire(name, name),
            "transitionId": WAY[name],
            "sourceState": name,
            "targetState": "requestToExpire",
            "requestedOn": NOW,
            "requester": label(anna),
            "requestedBy": wire("anna"),
            "assignee": wire("ben"),
            "comment": "Out of date.",
            "isStuck": False,
        }
        assert anna.steps(name) == [
            {
                "number": 1,
                "step": "request",
                "versionId": ID[f"{name}-1"],
                "version": "1.0",
                "fromState": name,
                "toState": name,
                "transitionId": WAY[name],
                "changedOn": NOW,
                "caller": label(anna),
                "requestId": response["X-Request-ID"],
                "changedBy": wire("anna"),
                "comment": "Out of date.",
                "taskId": task,
            }
        ]
        assert vera.element(name)["state"] == name
        assert pointers(house, name) == [(ID[f"{name}-1"], ID[f"{name}-1"])]
        with tenant_scope(house):
            assert not ElementChange.objects.exists()
        assert fingerprints(house)[1] == rival

    def test_an_end_may_be_asked_for(self, desk: Sit) -> None:
        anna = desk(user="anna")
        task = done(anna.get(f"rest/tasks/{ask(anna, validUntil=LATER)}"))
        assert task["validUntil"] == LATER
        assert "comment" not in task
        assert anna.element("released")["attributes"]["validUntil"] == {"127": NO_END}

    def test_an_end_that_is_no_longer_ahead(self, house: Storage, desk: Sit) -> None:
        anna = desk(user="anna")
        before = fingerprints(house)
        text = "validUntil: must be later than now; leave it out to let the version end when it is accepted."
        for end in (NOW, "2026-07-01T11:59:59.999999", "2020-02-29T00:00:00"):
            refused(anna.apply("released", WAY["released"], "", {"validUntil": end}), 422, text)
        assert fingerprints(house) == before

    def test_an_end_is_only_asked_for_earlier(self, house: Storage, desk: Sit) -> None:
        """Than the version ends anyway; nobody prolongs it so."""
        anna = desk(user="anna")
        with tenant_scope(house):
            ElementVersion.objects.filter(id=ID["released-1"]).update(valid_until=LATER_INSTANT)
        before = fingerprints(house)
        text = "validUntil: must be earlier than the end that the version has already."
        for end in (LATER, "2026-07-20T08:30:00.000001", "2027-01-01T00:00:00", NO_END):
            refused(anna.apply("released", WAY["released"], "", {"validUntil": end}), 422, text)
        refused(anna.apply("order", WAY["order"], "", {"validUntil": NO_END}), 422, text)
        assert fingerprints(house) == before
        earlier = "2026-07-20T08:29:59.999999"
        task = ask(anna, validUntil=earlier)
        assert done(act(desk(user="ben"), task, "accept"))["element"]["state"] == "requestToExpire"
        assert anna.element("released")["attributes"]["validUntil"] == {"127": earlier}

    def test_of_a_version_without_an_end_any_end_may_be_asked_for(self, house: Storage, desk: Sit) -> None:
        anna = desk(user="anna")
        with tenant_scope(house):
            ElementVersion.objects.filter(id=ID["released-1"]).update(valid_until=None)
        done(act(desk(user="ben"), ask(anna, validUntil=NO_END), "accept"))
        assert anna.element("released")["attributes"]["validUntil"] == {"127": NO_END}

    def test_meanwhile_it_is_not_offered_and_cannot_be_asked_again(self, house: Storage, desk: Sit) -> None:
        anna, ben, cora = desk(user="anna"), desk(user="ben"), desk(user="cora")
        for caller in (anna, cora):
            assert caller.offered("released") == [WAY["released"]]
        task = ask(anna)
        before = fingerprints(house)
        for caller in (anna, cora):
            assert caller.offered("released") == []
            text = f"A task {TYPE} of subProcess {ID['released-1']} is open; it must be decided or withdrawn first."
            refused(caller.apply("released", WAY["released"]), 409, text)
        assert anna.offered("inEffect") == [WAY["inEffect"]]
        assert fingerprints(house) == before
        done(act(ben, task, "reject"))
        assert anna.offered("released") == [WAY["released"]]
        second = ask(anna)
        assert second != task
        done(act(anna, second, "withdraw"))
        assert anna.offered("released") == [WAY["released"]]

    def test_who_is_asked(self, house: Storage, desk: Sit) -> None:
        anna = desk(user="anna")
        cases: list[tuple[dict[str, list[str]], str | None]] = [
            ({"owner": ["ben"], "reviewer": ["dora"], "qualityManager": ["cora"]}, "ben"),
            ({"owner": [], "reviewer": ["dora"], "qualityManager": ["ben"]}, "dora"),
            ({"owner": [], "reviewer": [], "qualityManager": ["dora"]}, "dora"),
            ({"owner": ["anna"], "reviewer": ["anna", "dora"], "qualityManager": ["ben"]}, "dora"),
            ({"owner": ["anna"], "reviewer": ["anna"], "qualityManager": ["anna"]}, None),
            ({"owner": [], "reviewer": [], "qualityManager": []}, None),
            # Whether they can is for later to tell: the task is stuck then.
            ({"owner": ["eve"], "reviewer": ["dora"]}, "eve"),
            ({"owner": ["crew"], "reviewer": ["dora"]}, "crew"),
        ]
        for people, assignee in cases:
            appoint(house, "released-1", **people)
            task = ask(anna)
            with tenant_scope(house):
                found = Task.objects.get(id=task).assignee_id
            assert found == (UUID(ID[assignee]) if assignee else None), people
            set_task(house, task, state="withdrawn")

    def test_a_version_of_its_own_is_asked_about(self, house: Storage, desk: Sit) -> None:
        """While there is a draft, the element's id stands for that; the version's id names the published one."""
        anna = desk(user="anna")
        draft = anna.new_version("order")["versionId"]
        response = anna.apply("order", WAY["order"])
        assert error(response)[0] == 409
        answered = anna.applied("order-2", WAY["order"], "")
        assert (answered["versionId"], answered["state"]) == (ID["order-2"], "released")
        (task,) = anna.tasks("?assignee=all")
        assert task["element"] == wire("order", "released", "order-2")
        done(act(desk(user="ben"), task["id"], "accept"))
        assert pointers(house, "order") == [(draft, None)]
        assert anna.element("order")["state"] == "inProcess"
        assert anna.element("order-2")["state"] == "expired"


class TestAccepting:
    def test_the_whole_of_it(self, house: Storage, desk: Sit, clock: Clock) -> None:
        anna, ben, vera = desk(user="anna"), desk(user="ben"), desk(user="vera")
        rival = fingerprints(house)[1]
        before = anna.element("released")
        task = ask(anna, comment="Out of date.")
        asked = done(anna.get(f"rest/tasks/{task}"))
        drawn = [f"released-{part}" for part in ("start", "task", "end")]
        for name in ("released", *drawn):
            assert vera.get(f"rest/facets/processes/views/detail/elements/{ID[name]}").status_code == 200
        clock.set("2026-07-02T21:59:00+00:00")
        moment, day = "2026-07-02T23:59:00", "2026-07-02T00:00:00"
        response = act(ben, task, "accept", comment="Yes.")
        closed = {
            **asked,
            "state": "accepted",
            "element": wire("released", "expired"),
            "decidedBy": wire("ben"),
            "decider": label(ben),
            "decision": "Yes.",
            "decidedOn": moment,
        }
        assert done(response) == closed == done(anna.get(f"rest/tasks/{task}"))
        assert anna.element("released") == {
            **before,
            "state": "expired",
            "attributes": {
                **before["attributes"],
                "changedOn": {"127": moment},
                "isReleased": {"127": False},
                "state1": {"127": "expired"},
                "validUntil": {"127": day},
            },
            "related": {
                **before["related"],
                "changedBy": [wire("ben")],
                "releaseHistory": [wire("released", "expired")],
            },
        }
        wanted = {"transitionId": WAY["released"], "comment": "Yes."}
        assert anna.steps("released")[1:] == [
            entry(ben, response, task, 2, "transition", ("released", "requestToExpire"), changedOn=moment, **wanted),
            entry(ben, response, task, 3, "expiry", ("requestToExpire", "expired"), changedOn=moment),
        ]
        with tenant_scope(house):
            row = ElementVersion.objects.get(id=ID["released-1"])
            assert (row.state, row.category, row.revision) == ("expired", "retired", 1)
            assert row.valid_until == datetime.fromisoformat("2026-07-01T22:00:00+00:00")
        assert pointers(house, "released", *drawn) == [(ID["released-1"], None), *((ID[name], None) for name in drawn)]
        for name in ("released", "released-1", *drawn):
            assert vera.get(f"rest/facets/processes/views/detail/elements/{ID[name]}").status_code == 404
        listed = vera.get("rest/facets/processes/views/detail/elements").json()["elements"]
        assert {each["id"] for each in listed}.isdisjoint(ID[name] for name in ("released", *drawn))
        assert vera.element("order")["state"] == "released"
        assert ben.offered("released") == anna.offered("released") == []
        assert run_lifecycle(fresh(house)).is_nothing
        assert fingerprints(house)[1] == rival

    def test_the_record_of_changes_has_both_steps_newest_first(
        self, desk: Sit, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Both are of one moment; which id each of them gets must not matter."""
        ids = itertools.count(2**128 - 1, -1)
        monkeypatch.setattr("elements.writing.history.uuid4", lambda: UUID(int=next(ids)), raising=False)
        anna, ben = desk(user="anna"), desk(user="ben")
        done(act(ben, ask(anna), "accept"))
        found = anna.get(f"rest/facets/processes/views/detail/elements/{ID['released']}/history").json()["values"]
        asked = {"state": "requestToExpire", "validUntil": TODAY}
        assert [(each["action"], each["before"], each["after"]) for each in found] == [
            ("transitioned", {"state": "requestToExpire"}, {"state": "expired"}),
            ("transitioned", {"state": "released", "validUntil": NO_END}, asked),
        ]

    def test_an_end_that_lies_ahead(self, house: Storage, desk: Sit, clock: Clock) -> None:
        anna, ben, vera = desk(user="anna"), desk(user="ben"), desk(user="vera")
        task = ask(anna, validUntil=LATER)
        assert done(act(ben, task, "accept"))["element"] == wire("released", "requestToExpire")
        element = vera.element("released")
        assert (element["state"], element["attributes"]["validUntil"]) == ("requestToExpire", {"127": LATER})
        assert element["attributes"]["isReleased"] == {"127": True}
        assert anna.offered("released") == []
        steps = [
            ("request", "released", "released", label(anna), ""),
            ("transition", "released", "requestToExpire", label(ben), ""),
        ]
        assert logged(anna, "released") == steps
        clock.set("2026-07-20T06:29:59.999999+00:00")
        assert run_lifecycle(fresh(house)).is_nothing
        clock.set(LATER_INSTANT)
        assert run_lifecycle(fresh(house)).expired == [f"{ID['released-1']}, version 1.0 of {ID['released']}"]
        assert vera.get(f"rest/facets/processes/views/detail/elements/{ID['released']}").status_code == 404
        element = anna.element("released")
        assert (element["state"], element["attributes"]["validUntil"]) == ("expired", {"127": LATER})
        assert "changedBy" not in element["related"]
        assert logged(anna, "released") == [*steps, ("expiry", "requestToExpire", "expired", "run_lifecycle", "")]
        assert done(anna.get(f"rest/tasks/{task}"))["state"] == "accepted"

    def test_an_end_that_has_come_meanwhile(self, house: Storage, desk: Sit, clock: Clock) -> None:
        """On the day of the decision, or before: what lies behind cannot be ended any more."""
        cora = desk(user="cora")
        for version, asked_for, accepted, end in (
            ("released-1", "2026-07-01T13:00:00+00:00", "2026-07-01T13:00:00+00:00", "2026-07-01T15:00:00"),
            ("house-1", "2026-07-01T13:00:00+00:00", "2026-07-01T21:59:59+00:00", "2026-07-01T15:00:00"),
            ("order-2", "2026-07-01T13:00:00+00:00", "2026-07-01T22:00:00+00:00", "2026-07-02T00:00:00"),
            ("erp-1", "2026-07-05T00:00:00+00:00", "2026-08-01T10:00:00+00:00", "2026-08-01T00:00:00"),
        ):
            task = open_task(house, version)
            set_task(house, task, valid_until=asked_for)
            clock.set(accepted)
            assert done(act(cora, task, "accept"))["element"]["state"] == "expired"
            with tenant_scope(house):
                found = ElementVersion.objects.get(id=ID[version]).valid_until
                steps = LifecycleEntry.objects.filter(version_id=ID[version]).order_by("number")
                assert [each.step for each in steps] == ["transition", "expiry"]
            assert found == datetime.fromisoformat(end).replace(tzinfo=ZoneInfo("Europe/Berlin")), version

    def test_nothing_is_prolonged(self, house: Storage, desk: Sit, clock: Clock) -> None:
        """A version that ends before what was asked for, or has ended and the clock had not come round to it."""
        cora = desk(user="cora")
        clock.set("2026-07-10T10:00:00+00:00")
        for version, asked_for, end, state in (
            ("released-1", LATER_INSTANT, "2026-07-15T00:00:00+00:00", "requestToExpire"),
            ("order-2", LATER_INSTANT, "2026-07-09T12:00:00+00:00", "expired"),
            ("house-1", None, "2026-05-01T00:00:00+00:00", "expired"),
            ("erp-1", "2026-07-05T00:00:00+00:00", "2026-07-04T00:00:00+00:00", "expired"),
        ):
            task = open_task(house, version)
            set_task(house, task, valid_until=asked_for)
            with tenant_scope(house):
                ElementVersion.objects.filter(id=ID[version]).update(valid_until=end)
            assert done(act(cora, task, "accept"))["element"]["state"] == state, version
            with tenant_scope(house):
                found = ElementVersion.objects.get(id=ID[version]).valid_until
            assert found == datetime.fromisoformat(end), version

    def test_a_comment_may_be_left_out(self, house: Storage, desk: Sit, api: ApiClient) -> None:
        """And ids may be in capitals, and addresses end in a slash."""
        ben = desk(user="ben")
        for content in (b"", b"{}", b'{"comment": null}', b'{"comment": ""}', b' { "comment":"\\n" } '):
            address = f"{API}/rest/tasks/{open_task(house).upper()}/reject/"
            response = api.post(address, content, content_type="application/json", token=ben.token)
            assert done(response).get("decision") == ("\n" if b"\\n" in content else None)

    def test_once_with_an_idempotency_key(self, house: Storage, desk: Sit) -> None:
        ben, task = desk(user="ben"), open_task(house)
        path, key = f"rest/tasks/{task}/accept", {"Idempotency-Key": "once"}
        first = ben.post(path, {"comment": "Yes."}, **key)
        stored = fingerprints(house)
        again = ben.post(path, {"comment": "Yes."}, **key)
        assert (again.status_code, again.content) == (200, first.content)
        assert done(first)["state"] == "accepted"
        assert error(ben.post(path, {"comment": "No."}, **key))[0] == 422
        assert error(ben.post(f"rest/tasks/{task}/reject", {"comment": "Yes."}, **key))[0] == 422
        refused(ben.post(path, {"comment": "Yes."}), 409, "The task is accepted already.")
        assert fingerprints(house) == stored


class TestOtherEnds:
    def test_rejecting(self, house: Storage, desk: Sit) -> None:
        anna, ben = desk(user="anna"), desk(user="ben")
        before = anna.get(f"rest/facets/processes/views/detail/elements/{ID['released']}")
        task = ask(anna, validUntil=LATER, comment="Out of date.")
        asked = done(anna.get(f"rest/tasks/{task}"))
        response = act(ben, task, "reject", comment="Still needed.")
        assert done(response) == {
            **asked,
            "state": "rejected",
            "decidedBy": wire("ben"),
            "decider": label(ben),
            "decision": "Still needed.",
            "decidedOn": NOW,
        }
        after = anna.get(f"rest/facets/processes/views/detail/elements/{ID['released']}")
        assert (after.json(), after["ETag"]) == (before.json(), before["ETag"])
        wanted = {"transitionId": WAY["released"], "comment": "Still needed."}
        assert anna.steps("released")[1:] == [entry(ben, response, task, 2, "rejection", ("released",) * 2, **wanted)]
        with tenant_scope(house):
            assert not ElementChange.objects.exists()

    def test_withdrawing(self, house: Storage, desk: Sit) -> None:
        anna, cora = desk(user="anna"), desk(user="cora")
        before = anna.element("released")
        task = ask(anna)
        asked = done(anna.get(f"rest/tasks/{task}"))
        others = [desk(user="ben"), desk(Role.EDITOR), desk(Role.ARCHITECT), desk(Role.ANALYZER)]
        stored = fingerprints(house)
        for other in others:
            refused(act(other, task, "withdraw"), 403, NOT_YOURS)
        assert fingerprints(house) == stored
        # The same person with another token.
        withdrawn = done(act(desk(user="anna"), task, "withdraw", comment="A mistake."))
        assert withdrawn == {
            **asked,
            "state": "withdrawn",
            "decidedBy": wire("anna"),
            "decider": withdrawn["decider"],
            "decision": "A mistake.",
            "decidedOn": NOW,
        }
        second = ask(anna)
        assert done(act(cora, second, "withdraw"))["decidedBy"] == wire("cora")
        assert anna.element("released") == before
        assert [each[0] for each in logged(anna, "released")] == ["request", "withdrawal", "request", "withdrawal"]
        assert logged(anna, "released")[1][1:] == ("released", "released", withdrawn["decider"], "A mistake.")

    def test_who_may_no_longer_edit_can_still_withdraw(self, house: Storage, desk: Sit) -> None:
        task = open_task(house)
        appoint(house, "released-1", author=["dora"])
        grant(house, "anna", analyzer=True, editor=False)
        reader = desk(Role.ANALYZER, user="anna")
        assert done(act(reader, task, "withdraw"))["state"] == "withdrawn"

    def test_a_task_ends_once(self, house: Storage, desk: Sit) -> None:
        """Whoever comes second, with whatever, is told."""
        cora = desk(user="cora")
        for first, version in zip(VERBS[:3], ("released-1", "inEffect-1", "order-2"), strict=True):
            task = open_task(house, version)
            state = done(act(cora, task, first))["state"]
            before = fingerprints(house)
            for second in VERBS:
                body = {"assignee": ID["dora"]} if second == "delegate" else {}
                refused(act(cora, task, second, **body), 409, f"The task is {state} already.")
            assert fingerprints(house) == before

    def test_what_is_delegated_is_still_open(self, house: Storage, desk: Sit) -> None:
        cora = desk(user="cora")
        states = dict(zip(VERBS, ("accepted", "rejected", "withdrawn", "open"), strict=True))
        versions = ("released-1", "requestToExpire-1", "order-2", "house-1")
        for (second, state), version in zip(states.items(), versions, strict=True):
            task = open_task(house, version)
            done(act(cora, task, "delegate", assignee=ID["dora"]))
            body = {"assignee": ID["ben"]} if second == "delegate" else {}
            assert done(act(cora, task, second, **body))["state"] == state

    def test_what_has_changed_since_cannot_be_accepted(self, house: Storage, desk: Sit) -> None:
        """A context here, an attribute below: both can be changed while it is released."""
        anna, ben, cora = desk(user="anna"), desk(user="ben"), desk(user="cora")
        task, other = ask(anna), ask(anna, "inEffect")
        assert anna.update({"id": ID["released"], "related": {"reviewer": [{"id": ID["dora"]}]}}).status_code == 200
        before = fingerprints(house)
        text = "has changed since the task was made; reject it, or withdraw it and ask again."
        for caller in (ben, cora):
            refused(act(caller, task, "accept"), 409, f"subProcess {ID['released-1']} {text}")
        assert fingerprints(house) == before
        assert done(act(ben, task, "reject"))["state"] == "rejected"
        assert done(act(ben, ask(anna), "accept"))["state"] == "accepted"
        assert done(act(ben, other, "accept"))["state"] == "accepted"

    def test_what_has_changed_since_can_be_withdrawn_and_delegated(self, desk: Sit) -> None:
        anna, ben, dora = desk(user="anna"), desk(user="ben"), desk(user="dora")
        task = ask(anna)
        anna.update({"id": ID["released"], "attributes": {"processMaturity": {"127": "defined"}}})
        assert done(act(ben, task, "delegate", assignee=ID["dora"]))["assignee"] == wire("dora")
        assert error(act(dora, task, "accept"))[0] == 409
        assert done(act(anna, task, "withdraw"))["state"] == "withdrawn"

    def test_a_newer_version_overtakes_it(self, house: Storage, desk: Sit, clock: Clock) -> None:
        anna, ben, cora = desk(user="anna"), desk(user="ben"), desk(user="cora")
        task, other = ask(anna, "order"), ask(anna, "released")
        asked = done(anna.get(f"rest/tasks/{task}"))
        set_task(house, task, stuck_on=clock.moment, stuck_reasons=["overdue"])
        draft = anna.new_version("order")["versionId"]
        released = ben.applied(draft, "InProcessToReleased")
        assert (released["state"], released["attributes"]["version"]) == ("released", {"127": "3.0"})
        assert done(anna.get(f"rest/tasks/{task}")) == {
            **asked,
            "state": "obsolete",
            "element": wire("order", "expired", "order-2"),
            "decidedBy": wire("ben"),
            "decider": label(ben),
            "decidedOn": NOW,
        }
        before = fingerprints(house)
        for verb in ("accept", "reject", "withdraw", "delegate"):
            body = {"assignee": ID["dora"]} if verb == "delegate" else {}
            refused(act(cora, task, verb, **body), 409, "The task is obsolete already.")
        assert fingerprints(house) == before
        assert [each[:3] for each in logged(anna, "order")] == [
            ("request", "released", "released"),
            ("version", "", "inProcess"),
            ("transition", "inProcess", "released"),
            ("succession", "released", "expired"),
        ]
        assert done(anna.get(f"rest/tasks/{other}"))["state"] == "open"
        # The newer version can be asked about at once.
        assert anna.offered("order") == [WAY["order"]]


class TestDelegating:
    def test_to_another_approver(self, house: Storage, desk: Sit, clock: Clock) -> None:
        anna, ben, dora = desk(user="anna"), desk(user="ben"), desk(user="dora")
        before = anna.element("released")
        task = ask(anna, comment="Out of date.")
        asked = done(anna.get(f"rest/tasks/{task}"))
        clock.set("2026-07-02T10:00:00+00:00")
        response = act(ben, task, "delegate", assignee=ID["dora"].upper(), comment="You know this better.")
        given = {**asked, "assignee": wire("dora")}
        assert done(response) == given == done(anna.get(f"rest/tasks/{task}"))
        wanted = {
            "transitionId": WAY["released"],
            "comment": "You know this better.",
            "changedOn": "2026-07-02T12:00:00",
            "assignee": wire("dora"),
        }
        assert anna.steps("released")[1:] == [entry(ben, response, task, 2, "delegation", ("released",) * 2, **wanted)]
        assert anna.element("released") == before
        assert (ben.tasks(), [each["id"] for each in dora.tasks()]) == ([], [task])
        refused(act(ben, task, "accept"), 403, ANOTHERS)
        assert done(act(dora, task, "accept"))["decidedBy"] == wire("dora")

    def test_to_those_who_cannot_take_it(self, house: Storage, desk: Sit) -> None:
        """By an administrator as little as by the approver."""
        grant(house, "anna", approver=True)
        callers, task = itertools.cycle([desk(user="ben"), desk(user="cora")]), open_task(house)
        before = fingerprints(house)
        for assignee, text in (
            ("eve", f"the user {ID['eve']} is inactive."),
            ("vera", f"the user {ID['vera']} has no role with the permission ApproveElement."),
            ("anna", f"the user {ID['anna']} has made the request (four eyes)."),
            ("crew", f"there is no user {ID['crew']}."),
            ("erp", f"there is no user {ID['erp']}."),
            ("released-1", f"there is no user {ID['released-1']}."),
            (UNKNOWN, f"there is no user {UNKNOWN}."),
        ):
            response = act(next(callers), task, "delegate", assignee=ID.get(assignee, assignee))
            refused(response, 422, f"assignee: {text}")
        assert fingerprints(house) == before

    def test_to_a_user_of_another_storage(self, house: Storage, desk: Sit) -> None:
        """Both have the same ids: here she is active, there she is gone, and the other way round."""
        rival = rival_of(house)
        grant(rival, "dora", inactive=True)
        grant(rival, "eve", inactive=False)
        ben = desk(user="ben")
        task = open_task(house)
        assert error(act(ben, task, "delegate", assignee=ID["eve"]))[0] == 422
        assert done(act(ben, task, "delegate", assignee=ID["dora"]))["assignee"] == wire("dora")

    def test_without_an_assignee(self, house: Storage, desk: Sit) -> None:
        ben, task = desk(user="ben"), open_task(house)
        before = fingerprints(house)
        wrong: list[Any] = [None, "", "dora", 7, ["x"], {"id": ID["dora"]}, True, ID["dora"][:-1]]
        for value in wrong:
            refused(act(ben, task, "delegate", assignee=value), 400, "assignee: expected the id of a user.")
        refused(act(ben, task, "delegate"), 400, "assignee: expected the id of a user.")
        assert fingerprints(house) == before

    def test_the_log_names_whom_it_was_given_to(self, house: Storage, desk: Sit) -> None:
        cora, task = desk(user="cora"), open_task(house)
        for name in ("dora", "ben", "cora"):
            done(act(cora, task, "delegate", assignee=ID[name]))
        assert [each["assignee"] for each in cora.steps("released")] == [wire(name) for name in ("dora", "ben", "cora")]
        with tenant_scope(house):
            given = LifecycleEntry.objects.order_by("number").values_list("assignee_id", flat=True)
            assert list(given) == [UUID(ID[name]) for name in ("dora", "ben", "cora")]
        done(act(cora, task, "reject"))
        assert "assignee" not in cora.steps("released")[-1]


class TestWhoMayDecide:
    DECIDE = (("accept", "Accepting"), ("reject", "Rejecting"), ("delegate", "Delegating"))

    def test_nobody_decides_on_their_own_request(self, house: Storage, desk: Sit) -> None:
        """Not even to pass it on; but they withdraw it."""
        appoint(house, "released-1", owner=[], author=[])
        needs = f"a task of subProcess {ID['released-1']} needs the permission ApproveElement."
        for roles in ((Role.EDITOR,), (Role.EDITOR, Role.APPROVER), (Role.ARCHITECT,)):
            caller = desk(*roles)
            task = ask(caller)
            before = fingerprints(house)
            for verb, name in self.DECIDE:
                body = {"assignee": ID["dora"]} if verb == "delegate" else {}
                text = f"{name} {needs}" if roles == (Role.EDITOR,) else FOUR_EYES
                refused(act(caller, task, verb, **body), 403, text)
            assert (caller.tasks(), fingerprints(house)) == ([], before)
            assert [each["id"] for each in caller.tasks("?requester=me")] == [task]
            assert done(act(caller, task, "withdraw"))["state"] == "withdrawn"

    def test_but_for_administrators(self, house: Storage, desk: Sit) -> None:
        """In whose list their own requests are, therefore."""
        appoint(house, "released-1", owner=[])
        cora = desk(user="cora")
        for verb, state in (("reject", "rejected"), ("withdraw", "withdrawn"), ("accept", "accepted")):
            task = ask(cora)
            assert [each["id"] for each in cora.tasks()] == [task]
            assert done(act(cora, task, verb))["state"] == state
        assert cora.element("released")["state"] == "expired"
        task = ask(cora, "order")
        assert done(act(cora, task, "delegate", assignee=ID["dora"]))["assignee"] == wire("dora")

    def test_nor_with_another_token_of_theirs(self, house: Storage, desk: Sit) -> None:
        grant(house, "anna", approver=True)
        appoint(house, "released-1", owner=[])
        asking = desk(user="anna")
        accepting = desk(Role.APPROVER, user="anna")
        task = ask(asking)
        # Not even when it is for her, as it cannot come about by asking.
        for assignee in (None, ID["anna"]):
            set_task(house, task, assignee_id=assignee)
            before = fingerprints(house)
            for verb, _ in self.DECIDE:
                body = {"assignee": ID["dora"]} if verb == "delegate" else {}
                refused(act(accepting, task, verb, **body), 403, FOUR_EYES)
            assert (accepting.tasks(), fingerprints(house)) == ([], before)
        assert done(act(accepting, task, "withdraw"))["state"] == "withdrawn"

    def test_staff_have_no_element(self, house: Storage, desk: Sit) -> None:
        """Signed in to the back office; what they are called tells who it was."""
        appoint(house, "released-1", owner=[], author=[])
        staff = []
        for _ in range(2):
            account = StaffAccountFactory.create()
            StorageMembership.objects.create(account=account, storage=house, roles=["editor", "approver"])
            staff.append(ApiClient())
            staff[-1].force_login(account)
        asking, other = staff
        send: dict[str, Any] = {"data": b"", "content_type": "application/json"}
        assert asking.post(f"{API}/release/{ID['released']}/transitions/{WAY['released']}", **send).status_code == 200
        (task,) = asking.get(f"{API}/rest/tasks?requester=me").json()["values"]
        assert (task["requester"][:6], "requestedBy" in task) == ("staff:", False)
        assert other.get(f"{API}/rest/tasks?requester=me").json() == {"count": 0, "values": []}
        assert other.get(f"{API}/rest/tasks").json()["values"] == [task]
        assert asking.get(f"{API}/rest/tasks").json() == {"count": 0, "values": []}
        address = f"{API}/rest/tasks/{task['id']}"
        refused(asking.post(f"{address}/accept", **send), 403, FOUR_EYES)
        refused(other.post(f"{address}/withdraw", **send), 403, NOT_YOURS)
        accepted = done(other.post(f"{address}/accept", **send))
        assert (accepted["state"], "decidedBy" in accepted) == ("accepted", False)
        assert accepted["decider"] != accepted["requester"]
        assert "changedBy" not in desk(user="anna").element("released")["related"]

    def test_others_than_those_it_is_for(self, house: Storage, desk: Sit) -> None:
        anna, dora, vera = desk(user="anna"), desk(user="dora"), desk(user="vera")
        task = open_task(house)
        needs = f"of subProcess {ID['released-1']} needs the permission ApproveElement."
        others = [desk(Role.ANALYZER), desk(Role.EDITOR), desk(Role.APPROVER), desk(Role.ARCHITECT)]
        before = fingerprints(house)
        for verb, name in (("accept", "Accepting"), ("reject", "Rejecting"), ("delegate", "Delegating")):
            body = {"assignee": ID["dora"]} if verb == "delegate" else {}
            refused(act(anna, task, verb, **body), 403, f"{name} a task {needs}")
            refused(act(dora, task, verb, **body), 403, ANOTHERS)
            refused(act(vera, task, verb, **body), 403, LIFECYCLE)
        for caller, text in zip(others, [f"Accepting a task {needs}"] * 2 + [ANOTHERS] * 2, strict=True):
            refused(act(caller, task, "accept"), 403, text)
        assert fingerprints(house) == before

    def test_administrators_act_for_everybody(self, house: Storage, desk: Sit) -> None:
        cora = desk(user="cora")
        rejected = done(act(cora, open_task(house), "reject", comment="On behalf."))
        assert (rejected["assignee"], rejected["decidedBy"]) == (wire("ben"), wire("cora"))
        task = open_task(house)
        assert done(act(cora, task, "delegate", assignee=ID["dora"]))["assignee"] == wire("dora")
        accepted = done(act(cora, task, "accept"))
        assert (accepted["assignee"], accepted["decidedBy"]) == (wire("dora"), wire("cora"))

    def test_what_is_for_everybody_any_approver_takes(self, house: Storage, desk: Sit) -> None:
        for caller in (desk(user="dora"), desk(Role.APPROVER), desk(Role.ARCHITECT)):
            task = open_task(house, assignee=None)
            assert task in [each["id"] for each in caller.tasks()]
            assert done(act(caller, task, "reject"))["state"] == "rejected"

    def test_a_group_stands_for_its_members(self, house: Storage, desk: Sit) -> None:
        grant(house, "vera", approver=True)
        ben, dora, vera = desk(user="ben"), desk(user="dora"), desk(Role.APPROVER, user="vera")
        for member in (ben, dora):
            task = open_task(house, assignee="crew")
            assert [each["id"] for each in member.tasks()] == [task]
            assert vera.tasks() == []
            refused(act(vera, task, "accept"), 403, ANOTHERS)
            assert done(act(member, task, "reject"))["decidedBy"] == wire("ben" if member is ben else "dora")
        task = open_task(house, assignee="crew")
        # A member gives it to somebody outside, and is no longer asked then.
        assert done(act(ben, task, "delegate", assignee=ID["vera"]))["assignee"] == wire("vera")
        refused(act(ben, task, "accept"), 403, ANOTHERS)
        assert done(act(vera, task, "accept"))["state"] == "accepted"

    def test_a_member_does_not_accept_their_own_request(self, house: Storage, desk: Sit) -> None:
        grant(house, "ben", editor=True)
        appoint(house, "released-1", owner=["crew"], author=[])
        ben, dora = desk(Role.EDITOR, Role.APPROVER, user="ben"), desk(user="dora")
        task = ask(ben)
        refused(act(ben, task, "accept"), 403, FOUR_EYES)
        assert (ben.tasks(), [each["id"] for each in dora.tasks()]) == ([], [task])
        assert done(act(dora, task, "accept"))["state"] == "accepted"

    def test_who_has_lost_the_role_or_is_inactive(self, house: Storage, desk: Sit) -> None:
        ben, task = desk(user="ben"), open_task(house)
        grant(house, "ben", approver=False, analyzer=True)
        analyst = desk(Role.ANALYZER, Role.APPROVER, user="ben")
        assert error(act(analyst, task, "accept"))[0] == 403
        grant(house, "ben", approver=True, inactive=True)
        assert error(act(ben, task, "accept"))[0] == 401


class TestWhatCannotBeRead:
    def test_addresses(self, house: Storage, desk: Sit) -> None:
        cora = desk(user="cora")
        for verb in VERBS:
            body = {"assignee": ID["dora"]} if verb == "delegate" else {}
            refused(act(cora, UNKNOWN.upper(), verb, **body), 404, f"There is no task {UNKNOWN}.")
            refused(act(cora, "x" * 100, verb, **body), 400, f"{'x' * 80 + '…'!r} is not a GUID.")
        refused(cora.get(f"rest/tasks/{UNKNOWN}"), 404, f"There is no task {UNKNOWN}.")
        refused(cora.get("rest/tasks/%7B%7D"), 400, "'{}' is not a GUID.")
        refused(cora.get(f"rest/tasks/{UNKNOWN.replace('-', '')}"), 400, f"{UNKNOWN.replace('-', '')!r} is not a GUID.")
        # The id of an element is none of a task.
        refused(cora.get(f"rest/tasks/{ID['released']}"), 404, f"There is no task {ID['released']}.")

    def test_tasks_of_another_tenant(self, house: Storage, desk: Sit, api: ApiClient) -> None:
        rival = rival_of(house)
        token = token_for(rival, Role.ADMINISTRATOR)
        address = f"/rival/house/_api/release/{ID['released']}/transitions/{WAY['released']}"
        assert api.post(address, b"", content_type="application/json", token=token).status_code == 200
        (task,) = api.get("/rival/house/_api/rest/tasks?assignee=all", token=token).json()["values"]
        cora = desk(user="cora")
        before = fingerprints(house)
        refused(cora.get(f"rest/tasks/{task['id']}"), 404, f"There is no task {task['id']}.")
        for verb in VERBS:
            body = {"assignee": ID["dora"]} if verb == "delegate" else {}
            refused(act(cora, task["id"], verb, **body), 404, f"There is no task {task['id']}.")
        assert fingerprints(house) == before
        assert cora.offered("released") == [WAY["released"]]
        assert done(api.get(f"/rival/house/_api/rest/tasks/{task['id']}", token=token)) == task

    @pytest.mark.parametrize(
        "verb", ["accept", "delegate", *(pytest.param(verb, marks=pytest.mark.long) for verb in ("reject", "withdraw"))]
    )
    def test_bodies(self, house: Storage, desk: Sit, api: ApiClient, verb: str) -> None:
        cora, task = desk(user="cora"), open_task(house)
        before = fingerprints(house)
        path = f"rest/tasks/{task}/{verb}"
        known = "assignee or comment" if verb == "delegate" else "comment"
        good = {"assignee": ID["dora"]} if verb == "delegate" else {}
        long = "comment: expected a text of at most 10000 characters."
        refused(cora.post(path, {**good, "Comment": "x"}), 400, f"Comment: unknown field; use {known}.")
        wrong: tuple[Any, ...] = (7, True, ["x"], {"1033": "x"}, "x" * 10_001)
        for value in wrong:
            refused(cora.post(path, {**good, "comment": value}), 400, long)
        refused(
            cora.post(path, {**good, "comment": 1, "validUntil": LATER}),
            400,
            f"validUntil: unknown field; use {known}.",
            long,
        )
        wrong = ([], [good], "x", 7, False)
        for value in wrong:
            refused(
                cora.post(path, value),
                400,
                f"The body must be empty or an object with {known.replace(' or ', ' and ')}.",
            )
        for content in (b"{", b'{"comment": "a", "comment": "b"}', b'{"comment": "\xff"}', b'{"comment": "\\u0000"}'):
            address = f"{API}/{path}"
            response = api.post(address, content, content_type="application/json", token=cora.token)
            assert error(response)[:3] == (400, "error", "inline")
        response = cora.post(f"{path}?$page=1", good)
        refused(response, 400, "$page: this operation takes no $ parameters.")
        assert fingerprints(house) == before
        assert cora.post(path, {**good, "comment": "x" * 10_000}).status_code == 200

    def test_unknown_fields_are_told_in_their_order(self, house: Storage, desk: Sit) -> None:
        cora, task = desk(user="cora"), open_task(house)
        names = ["zeta", "alpha", "mid", "omega", "beta", "kappa", "nu", "eta"]
        errors = [f"{name}: unknown field; use comment." for name in names]
        refused(act(cora, task, "accept", **dict.fromkeys(names, 1)), 400, *errors)

    def test_all_problems_of_a_delegation_at_once(self, house: Storage, desk: Sit) -> None:
        cora, task = desk(user="cora"), open_task(house)
        refused(
            act(cora, task, "delegate", to=ID["dora"], comment=1),
            400,
            "to: unknown field; use assignee or comment.",
            "comment: expected a text of at most 10000 characters.",
            "assignee: expected the id of a user.",
        )

    def test_without_a_token_or_as_a_viewer(self, house: Storage, desk: Sit, api: ApiClient) -> None:
        task = open_task(house)
        vera = desk(Role.VIEWER)
        before = fingerprints(house)
        for path in (f"rest/tasks/{task}", "rest/tasks", "rest/tasks/summary"):
            refused(vera.get(path), 403, LIFECYCLE)
            response = api.get(f"{API}/{path}")
            assert error(response)[:3] == (401, "unauthorized", "volatile")
            assert response["WWW-Authenticate"] == "Bearer"
        for verb in VERBS:
            body = {"assignee": ID["dora"]} if verb == "delegate" else {}
            refused(act(vera, task, verb, **body), 403, LIFECYCLE)
            address = f"{API}/rest/tasks/{task}/{verb}"
            response = api.post(address, json.dumps(body), content_type="application/json")
            assert error(response)[:3] == (401, "unauthorized", "volatile")
        assert fingerprints(house) == before

    def test_decisions_are_posted(self, house: Storage, desk: Sit, api: ApiClient) -> None:
        cora, task = desk(user="cora"), open_task(house)
        for verb in VERBS:
            response = cora.get(f"rest/tasks/{task}/{verb}")
            assert (error(response)[0], response["Allow"]) == (405, "POST")
        response = api.delete(f"{API}/rest/tasks/{task}", token=cora.token)
        assert (error(response)[0], response["Allow"]) == (405, "GET, HEAD, POST")
        assert done(cora.get(f"rest/tasks/{task}"))["state"] == "open"


def change_cycle(storage: Storage, *ways: Transition, without: str = "", **more: Any) -> None:
    """The standard cycle with other or further ways, or without a way, or one of its states and the ways from and to
    it."""
    with tenant_scope(storage):
        blueprint = read_blueprint()
    (cycle,) = blueprint.cycles
    gone = {without, *(each.key for each in ways)}
    states = tuple(each for each in cycle.states if each.key != without)
    kept = tuple(each for each in cycle.transitions if gone.isdisjoint((each.key, each.source, each.target)))
    changed = replace(cycle, states=states, transitions=(*ways, *kept), **more)
    change_configuration(storage, replace(blueprint, cycles=(changed,)))


class TestOtherCycles:
    """Where the release cycle says something else than the standard one, or has changed meanwhile."""

    END = Transition("End", "released", "expired", ((1033, "End"),), "Approve end", ends_version=True)
    EFFECT = Transition("TakeEffect", "released", "inEffect", ((1033, "Take effect"),), "Approve effect")

    @pytest.mark.long
    def test_a_task_that_leads_straight_to_the_end(self, house: Storage, desk: Sit, clock: Clock) -> None:
        """`released` ends at once, `order` at a moment that lies ahead."""
        change_cycle(house, self.END)
        anna, ben, vera = desk(user="anna"), desk(user="ben"), desk(user="vera")
        anna.applied("released", "End", "")
        anna.applied("order", "End", "", {"validUntil": LATER})
        tasks = anna.tasks("?assignee=all")
        assert {(each["type"], each["targetState"]) for each in tasks} == {("Approve end", "expired")}
        # One task at a time, of whatever type.
        assert anna.offered("released") == []
        assert error(anna.apply("released", WAY["released"]))[0] == 409
        states = {each["element"]["id"]: done(act(ben, each["id"], "accept"))["element"]["state"] for each in tasks}
        assert states == {ID["released"]: "expired", ID["order"]: "released"}
        assert anna.element("released")["attributes"]["validUntil"] == {"127": TODAY}
        assert pointers(house, "released", "released-task") == [(ID["released-1"], None), (ID["released-task"], None)]
        element = vera.element("order")
        assert (element["state"], element["attributes"]["validUntil"]) == ("released", {"127": LATER})
        clock.set(LATER_INSTANT)
        assert run_lifecycle(fresh(house)).expired == [f"{ID['order-2']}, version 2.0 of {ID['order']}"]
        request = ("request", "released", "released")
        assert [each[:3] for each in logged(anna, "released")] == [request, ("transition", "released", "expired")]
        assert [each[:3] for each in logged(anna, "order")] == [
            request,
            ("transition", "released", "released"),
            ("expiry", "released", "expired"),
        ]

    WAY_THEN = Transition(WAY["released"], "released", "requestToExpire", ((1033, "X"),), TYPE, ends_version=True)

    @pytest.mark.parametrize(
        ("ways", "without"),
        [
            ([replace(WAY_THEN, target="expired")], ""),
            ([], "requestToExpire"),
            pytest.param([replace(WAY_THEN, source="inEffect")], "", marks=pytest.mark.long),
            # Nobody's consent is needed any more.
            pytest.param([replace(WAY_THEN, task="", ends_version=False)], "", marks=pytest.mark.long),
            pytest.param([], WAY["released"], marks=pytest.mark.long),
        ],
        ids=["another target", "without the state", "another source", "without a task", "without the transition"],
    )
    def test_what_was_asked_for_is_no_longer_there(
        self, house: Storage, desk: Sit, ways: list[Transition], without: str
    ) -> None:
        """The transition is gone, or means something else by now: nothing changes, and it is rejected or withdrawn."""
        anna, ben, cora = desk(user="anna"), desk(user="ben"), desk(user="cora")
        task, other = ask(anna), ask(anna, "order", validUntil=LATER)
        set_state(house, "released", ID["requestToExpire-1"])
        change_cycle(house, *ways, without=without)
        before = fingerprints(house)
        text = f"The release cycle has no such {WAY['released']} any more; reject the task, or withdraw it."
        for caller, each in ((ben, task), (cora, task), (ben, other)):
            refused(act(caller, each, "accept"), 409, text)
        assert fingerprints(house) == before
        assert done(act(ben, task, "reject"))["state"] == "rejected"
        assert done(act(anna, other, "withdraw"))["state"] == "withdrawn"
        for name in ("released", "order"):
            element = anna.element(name)
            assert (element["state"], element["attributes"]["validUntil"]) == ("released", {"127": NO_END})

    @pytest.mark.long
    def test_a_cycle_that_is_as_before_again(self, house: Storage, desk: Sit) -> None:
        """Whatever else is changed in it: that transition goes from and to the same states."""
        anna, ben = desk(user="anna"), desk(user="ben")
        task = ask(anna)
        change_cycle(house, without=WAY["released"])
        assert error(act(ben, task, "accept"))[0] == 409
        change_cycle(house, self.EFFECT, replace(self.WAY_THEN, task="Another"))
        accepted = done(act(ben, task, "accept"))
        assert (accepted["type"], accepted["element"]["state"]) == (TYPE, "expired")

    def test_a_task_for_another_published_state_ends_nothing(self, house: Storage, desk: Sit) -> None:
        """Accepting it does what was asked for: the version is in effect, and its validity is what it was."""
        change_cycle(house, self.EFFECT)
        anna, ben, vera = desk(user="anna"), desk(user="ben"), desk(user="vera")
        anna.applied("released", "TakeEffect", "")
        (task,) = anna.tasks("?assignee=all")
        assert ("validUntil" in task, task["type"], task["targetState"]) == (False, "Approve effect", "inEffect")
        done(act(ben, task["id"], "accept"))
        element = vera.element("released")
        assert (element["state"], element["attributes"]["validUntil"]) == ("inEffect", {"127": NO_END})
        assert pointers(house, "released") == [(ID["released-1"], ID["released-1"])]
        assert [each[:3] for each in logged(anna, "released")] == [
            ("request", "released", "released"),
            ("transition", "released", "inEffect"),
        ]
        assert run_lifecycle(fresh(house)).is_nothing

    def test_a_task_for_a_retired_state_ends_it_today(self, house: Storage, desk: Sit) -> None:
        """Not asking for an end, it has none of its own; but what is retired is not valid any more."""
        change_cycle(house, replace(self.END, ends_version=False))
        anna, ben = desk(user="anna"), desk(user="ben")
        text = "validUntil: is possible with a request to end a version only, not with End."
        refused(anna.apply("released", "End", "", {"validUntil": LATER}), 422, text)
        anna.applied("released", "End", "")
        (task,) = anna.tasks("?assignee=all")
        assert done(act(ben, task["id"], "accept"))["element"]["state"] == "expired"
        assert anna.element("released")["attributes"]["validUntil"] == {"127": TODAY}
        assert pointers(house, "released") == [(ID["released-1"], None)]
        assert [each[0] for each in logged(anna, "released")] == ["request", "transition"]

    def test_what_takes_effect_by_the_clock_overtakes_a_task(self, house: Storage, desk: Sit) -> None:
        """What was asked for starts from the state that the version was in."""
        anna, cora = desk(user="anna"), desk(user="cora")
        task, other = ask(anna), ask(anna, "inEffect")
        change_cycle(house, takes_effect="inEffect")
        outcome = run_lifecycle(fresh(house))
        assert outcome.overtaken == [f"{task}, {TYPE}"]
        found = done(anna.get(f"rest/tasks/{task}"))
        assert (found["state"], found["element"]) == ("obsolete", wire("released", "inEffect"))
        assert (found["decider"], "decidedBy" in found, found["decidedOn"]) == ("run_lifecycle", False, NOW)
        refused(act(cora, task, "accept"), 409, "The task is obsolete already.")
        assert done(anna.get(f"rest/tasks/{other}"))["state"] == "open"
        assert anna.offered("released") == [WAY["inEffect"]]
        assert anna.apply("released", WAY["inEffect"]).status_code == 200
