"""The columns of the list of tasks, as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from release.admin import task_words as words
from release.admin.task_rows import TaskRow, Who
from storage.back_office.cells import ago, badge, moment


@dataclass(frozen=True, slots=True)
class Cells:
    """All columns of one task, where a template makes the table."""

    id: UUID
    what: SafeString
    asked: SafeString
    decides: SafeString
    age: SafeString
    situation: SafeString


def cells_of(row: TaskRow) -> Cells:
    return Cells(row.task.id, what(row), asked(row), decides(row), age(row), situation(row))


def cell(*lines: SafeString | str) -> SafeString:
    """Lines below each other; those that are empty are left out."""
    shown = format_html_join("", '<span class="task-line">{}</span>', ((each,) for each in lines if each))
    return format_html('<span class="task-cell">{}</span>', shown)


def quiet(text: str | SafeString) -> SafeString | str:
    """Empty stays empty."""
    return text and format_html('<span class="task-quiet">{}</span>', text)


def link(who: Who) -> SafeString:
    if not who.address:
        return format_html("{}", who.name)
    return format_html('<a class="task-link" href="{}">{}</a>', who.address, who.name)


def what(row: TaskRow) -> SafeString:
    element = format_html('<a class="task-link" href="{}">{}</a>', row.element_address, row.name)
    kind = f"{row.what.type_name} {row.what.number}" if row.what else ""
    task = format_html('<a class="task-title" href="{}">{}</a>', row.address, row.task.type)
    return cell(task, element, quiet(kind))


def asked(row: TaskRow) -> SafeString:
    comment = format_html('<span class="task-comment">{}</span>', row.task.comment) if row.task.comment else ""
    return cell(link(row.requester), quiet(ago(row.task.requested_on)), comment)


def decides(row: TaskRow) -> SafeString:
    name = link(row.assignee) if row.assignee.name else format_html("{}", words.assignee_name(row))
    text, look = words.standing_words(row)
    reminded = words.reminded_words(row)
    return cell(
        name,
        badge(text, look) if text else "",
        quiet(f"{reminded} {moment(row.sheet.reminders.last)}") if reminded else "",
    )


def age(row: TaskRow) -> SafeString:
    sheet = row.sheet
    if not sheet.is_open:
        return cell(quiet(words.days(sheet.age)))
    look = "danger" if sheet.is_overdue else "warning" if sheet.is_due_soon else ""
    return cell(words.days(sheet.age), badge(words.due_words(row), look, title=moment(sheet.due)))


def situation(row: TaskRow) -> SafeString:
    """Why it is stuck and what would help; of a task that is decided, how."""
    if row.sheet.is_open:
        reasons = words.why_stuck(row)
        if not reasons:
            return cell(badge(_("can go on"), "success"))
        lines = [format_html("{} {}", each.text, quiet(each.advice)) for each in reasons]
        return cell(badge(_("stuck"), "danger"), *lines)
    return cell(
        badge(str(words.STATES[row.task.state]), words.STATE_LOOKS.get(row.task.state, "")),
        decided_words(row),
        format_html('<span class="task-comment">{}</span>', row.task.decision) if row.task.decision else "",
    )


def decided_words(row: TaskRow) -> SafeString:
    by = link(row.decider)
    if row.sheet.was_decided_for_another:
        by = format_html(_("{} on behalf of {}"), by, words.assignee_name(row))
    return format_html("{}, {}", by, ago(row.task.decided_on))
