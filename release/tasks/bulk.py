"""One step on several tasks: each is done by itself or not at all, and what could not be done is told (D115)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from django.db import transaction

from elements.writing.updating import Writer
from release.models import Task
from repository_site.core.problems import Problem

# Does the step on one task, or raises a Problem.
TaskStep = Callable[[Writer, Task], Task]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Without a problem it was done; with one, nothing of it was."""

    task: Task
    problem: Problem | None = None


def step_each(writer: Writer, tasks: Sequence[Task], step: TaskStep) -> list[Outcome]:
    """In the order of the tasks. Elements are locked in the order of their ids, as everybody does: two who work on the
    same tasks wait for each other, and never for ever."""
    done = {task.id: _step_one(writer, task, step) for task in sorted(tasks, key=lambda each: str(each.element_id))}
    return [done[each.id] for each in tasks]


def _step_one(writer: Writer, task: Task, step: TaskStep) -> Outcome:
    # The clock of an author is read once, after the first lock: each task has waited for a lock of its own.
    own = replace(writer, author=replace(writer.author))
    try:
        with transaction.atomic():
            return Outcome(step(own, task))
    except Problem as problem:
        return Outcome(task, problem)
