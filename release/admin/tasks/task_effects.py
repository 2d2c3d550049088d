"""Effects of accepting a task, for the pages that ask for confirmation."""

from __future__ import annotations

from enum import Enum, auto

from django.utils.translation import gettext as _

from elements.admin.labels import OfficeLabels
from facets.blueprint.cycles import Category
from release.admin.tasks.task_rows import TaskRow


class AcceptanceEffect(Enum):
    STEP = auto()
    RELEASE = auto()
    END = auto()


def is_final(labels: OfficeLabels, row: TaskRow) -> bool:
    """Return whether no step leads back: the version is released or ends."""
    return _effect(labels, row) in (AcceptanceEffect.RELEASE, AcceptanceEffect.END)


def effect_text(labels: OfficeLabels, row: TaskRow) -> str:
    """Return what accepting an open task does; empty for tasks that are closed or can only be declined."""
    effect = _effect(labels, row)
    if not row.status.is_open or effect is None:
        return ""
    text = _text(labels, row, effect)
    if row.task.approvals > 1:
        text += " " + _("%(number)s approvals are needed.") % {"number": row.task.approvals}
    return text


def _text(labels: OfficeLabels, row: TaskRow, effect: AcceptanceEffect) -> str:
    if effect is AcceptanceEffect.STEP:
        return _("Accepting leads to the state “%(state)s”.") % {"state": row.target}
    if effect is AcceptanceEffect.RELEASE:
        return _(
            "Accepting releases this version: all readers see it, it can no longer be changed, and an earlier released"
            " version expires."
        )
    if row.task.valid_until is not None:
        return _("Accepting ends this version on %(day)s. This cannot be undone.") % {
            "day": labels.day(row.task.valid_until)
        }
    return _("Accepting ends this version today: readers no longer see it. This cannot be undone.")


def _effect(labels: OfficeLabels, row: TaskRow) -> AcceptanceEffect | None:
    """Return the effect of the transition; None if the release cycle has changed, or the version is gone."""
    cycle = labels.configuration.cycles.get(row.what.type.key) if row.what else None
    found = next((each for each in cycle.cycle.transitions if each.key == row.task.transition), None) if cycle else None
    if cycle is None or found is None or (found.source, found.target) != (row.task.source_state, row.task.target_state):
        return None
    if found.ends_version or cycle.categories[found.target] is Category.RETIRED:
        return AcceptanceEffect.END
    return AcceptanceEffect.RELEASE if cycle.enters_published(found) else AcceptanceEffect.STEP
