"""Transitions and new versions as operations of bulk changes (D471)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from elements.bulk.steps import BulkStep, Refusals, in_parts
from elements.reading.rows import VersionRow
from elements.writing.writers import Writer
from release.lifecycle.transitions import TransitionRequest, apply_transitions
from release.lifecycle.versions import create_versions
from release.steps.log import MAX_COMMENT
from repository_site.core.problems import Unreadable

COMMENT, IGNORE_WARNINGS = "comment", "ignoreWarnings"


def _read_transition(value: Any, options: Mapping[str, Any]) -> Mapping[str, Any]:
    comment, ignore = options.get(COMMENT, ""), options.get(IGNORE_WARNINGS, False)
    if not isinstance(value, str) or not value:
        raise Unreadable("expected the id of a transition, such as InProcessToInReview.")
    if options.keys() - {COMMENT, IGNORE_WARNINGS}:
        raise Unreadable(f"only {COMMENT} and {IGNORE_WARNINGS} are allowed beside it.")
    if not isinstance(comment, str) or len(comment) > MAX_COMMENT:
        raise Unreadable(f"{COMMENT}: expected a text of at most {MAX_COMMENT} characters.")
    if not isinstance(ignore, bool):
        raise Unreadable(f"{IGNORE_WARNINGS}: expected true or false.")
    return {"transition": value, "comment": comment, "ignore_warnings": ignore}


def _take_transition(writer: Writer, rows: Sequence[VersionRow], options: Mapping[str, Any]) -> Refusals:
    return _in_parts(rows, partial(apply_transitions, writer, request=TransitionRequest(**options)))


def _read_version(value: Any, options: Mapping[str, Any]) -> Mapping[str, Any]:
    if value is not True or options:
        raise Unreadable("expected true.")
    return {}


def _take_version(writer: Writer, rows: Sequence[VersionRow], options: Mapping[str, Any]) -> Refusals:
    return _in_parts(rows, partial(create_versions, writer))


def _in_parts(rows: Sequence[VersionRow], take: Callable[[Sequence[str]], Refusals]) -> Refusals:
    refused: dict[str, Sequence[str]] = {}
    for some in in_parts([row.element for row in rows], take, lambda each, reasons: {each: reasons}):
        refused.update(some)
    return refused


BULK_STEPS = {
    "transition": BulkStep(_read_transition, _take_transition),
    "createVersion": BulkStep(_read_version, _take_version),
}
