"""One step on several tasks: each task succeeds or fails on its own, and failures are reported (D115)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from django.db import transaction

from elements.writing.writers import Writer
from release.models import Task
from repository_site.core.problems import Problem

# Takes the step on one task, or raises a Problem.
TaskStep = Callable[[Writer, Task], Task]


@dataclass(frozen=True, slots=True)
class TaskStepResult:
    """The step on one task. With a problem, nothing of it was done."""

    task: Task
    problem: Problem | None = None


def step_each(writer: Writer, tasks: Sequence[Task], step: TaskStep) -> list[TaskStepResult]:
    """Take the step on each task and return the results in the order of the tasks.

    Elements are locked in the order of their ids, as everywhere, so that concurrent callers do not deadlock.
    """
    done = {task.id: _step_one(writer, task, step) for task in sorted(tasks, key=lambda each: str(each.element_id))}
    return [done[each.id] for each in tasks]


def _step_one(writer: Writer, task: Task, step: TaskStep) -> TaskStepResult:
    # An author reads the clock once, after the first lock; here each task has waited for a lock of its own.
    own = replace(writer, author=replace(writer.author))
    try:
        with transaction.atomic():
            return TaskStepResult(step(own, task))
    except Problem as problem:
        return TaskStepResult(task, problem)
