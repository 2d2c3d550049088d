"""Lives at random in two storages, with ids in common, held against a plain model of what versions and tasks are (D6, D18 to
D23, D81 to D95).

After every request the states, numbers and validity of the element's versions, which of them a viewer reads, what is
offered to whom, and which tasks are open are as the model says; what the model refuses is refused with the status it says
and changes nothing; the log tells what is stored; and the other storage never changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from release.schedule.clock import run_lifecycle
from repository_site.core.rest.datetimes import wire_datetime
from storage.access.tokens import issue_token
from storage.models import Storage
from storage.models.roles import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.cycles import STANDARD_CYCLES, category
from tests.factories import storage_context
from tests.release.house import ID, PEOPLE, PUBLISHED
from tests.release.log_check import check_lifecycles

pytestmark = [pytest.mark.django_db, pytest.mark.long]
Body = dict[str, Any]
ZONE = ZoneInfo("Europe/Berlin")
NO_END = datetime(9999, 12, 31, tzinfo=ZONE)
BEGIN = datetime(2026, 6, 1, 10, tzinfo=UTC)
LIMIT = timedelta(days=14)
TABLES = ("elements_element", "elements_elementversion", "elements_reference", "elements_shape", "elements_shapeflow",
          "elements_elementchange", "release_lifecycleentry", "release_task")  # fmt: skip
ELEMENTS = "rest/facets/processes/views/detail/elements"
MISSING, FORBIDDEN, CONFLICT, INVALID = 404, 403, 409, 422
# In this order problems are answered.
BASIC_FIRST = (MISSING, FORBIDDEN, CONFLICT, INVALID)
TRANSITIONS: dict[str, dict[str, str]] = STANDARD_CYCLES["standard"]["transitions"]
OPEN = ("draft", "review")
ROLES = {**{name: PEOPLE[name] for name in ("anna", "ben", "cora", "dora", "vera")},
         "architect": (Role.ARCHITECT,), "analyzer": (Role.ANALYZER,)}  # fmt: skip
EDITORS, APPROVERS = {"anna", "cora", "architect"}, {"ben", "cora", "dora", "architect"}
# They change what has another author, too.
ARCHITECTS = {"cora", "architect"}
# What stands in both storages, beside `order`, which has two versions.
COMMON = ("inProcess", "inReview", "readyForRelease", "inEffect")


class Clock:
    """What the server takes for the time."""

    now = BEGIN


@dataclass
class Drawn:
    """Something that lives in a diagram."""

    id: str
    creation: str
    name: str


@dataclass
class Version:
    """As it should be."""

    id: str
    state: str
    number: tuple[int, int]
    author: str
    name: str | None = "New"
    reason: str | None = None
    owner: str | None = None
    maturity: str | None = None
    valid_from: datetime | None = None
    valid_until: datetime = NO_END
    diagram: list[Drawn] = field(default_factory=list)
    changes: int = 0

    @property
    def category(self) -> str:
        return category(self.state)


@dataclass
class Task:
    id: str
    element: str
    version: str
    requester: str
    """Who has made the request, by name."""
    assignee: str | None
    transition: str
    valid_until: datetime | None
    changes: int
    """Of the version, when the task was made."""
    requested: datetime
    state: str = "open"
    is_stuck: bool = False


class Key(NamedTuple):
    """A version, and the storage in which it was made; or something that is drawn in it, or a task about it."""

    home: str
    element: str
    version: str
    id: str = ""


def start_of_day(moment: datetime) -> datetime:
    return datetime.combine(moment.astimezone(ZONE).date(), time(), ZONE)


class World:
    """One storage: the model of it, and its API."""

    def __init__(self, storage: Storage) -> None:
        self.storage, self.api, self.name = storage, ApiClient(), str(storage.collection.key)
        self.tokens: dict[str, str] = {}
        self.people: dict[str, str] = {}
        for name, roles in ROLES.items():
            user = UUID(ID[name]) if name in PEOPLE else None
            issued = issue_token(storage_context(storage), name, roles, user_id=user)
            self.tokens[name], self.people[name] = issued.value, str(user or issued.token.id)
        self.names = {id: name for name, id in self.people.items()}
        self.known = {
            ID[state]: [self.initial(f"{state}-1", state, state, (1, 0) if state in PUBLISHED else (0, 1))]
            for state in COMMON
        }
        self.known[ID["order"]] = [
            self.initial("order-1", "order-1", "expired", (1, 0)),
            self.initial("order-2", "order-2", "released", (2, 0)),
        ]
        self.tasks: dict[str, Task] = {}

    def initial(self, version: str, parts: str, state: str, number: tuple[int, int]) -> Version:
        drawn = [Drawn(id, id, "") for id in (ID[f"{parts}-{part}"] for part in ("start", "task", "end"))]
        found = Version(ID[version], state, number, ID["anna"], "Old", "Because.", ID["ben"], diagram=drawn)
        if state == "expired":
            found.valid_until = datetime(2026, 2, 1, tzinfo=ZONE)
        if state in (*PUBLISHED, "expired"):
            found.valid_from = datetime(2026, 1, 5, tzinfo=ZONE)
        return found

    def call(self, method: str, address: str, body: Any = None, by: str = "architect") -> tuple[int, Any]:
        content = b"" if body is None else json.dumps(body).encode()
        path = f"/{self.name}/{self.storage.key}/_api/{address}"
        response = self.api.generic(method, path, content, "application/json", token=self.tokens[by])
        return response.status_code, response.json()

    def fingerprint(self) -> str:
        tables = (f"(SELECT coalesce(string_agg(t::text, ',' ORDER BY t.id), '') FROM {name} t)" for name in TABLES)
        with tenant_scope(self.storage), connection.cursor() as cursor:
            cursor.execute(f"SELECT md5(concat_ws('|', {', '.join(tables)}))")
            return str(cursor.fetchone()[0])

    def find(self, element: str, version: str) -> Version | None:
        return next((each for each in self.known.get(element, ()) if each.id == version), None)

    def published(self, element: str) -> Version | None:
        return next((each for each in self.known.get(element, ()) if each.category == "published"), None)

    def addressed(self, key: Key, by_element: bool, by: str) -> Version | None:
        """The version that an id names for a caller (D6)."""
        shown = self.published(key.element)
        if by_element:
            newest = self.known.get(key.element, [None])[-1]
            return shown if by == "vera" else newest
        version = self.find(key.element, key.version)
        return version if by != "vera" or version is shown else None

    def may_edit(self, version: Version, by: str) -> bool:
        return by in ARCHITECTS or (by in EDITORS and version.author == self.people[by])

    def may_apply(self, version: Version, transition: str, by: str) -> bool:
        target = category(TRANSITIONS[transition]["to"])
        if "task" in TRANSITIONS[transition] or target == "review":
            return self.may_edit(version, by)
        return by in APPROVERS or (target == "draft" and self.may_edit(version, by))

    def state_of(self, key: Key) -> str:
        found = self.find(key.element, key.version)
        return found.state if found else ""

    def open_task(self, version: str) -> Task | None:
        return next((each for each in self.open_tasks() if each.version == version), None)

    def open_tasks(self) -> Iterator[Task]:
        return (each for each in self.tasks.values() if each.state == "open")

    def offered(self, version: Version, by: str) -> list[str]:
        found = [key for key, each in TRANSITIONS.items() if each["from"] == version.state]
        waits = self.open_task(version.id) is not None
        return [key for key in found if self.may_apply(version, key, by) and not (waits and "task" in TRANSITIONS[key])]

    def waits_for(self, task: Task, by: str) -> bool:
        is_for = by in APPROVERS if task.assignee is None else task.assignee == self.people[by]
        return is_for and (by != task.requester or by == "cora")

    def retire(self, version: Version, end: datetime | None = None) -> None:
        version.state, version.changes = "expired", version.changes + 1
        version.valid_until = end or version.valid_until
        if (task := self.open_task(version.id)) is not None:
            task.state, task.is_stuck = "obsolete", False

    def publish(self, element: str, version: Version, state: str) -> None:
        earlier, today = self.published(element), start_of_day(Clock.now)
        if earlier is not None:
            self.retire(earlier, min(earlier.valid_until, today))
        version.state, version.changes = state, version.changes + 1
        version.number = max(each.number[0] for each in self.known[element]) + 1, 0
        version.valid_from = version.valid_from or today

    def ends(self) -> list[datetime]:
        """Of published versions, as far as they are known and to come."""
        shown = [each.valid_until for element in self.known if (each := self.published(element))]
        return [each for each in shown if Clock.now < each < NO_END]

    def run_clock(self) -> None:
        run_lifecycle(self.storage)
        for versions in self.known.values():
            for each in versions:
                if each.category == "published" and each.valid_until <= Clock.now:
                    self.retire(each)
        for task in self.open_tasks():
            is_approver = task.assignee is None or self.names[task.assignee] in APPROVERS
            task.is_stuck = not is_approver or Clock.now - task.requested > LIMIT


BY = st.sampled_from([*["cora", "architect"] * 4, *["anna", "ben"] * 2, "dora", "vera", "analyzer"])
DECIDERS = st.sampled_from([*["cora", "ben", "architect"] * 2, "dora", "anna", "vera"])
SELDOM = st.sampled_from([False] * 9 + [True])
OFTEN = st.sampled_from([True] * 4 + [False])
LATER = st.sampled_from([timedelta(days=1), timedelta(hours=7), timedelta(days=2), timedelta(days=20)])
OWNERS = st.sampled_from([None, "ben", "dora", "anna"])
EDITS = st.one_of(
    st.tuples(st.just("name"), st.sampled_from(["New", None])),
    st.tuples(st.just("reason"), st.sampled_from(["Because.", None])),
    st.tuples(st.just("owner"), OWNERS),
    st.tuples(st.just("maturity"), st.sampled_from(["defined", "isLived", None])),
    st.tuples(st.just("valid_until"), st.sampled_from([1, 1, 2, 30, -1])),
    st.tuples(st.just("valid_from"), st.sampled_from([-1, 1, 2, None])),
)


# In an order that makes a life, for runs in which nothing was left to chance.
ACTIONS = (
    "edit", "draw", "apply", "rename", "apply", "create_version", "edit", "apply", "request", "touch", "accept",
    "time_passes", "create_version", "delete", "apply", "delegate", "reject", "time_passes", "apply", "withdraw", "accept",
    "create", "edit", "apply", "time_passes", "request", "accept", "create_version", "rename", "time_passes",
)  # fmt: skip


class Releasing(RuleBasedStateMachine):
    storages: tuple[Storage, ...]

    def __init__(self) -> None:
        super().__init__()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        Clock.now = BEGIN
        self.worlds = {world.name: world for world in map(World, self.storages)}
        self.last = Key("acme", ID["inProcess"], ID["inProcess-1"])
        self.gone: list[Key] = []
        self.number = -1
        self.touched: set[tuple[str, str]] = set()
        self.fingerprints = {name: world.fingerprint() for name, world in self.worlds.items()}

    @rule(data=st.data())
    def act(self, data: st.DataObject) -> None:
        """One step of any kind. One rule for all of them: a few short runs are to see something of each."""
        self.number += 1
        action = ACTIONS[(self.number + data.draw(st.integers(0, len(ACTIONS) - 1), "action")) % len(ACTIONS)]
        if action in ("touch", "accept", "reject", "withdraw", "delegate") and not self.task_keys():
            action = "request"
        getattr(self, f"draw_{action}")(data)

    def version_keys(self) -> list[Key]:
        return [
            Key(home, element, each.id)
            for home, world in self.worlds.items()
            for element, versions in world.known.items()
            for each in versions
        ]

    def task_keys(self) -> list[Key]:
        return [
            Key(home, each.element, each.version, each.id)
            for home, world in self.worlds.items()
            for each in world.tasks.values()
        ]

    def a_version(self, data: st.DataObject, *states: str) -> Key:
        """Mostly of the element that the step before was about, so that lives are long; and in one of these states."""
        keys = self.version_keys()
        stays, is_gone, is_fit = data.draw(OFTEN, "stays"), data.draw(SELDOM, "is gone"), data.draw(OFTEN, "is fit")
        same = [each for each in keys if each[:2] == self.last[:2]]
        fit = [each for each in keys if self.worlds[each.home].state_of(each) in states]
        if is_gone and self.gone:
            keys = self.gone
        elif is_fit and fit:
            keys = [each for each in fit if each in same] or fit
        elif stays and same:
            keys = same
        self.last = data.draw(st.sampled_from(keys), "version")
        return self.last

    def a_task(self, data: st.DataObject) -> Key:
        """One that is open, as long as there is one, or any."""
        keys = self.task_keys()
        waiting = [each for each in keys if self.worlds[each.home].tasks[each.id].state == "open"]
        waits = data.draw(OFTEN, "waits")
        self.last = data.draw(st.sampled_from(waiting if waits and waiting else keys), "task")
        return self.last

    def draw_create(self, data: st.DataObject) -> None:
        """Something without an owner; it may be released at once."""
        home, named, by = data.draw(st.sampled_from([*self.worlds])), data.draw(OFTEN, "named"), data.draw(BY)
        self.create(home, named, by)
        if data.draw(st.booleans(), "release"):
            self.apply(self.last, "InProcessToReleased", True, None, False, "architect", False)

    def draw_edit(self, data: st.DataObject) -> None:
        self.edit(self.a_version(data, "inProcess"), data.draw(EDITS), data.draw(BY), data.draw(SELDOM))

    def draw_touch(self, data: st.DataObject) -> None:
        """A version that somebody has asked something about; some of it can be edited although it is published."""
        key, by = self.a_task(data), data.draw(st.sampled_from(["cora", "anna", "ben"]))
        self.edit(key, data.draw(EDITS | st.just(("maturity", "defined"))), by, False)

    def draw_draw(self, data: st.DataObject) -> None:
        self.draw(self.a_version(data, "inProcess"), data.draw(BY), data.draw(SELDOM))

    def draw_rename(self, data: st.DataObject) -> None:
        key = self.a_version(data, "inProcess")
        version = self.worlds[key.home].find(key.element, key.version)
        drawn = [each.id for each in version.diagram] if version else [key.id or key.version]
        if drawn:
            key = key._replace(id=data.draw(st.sampled_from(drawn), "drawn"))
            self.rename(key, data.draw(st.sampled_from(["one", "other"])), data.draw(BY), data.draw(SELDOM))

    def draw_apply(self, data: st.DataObject) -> None:
        """Any transition, but more often one that leads out of the state."""
        key, by, by_element, elsewhere = (
            self.a_version(data),
            data.draw(BY),
            data.draw(st.booleans()),
            data.draw(SELDOM),
        )
        version = self.world(key, elsewhere).addressed(key, by_element, by)
        leading = [name for name, each in TRANSITIONS.items() if version and each["from"] == version.state]
        is_likely = data.draw(OFTEN, "leading")
        names = leading if leading and is_likely else [*TRANSITIONS]
        until = data.draw(st.sampled_from([None, None, None, 3, -1]), "until")
        transition = names[(self.number + data.draw(st.integers(0, len(names) - 1))) % len(names)]
        self.apply(key, transition, data.draw(OFTEN, "ignore"), until, by_element, by, elsewhere)

    def draw_request(self, data: st.DataObject) -> None:
        key, by = (
            self.a_version(data, "released", "inEffect"),
            data.draw(st.sampled_from(["anna", "architect", "cora"])),
        )
        transition = (
            f"{'InEffect' if self.worlds[key.home].state_of(key) == 'inEffect' else 'Released'}ToRequestToExpire"
        )
        self.apply(key, transition, True, data.draw(st.sampled_from([None, 1]), "until"), False, by, False)

    def draw_create_version(self, data: st.DataObject) -> None:
        self.create_version(
            self.a_version(data, *PUBLISHED, "expired"), data.draw(st.booleans()), data.draw(BY), data.draw(SELDOM)
        )

    def draw_delete(self, data: st.DataObject) -> None:
        self.delete(self.a_version(data, "inProcess"), data.draw(BY), data.draw(SELDOM))

    def draw_accept(self, data: st.DataObject) -> None:
        self.accept(self.a_task(data), data.draw(DECIDERS), data.draw(SELDOM))

    def draw_reject(self, data: st.DataObject) -> None:
        self.reject(self.a_task(data), data.draw(DECIDERS), data.draw(SELDOM))

    def draw_withdraw(self, data: st.DataObject) -> None:
        self.withdraw(self.a_task(data), data.draw(BY), data.draw(SELDOM))

    def draw_delegate(self, data: st.DataObject) -> None:
        to = data.draw(st.sampled_from(["ben", "dora", "cora", "anna", "eve", "crew"]), "to")
        self.delegate(self.a_task(data), to, data.draw(DECIDERS), data.draw(SELDOM))

    def draw_time_passes(self, data: st.DataObject) -> None:
        """Up to the next end of a version, where one is set."""
        later, until_end = data.draw(LATER), data.draw(OFTEN, "until an end")
        ends = [each for world in self.worlds.values() for each in world.ends()]
        if until_end and ends:
            later = min(ends) - Clock.now
        self.time_passes(later, data.draw(st.sampled_from([("acme", "rival"), ("acme",), ("rival",)])))

    def teardown(self) -> None:
        """Whole lists of both storages, and for everybody what this was about."""
        try:
            for world in self.worlds.values():
                self.check_lists(world)
                for element in world.known:
                    if (world.name, element) in self.touched:
                        self.check_element(world, element, ("anna", "ben", "cora"))
                self.check_tasks(world, ROLES)
            connection.check_constraints()
        finally:
            transaction.set_rollback(True)
            self.atomic.__exit__(None, None, None)

    def world(self, key: Key, elsewhere: bool) -> World:
        return self.worlds[next(name for name in self.worlds if (name == key.home) != elsewhere)]

    def send(self, world: World, kinds: Iterable[int], method: str, address: str, body: Any, by: str) -> Any:
        """The answer, when the model refuses nothing; else None."""
        refusals = [each for each in BASIC_FIRST if each in kinds]
        Clock.now += timedelta(seconds=1)
        status, answer = world.call(method, address, body, by)
        assert status == next(iter(refusals), 200), answer
        assert self.changed() == (set() if refusals else {world.name})
        return None if refusals else answer

    def changed(self) -> set[str]:
        """The storages that have changed since this was asked before."""
        before = self.fingerprints
        self.fingerprints = {name: world.fingerprint() for name, world in self.worlds.items()}
        return {name for name, each in self.fingerprints.items() if each != before[name]}

    def check(self, world: World, element: str, by: str) -> None:
        self.touched.add((world.name, element))
        self.check_element(world, element, [by])
        self.check_tasks(world, [by])
        check_lifecycles(world.storage)

    def check_element(self, world: World, element: str, callers: Iterable[str]) -> None:
        known, shown = world.known.get(element, []), world.published(element)
        status, answer = world.call("GET", f"{ELEMENTS}/{element}/versions?$resources=attributes,content")
        assert status == (200 if known else MISSING)
        assert [view_of(each) for each in answer.get("elements", ())] == [expected_view(each) for each in known]
        status, answer = world.call("GET", f"{ELEMENTS}/{element}?$resources=content", by="vera")
        assert status == (200 if shown else MISSING)
        if shown:
            seen = answer["elements"][0]
            assert (seen["versionId"], [each["id"] for each in seen.get("content", ())]) == (
                shown.id, [each.id for each in shown.diagram])  # fmt: skip
        for version in {each.id: each for each in (*known[-1:], *([shown] if shown else []))}.values():
            for by in callers:
                if by != "vera" or version is shown:
                    status, answer = world.call("GET", f"release/{version.id}/transitions", by=by)
                    assert [each["transitionId"] for each in answer["values"]] == world.offered(version, by)

    def check_lists(self, world: World) -> None:
        """One entry an element, by who reads (D6); of those that the model does not know, as they were."""
        newest = {element: (versions[-1].id, versions[-1].state) for element, versions in world.known.items()}
        shown = {element: (each.id, each.state) for element in newest if (each := world.published(element))}
        for by, expected in (("analyzer", newest), ("vera", shown)):
            path = f"{ELEMENTS}?$filter=type -eq 'subProcess'&$resources=displayNames"
            found = {
                each["id"]: (each["versionId"], each["state"]) for each in world.call("GET", path, by=by)[1]["elements"]
            }
            unknown = ["released", "requestToExpire", *(["readyForQa", "expired"] if by != "vera" else [])]
            assert found == {**{ID[state]: (ID[f"{state}-1"], state) for state in unknown}, **expected}

    def check_tasks(self, world: World, callers: Iterable[str]) -> None:
        """All that are open, and those that wait for a caller."""
        found = world.call("GET", "rest/tasks?assignee=all")[1]["values"]
        tasks = {each.id: each for each in world.open_tasks()}
        told = {
            each["id"]: (each["element"]["versionId"], each.get("assignee", {}).get("id"), each["isStuck"])
            for each in found
        }
        assert told == {each.id: (each.version, each.assignee, each.is_stuck) for each in tasks.values()}
        for by in callers:
            status, answer = world.call("GET", "rest/tasks", by=by)
            if by == "vera":
                assert status == FORBIDDEN
            else:
                waiting = {each["id"] for each in answer["values"]}
                assert waiting == {id for id, each in tasks.items() if world.waits_for(each, by)}

    def create(self, home: str, has_name: bool, by: str) -> None:
        world, kinds = self.worlds[home], {FORBIDDEN} if by not in EDITORS else set()
        names = {"name": {"1033": "New"}} if has_name else {"purp": {"1033": "New"}}
        body = {"type": "subProcess", "attributes": names, "rootPath": [{"id": ID["house"]}]}
        answer = self.send(world, kinds, "POST", ELEMENTS, {"elements": [body]}, by)
        if answer is None:
            return
        [made] = answer["elements"]
        world.known[made["id"]] = [
            Version(made["versionId"], "inProcess", (0, 1), world.people[by], names.get("name", {}).get("1033"))
        ]
        self.check(world, made["id"], by)
        self.last = Key(home, made["id"], made["versionId"])

    def edit(self, key: Key, edit: tuple[str, Any], by: str, elsewhere: bool) -> None:
        world, (what, value) = self.world(key, elsewhere), edit
        if what.startswith("valid") and value is not None:
            value = start_of_day(Clock.now) + timedelta(days=value)
        if what == "owner" and value is not None:
            value = world.people[value]
        version = world.find(key.element, key.version)
        is_changed = version is not None and getattr(version, what) != value
        kinds = self.editing_problems(world, version, by, is_changed, what == "maturity")
        body = {"versionId": key.version, **body_of(what, value)}
        if self.send(world, kinds, "POST", ELEMENTS, {"elements": [body]}, by) and version:
            setattr(version, what, value)
            version.changes += 1
        self.check(world, key.element, by)

    def editing_problems(
        self, world: World, version: Version | None, by: str, is_changed: bool, in_released: bool = False
    ) -> set[int]:
        if by not in EDITORS:
            return {FORBIDDEN}
        if version is None:
            return {MISSING}
        if not world.may_edit(version, by):
            return {FORBIDDEN}
        is_possible = version.category == "draft" or (version.category == "published" and in_released)
        return {CONFLICT} if is_changed and not is_possible else set()

    def draw(self, key: Key, by: str, elsewhere: bool) -> None:
        world = self.world(key, elsewhere)
        version = world.find(key.element, key.version)
        kinds = self.editing_problems(world, version, by, True)
        item = {"shapeInfo": {"index": 0}, "element": {"type": "task", "attributes": {"name": {"1033": "drawn"}}}}
        answer = self.send(world, kinds, "POST", f"{ELEMENTS}/{key.version}/content", {"values": [item]}, by)
        if answer is None or version is None:
            self.check(world, key.element, by)
            return
        shown = world.call("GET", f"{ELEMENTS}/{key.version}/content")[1]["elements"][-1]
        assert shown["properties"]["shapeId"] == answer["values"][0]["id"]
        version.diagram.append(Drawn(shown["id"], shown["id"], "drawn"))
        version.changes += 1
        self.check(world, key.element, by)

    def rename(self, key: Key, name: str, by: str, elsewhere: bool) -> None:
        """A task in a diagram follows the state of the version whose diagram it is in."""
        world = self.world(key, elsewhere)
        version = world.find(key.element, key.version)
        drawing = next((each for each in version.diagram if each.id == key.id), None) if version else None
        is_changed = drawing is not None and drawing.name != name
        kinds = self.editing_problems(world, version if drawing else None, by, is_changed)
        body = {"id": key.id, "attributes": {"name": {"1033": name}}}
        if self.send(world, kinds, "POST", ELEMENTS, {"elements": [body]}, by) and drawing:
            drawing.name = name
        self.check(world, key.element, by)
        if version is not None:
            self.check_names(world, version)

    def check_names(self, world: World, version: Version) -> None:
        for each in world.call("GET", f"{ELEMENTS}/{version.id}/content")[1]["elements"]:
            [known] = [one for one in version.diagram if one.id == each["id"]]
            assert each["creationId"] == known.creation
            assert not known.name or each["attributes"]["name"] == {"1033": known.name}

    def apply(
        self, key: Key, transition: str, ignore: bool, until: int | None, by_element: bool, by: str, elsewhere: bool
    ) -> None:
        world = self.world(key, elsewhere)
        version = world.addressed(key, by_element, by)
        end = start_of_day(Clock.now) + timedelta(days=until) if until and "task" in TRANSITIONS[transition] else None
        kinds = {MISSING} if version is None else self.applying_problems(world, version, transition, by, ignore, end)
        address = f"release/{key.element if by_element else key.version}/transitions/{transition}"
        body = {"validUntil": wire_datetime(end, ZONE)} if end else None
        answer = self.send(world, kinds, "POST", f"{address}?ignoreWarnings={str(ignore).lower()}", body, by)
        if answer is not None and version is not None:
            assert answer["elements"][0]["versionId"] == version.id
            self.applied(world, key.element, version, transition, by, end)
        self.check(world, key.element, by)

    def applying_problems(
        self, world: World, version: Version, transition: str, by: str, ignore: bool, end: datetime | None
    ) -> set[int]:
        target = TRANSITIONS[transition]["to"]
        is_task = "task" in TRANSITIONS[transition]
        if not world.may_apply(version, transition, by):
            return {FORBIDDEN}
        if transition not in world.offered(version, by):
            return {CONFLICT}
        now, kinds = Clock.now + timedelta(seconds=1), set()
        if category(target) in ("review", "published") and not is_task and version.name is None:
            kinds.add(INVALID)
        if target == "released":
            if not ignore and None in (version.owner, version.reason):
                kinds.add(INVALID)
            if version.valid_until <= max(version.valid_from or now, now):
                kinds.add(INVALID)
        # Nothing is prolonged by ending it.
        return kinds | ({INVALID} if end is not None and not now < end < version.valid_until else set())

    def applied(
        self, world: World, element: str, version: Version, transition: str, by: str, end: datetime | None
    ) -> None:
        target = TRANSITIONS[transition]["to"]
        if "task" in TRANSITIONS[transition]:
            [told] = world.call("GET", f"rest/tasks?assignee=all&element={version.id}")[1]["values"]
            assignee = version.owner if version.owner != world.people[by] else None
            task = Task(told["id"], element, version.id, by, assignee, transition, end, version.changes, Clock.now)
            world.tasks[task.id] = task
        elif category(target) == "published":
            world.publish(element, version, target)
        else:
            version.state, version.changes = target, version.changes + 1

    def create_version(self, key: Key, by_element: bool, by: str, elsewhere: bool) -> None:
        world = self.world(key, elsewhere)
        version, known = world.addressed(key, by_element, by), world.known.get(key.element, [])
        shown, retired = world.published(key.element), [each for each in known if each.category == "retired"]
        sources = [*([shown] if shown else []), *retired[-1:]]
        source = sources[0] if by_element and sources else version
        is_open = any(each.category in OPEN for each in known)
        if version is None or source is None:
            kinds = {MISSING}
        elif not world.may_edit(source, by):
            kinds = {FORBIDDEN}
        else:
            kinds = {CONFLICT} if is_open or source not in sources else set()
        address = f"release/{key.element if by_element else key.version}/createversion"
        answer = self.send(world, kinds, "POST", address, None, by)
        if answer is None or source is None:
            self.check(world, key.element, by)
            return
        new = self.copied(world, source, answer["elements"][0]["versionId"], by)
        major, minor = known[-1].number
        world.known[key.element].append(replace(new, number=(major, minor + 1)))
        self.check(world, key.element, by)
        self.check_names(world, source)

    def copied(self, world: World, source: Version, id: str, by: str) -> Version:
        content = world.call("GET", f"{ELEMENTS}/{id}/content")[1].get("elements", [])
        assert [each["creationId"] for each in content] == [each.creation for each in source.diagram]
        assert not {each["id"] for each in content} & {each.id for each in source.diagram}
        diagram = [
            Drawn(each["id"], known.creation, known.name) for each, known in zip(content, source.diagram, strict=True)
        ]
        return replace(
            source, id=id, state="inProcess", author=world.people[by], reason=None, valid_from=None,
            valid_until=NO_END, diagram=diagram, changes=0,
        )  # fmt: skip

    def delete(self, key: Key, by: str, elsewhere: bool) -> None:
        world = self.world(key, elsewhere)
        version = world.find(key.element, key.version)
        kinds = self.editing_problems(world, version, by, True)
        if self.send(world, kinds, "DELETE", f"{ELEMENTS}/{key.version}", None, by) and version:
            self.gone.append(key._replace(home=world.name, id=version.diagram[0].id if version.diagram else ""))
            world.known[key.element].remove(version)
            if not world.known[key.element]:
                del world.known[key.element]
            for each in version.diagram:
                assert world.call("GET", f"{ELEMENTS}/{each.id}")[0] == MISSING
        self.check(world, key.element, by)

    def decide(self, key: Key, decision: str, by: str, elsewhere: bool, kinds: Callable[[World, Task], set[int]],
               body: Any = None) -> tuple[World, Task] | None:  # fmt: skip
        world = self.world(key, elsewhere)
        task = world.tasks.get(key.id)
        found = {FORBIDDEN} if by == "vera" else {MISSING} if task is None else kinds(world, task)
        if task is not None and task.state != "open" and FORBIDDEN not in found:
            found = {CONFLICT}
        answer = self.send(world, found, "POST", f"rest/tasks/{key.id}/{decision}", body, by)
        if answer is None or task is None:
            self.check(world, key.element, by)
            return None
        return world, task

    def approver_problems(self, world: World, task: Task, by: str) -> set[int]:
        is_allowed = by in APPROVERS and (by == "cora" or world.waits_for(task, by))
        return set() if is_allowed else {FORBIDDEN}

    def accept(self, key: Key, by: str, elsewhere: bool) -> None:
        def problems(world: World, task: Task) -> set[int]:
            kinds = self.approver_problems(world, task, by)
            version = world.find(task.element, task.version)
            is_same = version is not None and version.changes == task.changes
            return kinds | (set() if is_same else {CONFLICT})

        done = self.decide(key, "accept", by, elsewhere, problems)
        if done is None:
            return
        world, task = done
        version = world.find(task.element, task.version)
        assert version is not None
        task.state, task.is_stuck = "accepted", False
        today = start_of_day(Clock.now)
        version.valid_until = min(version.valid_until, max(task.valid_until or today, today))
        version.state, version.changes = TRANSITIONS[task.transition]["to"], version.changes + 1
        if version.valid_until <= Clock.now:
            version.state = "expired"
        self.check(world, task.element, by)

    def reject(self, key: Key, by: str, elsewhere: bool) -> None:
        done = self.decide(key, "reject", by, elsewhere, lambda world, task: self.approver_problems(world, task, by))
        if done is not None:
            world, task = done
            task.state, task.is_stuck = "rejected", False
            self.check(world, task.element, by)

    def withdraw(self, key: Key, by: str, elsewhere: bool) -> None:
        def problems(world: World, task: Task) -> set[int]:
            return set() if by in (task.requester, "cora") else {FORBIDDEN}

        done = self.decide(key, "withdraw", by, elsewhere, problems)
        if done is not None:
            world, task = done
            task.state, task.is_stuck = "withdrawn", False
            self.check(world, task.element, by)

    def delegate(self, key: Key, to: str, by: str, elsewhere: bool) -> None:
        def problems(world: World, task: Task) -> set[int]:
            is_possible = to in ("ben", "dora", "cora") and to != task.requester
            return self.approver_problems(world, task, by) | (set() if is_possible else {INVALID})

        done = self.decide(key, "delegate", by, elsewhere, problems, {"assignee": ID[to]})
        if done is not None:
            world, task = done
            task.assignee, task.is_stuck = ID[to], False
            self.check(world, task.element, by)

    def time_passes(self, later: timedelta, homes: tuple[str, ...]) -> None:
        Clock.now += later
        for home in homes:
            self.worlds[home].run_clock()
            assert self.changed() <= {home}
            self.check_tasks(self.worlds[home], ["ben"])
            check_lifecycles(self.worlds[home].storage)


def view_of(element: Body) -> tuple[str, str, str, Any, str, list[str]]:
    values = {name: each["127"] for name, each in element["attributes"].items() if "127" in each}
    content = [each["id"] for each in element.get("content", ())]
    return (
        element["versionId"],
        element["state"],
        values["version"],
        values.get("validFrom"),
        values["validUntil"],
        content,
    )


def expected_view(version: Version) -> tuple[str, str, str, Any, str, list[str]]:
    begin = wire_datetime(version.valid_from, ZONE) if version.valid_from else None
    content = [each.id for each in version.diagram]
    number = f"{version.number[0]}.{version.number[1]}"
    return version.id, version.state, number, begin, wire_datetime(version.valid_until, ZONE), content


def body_of(what: str, value: Any) -> Body:
    if what == "owner":
        return {"related": {"owner": [{"id": value}] if value else []}}
    if what.startswith("valid"):
        name = {"valid_from": "validFrom", "valid_until": "validUntil"}[what]
        return {"attributes": {name: {"127": wire_datetime(value, ZONE) if value else None}}}
    if what == "maturity":
        return {"attributes": {"processMaturity": {"127": value}}}
    return {"attributes": {{"name": "name", "reason": "reasonForRevision"}[what]: {"1033": value}}}


def run_machine(house: Storage, monkeypatch: pytest.MonkeyPatch, examples: int, steps: int) -> None:
    monkeypatch.setattr(timezone, "now", lambda: Clock.now)
    rival = Storage.objects.get(collection__key="rival", key=house.key)
    machine = type("Houses", (Releasing,), {"storages": (house, rival)})
    limits = settings(max_examples=examples, stateful_step_count=steps, deadline=None, database=None,
                      suppress_health_check=list(HealthCheck))  # fmt: skip
    run_state_machine_as_test(machine, settings=limits)


def test_a_model_of_two_storages(house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    run_machine(house, monkeypatch, examples=2, steps=25)
