"""Steps of `test_release_model.py`: each sends a request and compares the outcome with the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from hypothesis.stateful import RuleBasedStateMachine

from repository_site.core.rest.datetimes import wire_datetime
from storage.models import Storage
from tests.cycles import category
from tests.release.house import ID
from tests.release.log_check import check_lifecycles
from tests.release.release_model import (
    APPROVERS,
    BASIC_FIRST,
    BEGIN,
    CONFLICT,
    EDITORS,
    ELEMENTS,
    FORBIDDEN,
    INVALID,
    MISSING,
    NO_END,
    OPEN,
    ROLES,
    TRANSITIONS,
    ZONE,
    ModelClock,
    ModelDiagramElement,
    ModelStorage,
    ModelTask,
    ModelVersion,
    VersionKey,
    body_of,
    expected_view,
    start_of_day,
    view_of,
)


class ReleaseSteps(RuleBasedStateMachine):
    storages: tuple[Storage, ...]

    def __init__(self) -> None:
        super().__init__()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        ModelClock.now = BEGIN
        self.worlds = {world.name: world for world in map(ModelStorage, self.storages)}
        self.last = VersionKey("acme", ID["inProcess"], ID["inProcess-1"])
        self.gone: list[VersionKey] = []
        self.number = -1
        self.touched: set[tuple[str, str]] = set()
        self.fingerprints = {name: world.fingerprint() for name, world in self.worlds.items()}

    def teardown(self) -> None:
        """Check whole lists of both storages, and the touched elements for several callers."""
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

    def world(self, key: VersionKey, elsewhere: bool) -> ModelStorage:
        return self.worlds[next(name for name in self.worlds if (name == key.home) != elsewhere)]

    def send(self, world: ModelStorage, kinds: Iterable[int], method: str, address: str, body: Any, by: str) -> Any:
        """Return the response, or None if the model refuses the request."""
        refusals = [each for each in BASIC_FIRST if each in kinds]
        ModelClock.now += timedelta(seconds=1)
        status, answer = world.call(method, address, body, by)
        assert status == next(iter(refusals), 200), answer
        assert self.changed() == (set() if refusals else {world.name})
        return None if refusals else answer

    def changed(self) -> set[str]:
        """Return the storages that have changed since the last call."""
        before = self.fingerprints
        self.fingerprints = {name: world.fingerprint() for name, world in self.worlds.items()}
        return {name for name, each in self.fingerprints.items() if each != before[name]}

    def check(self, world: ModelStorage, element: str, by: str) -> None:
        self.touched.add((world.name, element))
        self.check_element(world, element, [by])
        self.check_tasks(world, [by])
        check_lifecycles(world.storage)

    def check_element(self, world: ModelStorage, element: str, callers: Iterable[str]) -> None:
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

    def check_lists(self, world: ModelStorage) -> None:
        """Check that each list has one entry per element for its reader (D6)."""
        newest = {element: (versions[-1].id, versions[-1].state) for element, versions in world.known.items()}
        shown = {element: (each.id, each.state) for element in newest if (each := world.published(element))}
        for by, expected in (("analyzer", newest), ("vera", shown)):
            path = f"{ELEMENTS}?$filter=type -eq 'subProcess'&$resources=displayNames"
            found = {
                each["id"]: (each["versionId"], each["state"]) for each in world.call("GET", path, by=by)[1]["elements"]
            }
            unknown = ["released", "requestToExpire", *(["readyForQa", "expired"] if by != "vera" else [])]
            assert found == {**{ID[state]: (ID[f"{state}-1"], state) for state in unknown}, **expected}

    def check_tasks(self, world: ModelStorage, callers: Iterable[str]) -> None:
        """Check the open tasks and the tasks that wait for a caller."""
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
            ModelVersion(made["versionId"], "inProcess", (0, 1), world.people[by], names.get("name", {}).get("1033"))
        ]
        self.check(world, made["id"], by)
        self.last = VersionKey(home, made["id"], made["versionId"])

    def edit(self, key: VersionKey, edit: tuple[str, Any], by: str, elsewhere: bool) -> None:
        world, (what, value) = self.world(key, elsewhere), edit
        if what.startswith("valid") and value is not None:
            value = start_of_day(ModelClock.now) + timedelta(days=value)
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
        self, world: ModelStorage, version: ModelVersion | None, by: str, is_changed: bool, in_released: bool = False
    ) -> set[int]:
        if by not in EDITORS:
            return {FORBIDDEN}
        if version is None:
            return {MISSING}
        if not world.may_edit(version, by):
            return {FORBIDDEN}
        is_possible = version.category == "draft" or (version.category == "published" and in_released)
        return {CONFLICT} if is_changed and not is_possible else set()

    def draw(self, key: VersionKey, by: str, elsewhere: bool) -> None:
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
        version.diagram.append(ModelDiagramElement(shown["id"], shown["id"], "drawn"))
        version.changes += 1
        self.check(world, key.element, by)

    def rename(self, key: VersionKey, name: str, by: str, elsewhere: bool) -> None:
        """Rename a task in a diagram, which follows the state of the version of that diagram."""
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

    def check_names(self, world: ModelStorage, version: ModelVersion) -> None:
        for each in world.call("GET", f"{ELEMENTS}/{version.id}/content")[1]["elements"]:
            [known] = [one for one in version.diagram if one.id == each["id"]]
            assert each["creationId"] == known.creation
            assert not known.name or each["attributes"]["name"] == {"1033": known.name}

    def apply(
        self,
        key: VersionKey,
        transition: str,
        ignore: bool,
        until: int | None,
        by_element: bool,
        by: str,
        elsewhere: bool,
    ) -> None:
        world = self.world(key, elsewhere)
        version = world.addressed(key, by_element, by)
        end = (
            start_of_day(ModelClock.now) + timedelta(days=until)
            if until and "task" in TRANSITIONS[transition]
            else None
        )
        kinds = {MISSING} if version is None else self.applying_problems(world, version, transition, by, ignore, end)
        address = f"release/{key.element if by_element else key.version}/transitions/{transition}"
        body = {"validUntil": wire_datetime(end, ZONE)} if end else None
        answer = self.send(world, kinds, "POST", f"{address}?ignoreWarnings={str(ignore).lower()}", body, by)
        if answer is not None and version is not None:
            assert answer["elements"][0]["versionId"] == version.id
            self.applied(world, key.element, version, transition, by, end)
        self.check(world, key.element, by)

    def applying_problems(
        self, world: ModelStorage, version: ModelVersion, transition: str, by: str, ignore: bool, end: datetime | None
    ) -> set[int]:
        target = TRANSITIONS[transition]["to"]
        is_task = "task" in TRANSITIONS[transition]
        if not world.may_apply(version, transition, by):
            return {FORBIDDEN}
        if transition not in world.offered(version, by):
            return {CONFLICT}
        now, kinds = ModelClock.now + timedelta(seconds=1), set()
        if category(target) in ("review", "published") and not is_task and version.name is None:
            kinds.add(INVALID)
        if target == "released":
            if not ignore and None in (version.owner, version.reason):
                kinds.add(INVALID)
            if version.valid_until <= max(version.valid_from or now, now):
                kinds.add(INVALID)
        # Ending a version never extends its validity.
        return kinds | ({INVALID} if end is not None and not now < end < version.valid_until else set())

    def applied(
        self, world: ModelStorage, element: str, version: ModelVersion, transition: str, by: str, end: datetime | None
    ) -> None:
        target = TRANSITIONS[transition]["to"]
        if "task" in TRANSITIONS[transition]:
            [told] = world.call("GET", f"rest/tasks?assignee=all&element={version.id}")[1]["values"]
            assignee = version.owner if version.owner != world.people[by] else None
            task = ModelTask(
                told["id"], element, version.id, by, assignee, transition, end, version.changes, ModelClock.now
            )
            world.tasks[task.id] = task
        elif category(target) == "published":
            world.publish(element, version, target)
        else:
            version.state, version.changes = target, version.changes + 1

    def create_version(self, key: VersionKey, by_element: bool, by: str, elsewhere: bool) -> None:
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

    def copied(self, world: ModelStorage, source: ModelVersion, id: str, by: str) -> ModelVersion:
        content = world.call("GET", f"{ELEMENTS}/{id}/content")[1].get("elements", [])
        assert [each["creationId"] for each in content] == [each.creation for each in source.diagram]
        assert not {each["id"] for each in content} & {each.id for each in source.diagram}
        diagram = [
            ModelDiagramElement(each["id"], known.creation, known.name)
            for each, known in zip(content, source.diagram, strict=True)
        ]
        return replace(
            source, id=id, state="inProcess", author=world.people[by], reason=None, valid_from=None,
            valid_until=NO_END, diagram=diagram, changes=0,
        )  # fmt: skip

    def delete(self, key: VersionKey, by: str, elsewhere: bool) -> None:
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

    def decide(self, key: VersionKey, decision: str, by: str, elsewhere: bool, kinds: Callable[[ModelStorage, ModelTask], set[int]],
               body: Any = None) -> tuple[ModelStorage, ModelTask] | None:  # fmt: skip
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

    def approver_problems(self, world: ModelStorage, task: ModelTask, by: str) -> set[int]:
        is_allowed = by in APPROVERS and (by == "cora" or world.waits_for(task, by))
        return set() if is_allowed else {FORBIDDEN}

    def accept(self, key: VersionKey, by: str, elsewhere: bool) -> None:
        def problems(world: ModelStorage, task: ModelTask) -> set[int]:
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
        today = start_of_day(ModelClock.now)
        version.valid_until = min(version.valid_until, max(task.valid_until or today, today))
        version.state, version.changes = TRANSITIONS[task.transition]["to"], version.changes + 1
        if version.valid_until <= ModelClock.now:
            version.state = "expired"
        self.check(world, task.element, by)

    def reject(self, key: VersionKey, by: str, elsewhere: bool) -> None:
        done = self.decide(key, "reject", by, elsewhere, lambda world, task: self.approver_problems(world, task, by))
        if done is not None:
            world, task = done
            task.state, task.is_stuck = "rejected", False
            self.check(world, task.element, by)

    def withdraw(self, key: VersionKey, by: str, elsewhere: bool) -> None:
        def problems(world: ModelStorage, task: ModelTask) -> set[int]:
            return set() if by in (task.requester, "cora") else {FORBIDDEN}

        done = self.decide(key, "withdraw", by, elsewhere, problems)
        if done is not None:
            world, task = done
            task.state, task.is_stuck = "withdrawn", False
            self.check(world, task.element, by)

    def delegate(self, key: VersionKey, to: str, by: str, elsewhere: bool) -> None:
        def problems(world: ModelStorage, task: ModelTask) -> set[int]:
            is_possible = to in ("ben", "dora", "cora") and to != task.requester
            return self.approver_problems(world, task, by) | (set() if is_possible else {INVALID})

        done = self.decide(key, "delegate", by, elsewhere, problems, {"assignee": ID[to]})
        if done is not None:
            world, task = done
            task.assignee, task.is_stuck = ID[to], False
            self.check(world, task.element, by)

    def time_passes(self, later: timedelta, homes: tuple[str, ...]) -> None:
        ModelClock.now += later
        for home in homes:
            self.worlds[home].run_clock()
            assert self.changed() <= {home}
            self.check_tasks(self.worlds[home], ["ben"])
            check_lifecycles(self.worlds[home].storage)
