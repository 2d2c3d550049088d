"""Texts of reminder mails: one mail to each assignee about all of their tasks (D117)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.http import HttpRequest
from django.utils import formats, timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from release.admin.task_rows import TaskRow
from release.admin.task_texts import assignee_name
from release.tasks.approvers import People, read_approving_users, read_people
from release.tasks.reminders import ReminderMail, known_addresses
from storage.pages import storage_of
from storage.tenancy.addresses import public_base


def reminder_mails(request: HttpRequest, rows: Sequence[TaskRow]) -> list[ReminderMail]:
    by_assignee: dict[UUID | None, list[TaskRow]] = {}
    for row in rows:
        if row.status.is_open:
            by_assignee.setdefault(row.task.assignee_id, []).append(row)
    people = read_people({each for each in by_assignee if each})
    everybody = [each.id for each in read_approving_users()] if None in by_assignee else []
    readers = {each: _readers(each, people, everybody) for each in by_assignee}
    addresses = known_addresses(storage_of(request), {one for found in readers.values() for one in found})
    return [
        ReminderMail(
            assignee_name(waiting[0]),
            tuple(addresses[one] for one in readers[assignee] if one in addresses),
            _subject(waiting),
            _body(request, waiting),
        )
        for assignee, waiting in by_assignee.items()
    ]


def _readers(assignee: UUID | None, people: People, everybody: Sequence[UUID]) -> list[UUID]:
    if assignee is None:
        return list(everybody)
    return [each.id for each in people.candidates(assignee) if each.is_active]


def _subject(waiting: Sequence[TaskRow]) -> str:
    if len(waiting) == 1:
        return _("Please decide: %(type)s, %(name)s") % {"type": waiting[0].task.type, "name": waiting[0].name}
    return ngettext("Please decide: %(number)s task", "Please decide: %(number)s tasks", len(waiting)) % {
        "number": len(waiting)
    }


def _body(request: HttpRequest, waiting: Sequence[TaskRow]) -> str:
    lines = [
        ngettext("This task is waiting for your decision:", "These tasks are waiting for your decision:", len(waiting)),
        "",
    ]
    for row in waiting:
        lines += [
            f"{row.task.type}: {row.name}",
            _("Requested by %(name)s on %(date)s, due %(due)s.")
            % {
                "name": row.requester.name,
                "date": formats.date_format(timezone.localtime(row.task.requested_on)),
                "due": formats.date_format(timezone.localtime(row.status.due)),
            },
            *([_("Reason: %(comment)s") % {"comment": row.task.comment}] if row.task.comment else []),
            f"{public_base(request)}{row.address}",
            "",
        ]
    return "\n".join(lines)
