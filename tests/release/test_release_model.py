"""Random lifecycles in two storages with common ids, compared with a plain model (D6, D18 to D23, D81 to D95).

After every request the versions, the version that a viewer reads, the offered transitions and the open tasks must match
the model. Requests that the model refuses must fail with its status and change nothing. The log must match the stored
versions, and the other storage must never change.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from storage.models import Storage
from tests.release.house import PUBLISHED
from tests.release.release_model import (
    TRANSITIONS,
    ModelClock,
    VersionKey,
)
from tests.release.release_steps import ReleaseSteps

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.on_cluster]
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


# In the order of a typical lifecycle, for runs without random choices.
ACTIONS = (
    "edit", "draw", "apply", "rename", "apply", "create_version", "edit", "apply", "request", "touch", "accept",
    "time_passes", "create_version", "delete", "apply", "delegate", "reject", "time_passes", "apply", "withdraw", "accept",
    "create", "edit", "apply", "time_passes", "request", "accept", "create_version", "rename", "time_passes",
)  # fmt: skip


class Releasing(ReleaseSteps):
    """Draws the arguments of a step and takes it."""

    @rule(data=st.data())
    def act(self, data: st.DataObject) -> None:
        """Take one step of any kind. A single rule for all steps lets a few short runs cover each of them."""
        self.number += 1
        action = ACTIONS[(self.number + data.draw(st.integers(0, len(ACTIONS) - 1), "action")) % len(ACTIONS)]
        if action in ("touch", "accept", "reject", "withdraw", "delegate") and not self.task_keys():
            action = "request"
        getattr(self, f"draw_{action}")(data)

    def version_keys(self) -> list[VersionKey]:
        return [
            VersionKey(home, element, each.id)
            for home, world in self.worlds.items()
            for element, versions in world.known.items()
            for each in versions
        ]

    def task_keys(self) -> list[VersionKey]:
        return [
            VersionKey(home, each.element, each.version, each.id)
            for home, world in self.worlds.items()
            for each in world.tasks.values()
        ]

    def a_version(self, data: st.DataObject, *states: str) -> VersionKey:
        """Choose a version, mostly of the element of the previous step, in one of these states."""
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

    def a_task(self, data: st.DataObject) -> VersionKey:
        """Choose an open task if there is one, or else any task."""
        keys = self.task_keys()
        waiting = [each for each in keys if self.worlds[each.home].tasks[each.id].state == "open"]
        waits = data.draw(OFTEN, "waits")
        self.last = data.draw(st.sampled_from(waiting if waits and waiting else keys), "task")
        return self.last

    def draw_create(self, data: st.DataObject) -> None:
        """Create an element without an owner, and sometimes release it at once."""
        home, named, by = data.draw(st.sampled_from([*self.worlds])), data.draw(OFTEN, "named"), data.draw(BY)
        self.create(home, named, by)
        if data.draw(st.booleans(), "release"):
            self.apply(self.last, "InProcessToReleased", True, None, False, "architect", False)

    def draw_edit(self, data: st.DataObject) -> None:
        self.edit(self.a_version(data, "inProcess"), data.draw(EDITS), data.draw(BY), data.draw(SELDOM))

    def draw_touch(self, data: st.DataObject) -> None:
        """Edit a version with a task; some properties are editable in published versions."""
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
        """Apply any transition, more often one that leaves the current state."""
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
        """Move the clock, often to the next end of a version."""
        later, until_end = data.draw(LATER), data.draw(OFTEN, "until an end")
        ends = [each for world in self.worlds.values() for each in world.ends()]
        if until_end and ends:
            later = min(ends) - ModelClock.now
        self.time_passes(later, data.draw(st.sampled_from([("acme", "rival"), ("acme",), ("rival",)])))


def run_machine(house: Storage, monkeypatch: pytest.MonkeyPatch, examples: int, steps: int) -> None:
    monkeypatch.setattr(timezone, "now", lambda: ModelClock.now)
    rival = Storage.objects.get(collection__key="rival", key=house.key)
    machine = type("Houses", (Releasing,), {"storages": (house, rival)})
    limits = settings(max_examples=examples, stateful_step_count=steps, deadline=None, database=None,
                      suppress_health_check=list(HealthCheck))  # fmt: skip
    run_state_machine_as_test(machine, settings=limits)


def test_a_model_of_two_storages(house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    run_machine(house, monkeypatch, examples=2, steps=25)
