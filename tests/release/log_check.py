"""Replay of the lifecycle log of a whole storage: log and stored versions must agree (D21, D84, D86, D94)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from uuid import UUID

from elements.models import Element, ElementVersion, Shape
from facets.blueprint.cycles import EVER_PUBLISHED, OPEN, Category
from facets.configuration import CompiledCycle, Configuration, configuration_of
from release.models import LifecycleEntry, Task
from storage.models import Storage
from storage.tenancy.scope import tenant_scope

Step = LifecycleEntry.Step
# Steps that do not change the state, except that a rejection or withdrawal sends a version in review back.
ABOUT_TASKS = frozenset({
    Step.REQUEST, Step.APPROVAL, Step.REJECTION, Step.WITHDRAWAL, Step.DELEGATION, Step.REMINDER
})  # fmt: skip
SENDING_BACK = frozenset({Step.REJECTION, Step.WITHDRAWAL})
# Steps that an open task can have any number of.
MEANWHILE = frozenset({Step.DELEGATION, Step.REMINDER})
# The log entry for each end of a task.
ENDS = {
    Task.State.ACCEPTED: Step.TRANSITION,
    Task.State.REJECTED: Step.REJECTION,
    Task.State.WITHDRAWN: Step.WITHDRAWAL,
}
SHOWN = frozenset({Category.PUBLISHED.value, Category.STATIC.value})


def check_lifecycles(storage: Storage) -> None:
    """Raise AssertionError with the element if the log and the stored versions disagree."""
    configuration = configuration_of(Storage.objects.get(pk=storage.pk))
    with tenant_scope(storage, snapshot=True):
        entries = list(LifecycleEntry.objects.order_by("element_id", "number"))
        versions = list(ElementVersion.objects.order_by("element_id", "major", "minor"))
        elements = list(Element.objects.select_related("type"))
        shapes = list(Shape.objects.values_list("element_id", "version_id"))
        tasks = list(Task.objects.all())
    steps = {element: list(found) for element, found in groupby(entries, lambda each: each.element_id)}
    stored = {element: list(found) for element, found in groupby(versions, lambda each: each.element_id)}
    for gone in steps.keys() - stored.keys():
        check_numbers(gone, steps[gone])
    for element in elements:
        cycle = configuration.cycles.get(element.type.key)
        own = stored[element.id]
        if cycle is None:
            assert element.id not in steps, f"{element.id} has no versions, but a log"
            continue
        replay = Replay(cycle, element.id, {each.id: each for each in own})
        replay.run(steps.get(element.id, ()))
        replay.compare()
        check_versions(cycle, element, own)
    check_diagrams(configuration, elements, versions, shapes)
    check_tasks(tasks, entries, versions)


@dataclass
class Replay:
    """The states of an element's versions as its log records them, from the first step on."""

    cycle: CompiledCycle
    element: UUID
    stored: Mapping[UUID, ElementVersion]
    """Without deleted drafts, which the log does not record."""
    states: dict[UUID, str] = field(default_factory=dict)
    numbers: dict[UUID, str] = field(default_factory=dict)
    ever_published: set[UUID] = field(default_factory=set)

    def run(self, steps: Sequence[LifecycleEntry]) -> None:
        check_numbers(self.element, steps)
        for place, each in enumerate(steps):
            before = steps[place - 1] if place else each
            assert before.changed_on <= each.changed_on, f"{self.name(each)}: earlier than the step before"
            self.take(each)
            following = steps[place + 1] if place + 1 < len(steps) else None
            if len(self.in_category(Category.PUBLISHED)) > 1:
                # A release and the end of the earlier version are one change.
                is_followed = following is not None and following.step == Step.SUCCESSION
                assert is_followed, f"{self.name(each)}: two versions are published"
            assert len(self.in_category(*OPEN)) <= 1, f"{self.name(each)}: two versions are open"

    def name(self, each: LifecycleEntry) -> str:
        return f"{self.element} step {each.number} ({each.step})"

    def in_category(self, *wanted: Category) -> list[UUID]:
        found = {version: self.cycle.categories[state] for version, state in self.states.items()}
        return [version for version, each in found.items() if each in wanted and version in self.stored]

    def take(self, each: LifecycleEntry) -> None:
        known, category = self.states.get(each.version_id), self.cycle.categories[each.to_state]
        if each.step == Step.VERSION:
            assert (known, each.from_state) == (None, ""), f"{self.name(each)}: the version was there before"
            assert each.to_state == self.cycle.first_state, self.name(each)
        else:
            # Without an earlier step, the version was created or imported in this state.
            assert each.from_state == (known or each.from_state) != "", f"{self.name(each)}: it was {known}"
            self.check_step(each, category)
        self.states[each.version_id] = each.to_state
        self.numbers[each.version_id] = each.version
        if category in EVER_PUBLISHED:
            self.ever_published.add(each.version_id)

    def check_step(self, each: LifecycleEntry, category: Category) -> None:
        source = self.cycle.categories[each.from_state]
        assert source is not Category.RETIRED or each.step in ABOUT_TASKS, f"{self.name(each)}: retired stays so"
        assert source is not Category.PUBLISHED or category in EVER_PUBLISHED, f"{self.name(each)}: taken back"
        if each.step in SENDING_BACK and source is Category.REVIEW:
            transition = self.cycle.transition(each.transition)
            assert (transition.source, transition.target) == (each.from_state, each.to_state), self.name(each)
        elif each.step in ABOUT_TASKS:
            assert each.from_state == each.to_state, f"{self.name(each)}: changes the state"
        elif each.step == Step.TRANSITION:
            transition = self.cycle.transition(each.transition)
            assert (transition.source, transition.target) == (each.from_state, each.to_state), self.name(each)
        elif each.step == Step.EFFECT:
            assert each.to_state == self.cycle.cycle.takes_effect, self.name(each)
        else:
            assert each.to_state == self.cycle.retired_state, self.name(each)

    def compare(self) -> None:
        for version, state in self.states.items():
            if version in self.stored:
                found = self.stored[version]
                assert state == found.state, f"{version}: the log says {state}, stored is {found.state}"
                assert self.numbers[version] == f"{found.major}.{found.minor}", f"{version}: another number"
            else:
                # Only drafts that were never released can be deleted.
                assert self.cycle.categories[state] is Category.DRAFT, f"{version} was {state} and is gone"
                assert version not in self.ever_published, f"{version} was published and is gone"


