"""The panel next to a form: problems of the input, the changes that it makes, and the resulting API answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from facets.blueprint.definitions import Blueprint
from facets.blueprint.differences import BlueprintDifference
from facets.changing.changes import EditPlan
from facets.configuration import Configuration, compile_configuration, known_configuration
from facets.rows.reading import Rows, StoredRows
from repository_site.core.matching import Effort, EqualPart, equal_parts
from storage.localisation.cultures import CultureSet
from storage.models import Storage

# Steps for the comparison of all answers; a step visits one line.
EFFORT = 1_000_000
KEPT_AROUND = 3
SIGNS = {"same": " ", "folded": " ", "new": "+", "gone": "-"}


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    address: str
    body: Any


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive lines of an answer: `same`, `folded` (unchanged and hidden), `new` or `gone`."""

    kind: str
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    address: str
    body: Any
    passages: tuple[Passage, ...]
    is_changed: bool
    is_shown: bool
    """Whether the text is open at first: that of the first changed answer, else of the first one."""


@dataclass(frozen=True, slots=True)
class PreviewPanel:
    problems: Sequence[str] = ()
    obstacles: Sequence[str] = ()
    differences: Sequence[BlueprintDifference] = ()
    answers: Sequence[ShownAnswer] = ()
    is_judged: bool = False
    """Whether the panel is about posted input."""
    is_stale: bool = False
    """Whether someone else has changed the entry in the meantime."""


Answers = Callable[[Configuration, Rows], Iterable[ApiAnswer]]


def current_panel(storage: Storage, stored: StoredRows, answers: Answers) -> PreviewPanel:
    configuration = known_configuration(storage, stored.revision) or compiled(stored.blueprint, stored.cultures)
    return PreviewPanel(answers=compared_answers([], list(answers(configuration, stored.rows))))


def panel_of(plan: EditPlan, answers: Answers, *, is_stale: bool = False) -> PreviewPanel:
    cultures = plan.stored.cultures
    shown: Sequence[ShownAnswer] = ()
    if plan.after is not None and not plan.problems:
        before = list(answers(compiled(plan.before, cultures), plan.stored.rows))
        shown = compared_answers(before, list(answers(compiled(plan.after, cultures), plan.rows)))
    return PreviewPanel(plan.problems, plan.obstacles, plan.differences, shown, is_judged=True, is_stale=is_stale)


def compiled(blueprint: Blueprint, cultures: CultureSet) -> Configuration:
    """Compile a configuration like the API, without row ids, which answers do not need."""
    return compile_configuration(0, cultures, blueprint, {})


def compared_answers(before: Sequence[ApiAnswer], after: Sequence[ApiAnswer]) -> list[ShownAnswer]:
    known = {answer.address: answer.body for answer in before}
    pairs = [(known.get(answer.address, answer.body), answer) for answer in after]
    first = next((answer for old, answer in pairs if old != answer.body), after[0] if after else None)
    effort = Effort(EFFORT)
    return [
        ShownAnswer(
            answer.address, answer.body, _passages(old, answer.body, effort), old != answer.body, answer is first
        )
        for old, answer in pairs
    ]


def written(body: Any) -> str:
    return orjson.dumps(body, option=orjson.OPT_INDENT_2).decode()


def _passages(old: Any, new: Any, effort: Effort) -> tuple[Passage, ...]:
    if old == new:
        lines = written(new).split("\n")
        return (Passage("same", "\n".join(lines), len(lines)),)
    before, after = written(old).split("\n"), written(new).split("\n")
    found: list[tuple[str, list[str]]] = []
    old_end = new_end = 0
    for part in (*equal_parts(before, after, effort), EqualPart(len(before), len(after), 0)):
        found += [("gone", before[old_end : part.old]), ("new", after[new_end : part.new])]
        old_end, new_end = part.old + part.size, part.new + part.size
        found.append(("same", after[part.new : new_end]))
    return tuple(_folded([(kind, lines) for kind, lines in found if lines]))


def _folded(stretches: list[tuple[str, list[str]]]) -> Iterator[Passage]:
    for index, (kind, lines) in enumerate(stretches):
        head = KEPT_AROUND if index > 0 else 0
        tail = KEPT_AROUND if index < len(stretches) - 1 else 0
        if kind != "same" or len(lines) <= head + tail + 1:
            yield _passage(kind, lines)
            continue
        parts = [
            ("same", lines[:head]),
            ("folded", lines[head : len(lines) - tail]),
            ("same", lines[len(lines) - tail :]),
        ]
        yield from (_passage(part, found) for part, found in parts if found)


def _passage(kind: str, lines: list[str]) -> Passage:
    """Prefix lines with + and -, since colours alone are not accessible."""
    return Passage(kind, "\n".join(f"{SIGNS[kind]} {line}" for line in lines), len(lines))
