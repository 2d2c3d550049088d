"""Columns of the task list as HTML."""

from __future__ import annotations

from uuid import UUID

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from release.admin.tasks import task_texts as texts
from release.admin.tasks.task_rows import PersonLink, TaskRow
from storage.back_office.cells import ago, badge, moment


def cells_of(row: TaskRow) -> dict[str, SafeString | UUID]:
    """Return the id and all columns of a task, for templates that build the table themselves."""
    return {"id": row.task.id} | {each.__name__: each(row) for each in (what, asked, decides, age, situation)}


def cell(*lines: SafeString | str) -> SafeString:
    shown = format_html_join("", '<span class="task-line">{}</span>', ((each,) for each in lines if each))
    return format_html('<span class="task-cell">{}</span>', shown)


def quiet(text: str | SafeString) -> SafeString | str:
    """Return the text in a muted style; an empty text stays empty."""
    return text and format_html('<span class="task-quiet">{}</span>', text)


def link(who: PersonLink) -> SafeString:
    if not who.address:
        return format_html("{}", who.name)
    return format_html('<a class="task-link" href="{}">{}</a>', who.address, who.name)


def what(row: TaskRow) -> SafeString:
    element = format_html('<a class="task-link" href="{}">{}</a>', row.element_address, row.name)
    kind = f"{row.what.type_name} {row.what.number}" if row.what else ""
    task = format_html('<a class="task-title" href="{}">{}</a>', row.address, row.title)
    return cell(task, element, quiet(kind))


def asked(row: TaskRow) -> SafeString:
    comment = format_html('<span class="task-comment">{}</span>', row.task.comment) if row.task.comment else ""
    return cell(link(row.requester), quiet(ago(row.task.requested_on)), comment)


def decides(row: TaskRow) -> SafeString:
    name = link(row.assignee) if row.assignee.name else format_html("{}", texts.assignee_name(row))
    text, look = texts.assignee_status_text(row)
    reminded = texts.reminded_text(row)
    return cell(
        name,
        badge(text, look) if text else "",
        quiet(f"{reminded} {moment(row.status.reminders.last)}") if reminded else "",
    )


def age(row: TaskRow) -> SafeString:
    status = row.status
    if not status.is_open:
        return cell(quiet(texts.days(status.age)))
    look = "danger" if status.is_overdue else "warning" if status.is_due_soon else ""
    return cell(texts.days(status.age), badge(texts.due_text(row), look, title=moment(status.due)))


def situation(row: TaskRow) -> SafeString:
    """Show why an open task is stuck and what to do, or how a task was decided."""
    if row.status.is_open:
        reasons = texts.why_stuck(row)
        if not reasons:
            return cell(badge(_("on track"), "success"))
        lines = [format_html("{} {}", each.text, quiet(each.advice)) for each in reasons]
        return cell(badge(_("stuck"), "danger"), *lines)
    return cell(
        badge(str(texts.STATES[row.task.state]), texts.STATE_LOOKS.get(row.task.state, "")),
        decided_text(row),
        format_html('<span class="task-comment">{}</span>', row.task.decision) if row.task.decision else "",
    )


def decided_text(row: TaskRow) -> SafeString:
    by = link(row.decider)
    if row.status.was_decided_for_another:
        by = format_html(_("{} on behalf of {}"), by, texts.assignee_name(row))
    return format_html("{}, {}", by, ago(row.task.decided_on))
