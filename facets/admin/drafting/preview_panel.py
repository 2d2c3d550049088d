"""The panel next to a form: problems of the input, the changes that it makes, and the resulting API answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from facets.blueprint.definitions import Blueprint
from facets.blueprint.differences import BlueprintDifference
from facets.changing.changes import EditPlan
from facets.configuration import Configuration, compile_configuration
from facets.rows.reading import Rows, StoredRows
from storage.localisation.cultures import CultureSet

# The most lines to compare one by one; more would take too long.
MAX_COMPARED = 1500
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


def current_panel(stored: StoredRows, answers: Answers) -> PreviewPanel:
    return PreviewPanel(answers=_compared([], list(answers(compiled(stored.blueprint, stored.cultures), stored.rows))))


def panel_of(plan: EditPlan, answers: Answers, *, is_stale: bool = False) -> PreviewPanel:
    cultures = plan.stored.cultures
    shown: Sequence[ShownAnswer] = ()
    if plan.after is not None and not plan.problems:
        before = list(answers(compiled(plan.before, cultures), plan.stored.rows))
        shown = _compared(before, list(answers(compiled(plan.after, cultures), plan.rows)))
    return PreviewPanel(plan.problems, plan.obstacles, plan.differences, shown, is_judged=True, is_stale=is_stale)


def compiled(blueprint: Blueprint, cultures: CultureSet) -> Configuration:
    """Compile a configuration like the API, without row ids, which answers do not need."""
    return compile_configuration(0, cultures, blueprint, {})


def _compared(before: Sequence[ApiAnswer], after: Sequence[ApiAnswer]) -> list[ShownAnswer]:
    known = {answer.address: answer.body for answer in before}
    pairs = [(known.get(answer.address, answer.body), answer) for answer in after]
    first = next((answer for old, answer in pairs if old != answer.body), after[0] if after else None)
    return [
        ShownAnswer(answer.address, answer.body, _passages(old, answer.body), old != answer.body, answer is first)
        for old, answer in pairs
    ]


def written(body: Any) -> str:
    return json.dumps(body, ensure_ascii=False, indent=2)


def _passages(old: Any, new: Any) -> tuple[Passage, ...]:
    if old == new:
        lines = written(new).split("\n")
        return (Passage("same", "\n".join(lines), len(lines)),)
    before, after = written(old).split("\n"), written(new).split("\n")
    start = _shared(before, after)
    end = _shared(before[start:][::-1], after[start:][::-1])
    middle = before[start : len(before) - end], after[start : len(after) - end]
    found = [("same", after[:start]), *_compare(*middle), ("same", after[len(after) - end :])]
    return tuple(_folded([(kind, lines) for kind, lines in found if lines]))


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _compare(old: list[str], new: list[str]) -> Iterable[tuple[str, list[str]]]:
    if len(old) + len(new) > MAX_COMPARED:
        return [("gone", old), ("new", new)]
    found: list[tuple[str, list[str]]] = []
    for sign, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if sign == "equal":
            found.append(("same", new[new_from:new_to]))
        else:
            found += [("gone", old[old_from:old_to]), ("new", new[new_from:new_to])]
    return found


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