def check_numbers(element: UUID, steps: Sequence[LifecycleEntry]) -> None:
    """Check the numbers of the steps, also of a deleted element, whose log stays."""
    assert [each.number for each in steps] == [*range(1, len(steps) + 1)], f"{element}: the log has gaps"


def check_versions(cycle: CompiledCycle, element: Element, own: Sequence[ElementVersion]) -> None:
    """Check that there is at most one open and one published version, and check the pointers (D6)."""
    for each in own:
        assert each.category == cycle.categories[each.state], f"{each.id}: {each.state} is not {each.category}"
    published = [each.id for each in own if each.category == Category.PUBLISHED]
    open_ones = [each.id for each in own if each.category in OPEN]
    assert published == [each for each in [element.published_id] if each], f"{element.id}: viewers read another version"
    assert element.newest_id == own[-1].id, f"{element.id}: the newest version is another"
    assert open_ones in ([], [own[-1].id]), f"{element.id}: {open_ones} are open, which are not the newest"


def check_diagrams(
    configuration: Configuration,
    elements: Iterable[Element],
    versions: Iterable[ElementVersion],
    shapes: Iterable[tuple[UUID, UUID]],
) -> None:
    """Check that elements which live only in diagrams are published with a version that shows them (D95)."""
    categories = {each.id: each.category for each in versions}
    shown = {element for element, version in shapes if categories[version] in SHOWN}
    for each in elements:
        if configuration.types[each.type.key].lives_in_diagrams:
            wanted = each.newest_id if each.id in shown else None
            assert each.published_id == wanted, f"{each.id}: published is not as its diagrams are"


def check_tasks(tasks: Iterable[Task], entries: Iterable[LifecycleEntry], versions: Iterable[ElementVersion]) -> None:
    """Check that each task was requested and ended once, and that open tasks can still be decided."""
    told: dict[UUID, list[str]] = {}
    states = {each.id: each.state for each in versions}
    for entry in entries:
        # The log of a deleted draft stays, its tasks do not.
        if entry.task_id is not None and entry.step not in MEANWHILE and entry.version_id in states:
            told.setdefault(entry.task_id, []).append(entry.step)
    for each in tasks:
        end = [ENDS[Task.State(each.state)]] if each.state in ENDS else []
        found = told.pop(each.id, [])
        if each.round_id is not None:
            # The last approval is logged as the transition.
            allowed = [end] if end != [Step.TRANSITION] else [end, [Step.APPROVAL]]
        else:
            # An accepted expiry may happen together with the decision.
            allowed = [[Step.REQUEST, *end], [Step.REQUEST, *end, Step.EXPIRY]]
        assert found in allowed, f"{each.id} is {each.state}: {found}"
        assert (each.decided_on is None) is (each.state == Task.State.OPEN), f"{each.id} is {each.state}"
        if each.state == Task.State.OPEN:
            assert states[each.version_id] == each.source_state, f"{each.id} is open"
    check_rounds(tasks)
    assert not told, f"steps of tasks that are not there: {told}"


def check_rounds(tasks: Iterable[Task]) -> None:
    """Check that a version waits for one round of tasks at a time, and that no round has more approvals than needed."""
    rounds: dict[UUID, list[Task]] = {}
    for each in tasks:
        if each.round_id is not None:
            rounds.setdefault(each.round_id, []).append(each)
    waiting = [found[0].version_id for found in rounds.values() if any(each.state == Task.State.OPEN for each in found)]
    assert len(waiting) == len({*waiting}), f"two rounds of one version: {waiting}"
    for round_id, found in rounds.items():
        accepted = [each for each in found if each.state == Task.State.ACCEPTED]
        is_open = any(each.state == Task.State.OPEN for each in found)
        assert len(accepted) <= found[0].approvals - is_open, f"{round_id}: {len(accepted)} approvals"
        people = [each.decider_id for each in accepted if each.decider_id]
        assert len(people) == len({*people}), f"{round_id}: one person has accepted twice"
