"""The page of a task: its status, the available steps, and the lifecycle log of its element."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from release.admin.lifecycle_log_rows import log_rows
from release.admin.tasks import task_texts as texts
from release.admin.tasks.task_cells import decided_text
from release.admin.tasks.task_rows import task_rows
from release.admin.tasks.task_steps import steps_for
from release.models import LifecycleEntry, Task
from release.tasks.decisions import find_task, no_task
from repository_site.core.problems import NotFound
from storage.back_office import storage_office
from storage.pages import storage_of

# The page of the element shows all steps; this page shows the newest ones.
MAX_STEPS = 100


def task_page(request: HttpRequest, task_id: str) -> HttpResponse:
    try:
        task = find_task(UUID(task_id))
    except ValueError:
        raise NotFound(no_task(task_id[:80])) from None
    row = task_rows(request, [task])[0]
    steps = list(LifecycleEntry.objects.filter(element_id=task.element_id).order_by("-number")[:MAX_STEPS])
    look = texts.STATE_LOOKS.get(task.state, "")
    standing, standing_look = texts.assignee_status_text(row)
    context = {
        **storage_office.each_context(request),
        "opts": Task._meta,
        "title": _("%(type)s: %(name)s") % {"type": row.title, "name": row.name},
        "row": row,
        "state": texts.STATES[task.state],
        "look": look,
        "assignee": texts.assignee_name(row),
        "standing": standing,
        "standing_look": standing_look,
        "why": texts.why_stuck(row),
        "due": texts.due_text(row) if row.status.is_open else "",
        "reminded": texts.reminded_text(row),
        "decided": decided_text(row) if task.decided_on else "",
        "age": texts.days(row.status.age),
        "limit": storage_of(request).stuck_after_days,
        "steps": [(each, reverse(f"admin:{each.page}", args=[task.id])) for each in steps_for(request)]
        if row.status.is_open
        else [],
        "log": log_rows(request, steps),
    }
    return TemplateResponse(request, "back_office/tasks/task.html", context)
