"""Steps on one or several tasks in the back office: a form, and the result for each task (D115)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from elements.admin.labels import OfficeLabels, labels_of
from elements.admin.linking import titled_text
from elements.permissions import Permission, granted_to, needs_permission
from elements.presentation.page_requests import writer_of
from release.admin.tasks.task_cells import cells_of
from release.admin.tasks.task_effects import effect_text
from release.admin.tasks.task_rows import TaskRow, task_rows
from release.models import Task
from release.steps.log import MAX_COMMENT
from release.tasks.approvers import are_for, read_approving_users
from release.tasks.bulk_steps import TaskStepResult, step_each
from release.tasks.decisions import accept_task, delegate_task, reject_task, remind_task, withdraw_task
from repository_site.core.problems import Forbidden, Invalid, NotFound, Problem, Warned
from repository_site.core.rest.errors import status_of
from storage.back_office import storage_office
from storage.back_office.fields import LinesField
from storage.pages import caller_of

Text = str | Promise
# The list shows no more at once.
MAX_TASKS = 100
ASSIGNEE, COMMENT, TASK, BACK = "assignee", "comment", "task", "back"
IGNORE_WARNINGS = "ignoreWarnings"
# Another page offers the step, which cannot be undone: show the form first, with the comment that was entered there.
ASK = "ask"
DEFAULT_ROWS = 4


@dataclass(frozen=True, slots=True)
class OfficeTaskStep:
    """A step on tasks. The caller's roles must grant the permission `needs`; the domain then decides on each task.

    A step that ends a task needs a comment, so that the log gives the reason (D116); accepting one's own does not.
    """

    key: str
    title: Text
    icon: str
    intro: Text
    done: Any
    needs: Permission
    run: Callable[..., Task]
    """Takes the writer, the id of the task, the comment and, if the step needs one, the assignee."""
    needs_comment: bool = True
    needs_assignee: bool = False
    may_warn: bool = False
    """Whether validation rules can warn; the user then decides whether to go on."""
    look: str = ""

    @property
    def page(self) -> str:
        return f"release_task_{self.key}"

    def is_open_to(self, request: HttpRequest) -> bool:
        return self.needs in granted_to(caller_of(request))


STEPS = {
    each.key: each
    for each in (
        OfficeTaskStep(
            "accept",
            gettext_lazy("Accept"),
            "check",
            gettext_lazy(
                "The requested transition is applied as soon as there are enough approvals. The log records you and the"
                " approver you decide for."
            ),
            ngettext_lazy("%(number)s task was accepted.", "%(number)s tasks were accepted.", "number"),
            Permission.APPROVE,
            accept_task,
            may_warn=True,
            look="primary",
        ),
        OfficeTaskStep(
            "reject",
            gettext_lazy("Reject"),
            "close",
            gettext_lazy(
                "A version in review is sent back; a released one stays as it is. The log records you and the approver"
                " you decide for."
            ),
            ngettext_lazy("%(number)s task was rejected.", "%(number)s tasks were rejected.", "number"),
            Permission.APPROVE,
            reject_task,
            look="danger",
        ),
        OfficeTaskStep(
            "reassign",
            gettext_lazy("Reassign"),
            "person_add",
            gettext_lazy("Choose another approver: an active user who can approve and is not the requester."),
            ngettext_lazy("%(number)s task was reassigned.", "%(number)s tasks were reassigned.", "number"),
            Permission.APPROVE,
            delegate_task,
            needs_comment=False,
            needs_assignee=True,
            look="primary",
        ),
        OfficeTaskStep(
            "remind",
            gettext_lazy("Remind"),
            "notifications",
            gettext_lazy("The approver gets a message, and a mail if this installation sends mails."),
            ngettext_lazy("%(number)s reminder was sent.", "%(number)s reminders were sent.", "number"),
            Permission.EDIT,
            remind_task,
            needs_comment=False,
            look="primary",
        ),
        OfficeTaskStep(
            "withdraw",
            gettext_lazy("Withdraw"),
            "undo",
            gettext_lazy(
                "The request is withdrawn. A version in review is sent back; a released one stays as it is. It can be"
                " requested again."
            ),
            ngettext_lazy("%(number)s task was withdrawn.", "%(number)s tasks were withdrawn.", "number"),
            Permission.EDIT,
            withdraw_task,
            look="danger",
        ),
    )
}


def steps_for(request: HttpRequest) -> list[OfficeTaskStep]:
    return [each for each in STEPS.values() if each.is_open_to(request)]


class StepForm(forms.Form):
    assignee = forms.ChoiceField(
        label=gettext_lazy("Approver"),
        widget=UnfoldAdminSelectWidget,
        error_messages={"required": gettext_lazy("Choose an approver.")},
    )
    comment = LinesField(
        label=gettext_lazy("Comment"),
        max_length=MAX_COMMENT,
        widget=UnfoldAdminTextareaWidget({"rows": DEFAULT_ROWS}),
        error_messages={"required": gettext_lazy("Enter a reason; it is recorded in the lifecycle log.")},
    )

    def __init__(self, step: OfficeTaskStep, request: HttpRequest, tasks: Sequence[Task], data: Any = None) -> None:
        super().__init__(data, initial={COMMENT: request.POST.get(COMMENT, "")})
        comment = self.fields[COMMENT]
        comment.required = step.needs_comment and not (step.key == "accept" and are_for(tasks, caller_of(request)))
        recorded = _("Recorded in the lifecycle log of each element.")
        optional = _("Optional.")
        comment.help_text = recorded if comment.required else f"{recorded} {optional}"
        if step.needs_assignee:
            self.fields[ASSIGNEE].choices = approver_choices(request, tasks)  # type: ignore[attr-defined]  # a ChoiceField
        else:
            del self.fields[ASSIGNEE]


def approver_choices(request: HttpRequest, tasks: Sequence[Task]) -> list[tuple[str, str]]:
    """Return the approvers by name, without the requester or assignee of all these tasks."""
    useless = {each.requester_id for each in tasks} if len({each.requester_id for each in tasks}) == 1 else set()
    useless |= {each.assignee_id for each in tasks} if len({each.assignee_id for each in tasks}) == 1 else set()
    people = [str(each.id) for each in read_approving_users() if each.id not in useless]
    named = labels_of(request).elements(people)
    found = sorted(((each.element, each.name) for each in named.values()), key=lambda choice: choice[1].casefold())
    return [("", _("Choose an approver")), *found] if found else []


def step_view(request: HttpRequest, kind: str) -> HttpResponse:
    step = STEPS.get(kind)
    if step is None:
        raise NotFound(_("There is no such page."))
    require_step(request, step)
    given = request.POST if request.method == "POST" else request.GET
    tasks = find_tasks(given.getlist(TASK))
    if request.method != "POST" or ASK in request.POST:
        return step_page(request, step, tasks)
    form = StepForm(step, request, tasks, request.POST)
    if not form.is_valid():
        return step_page(request, step, tasks, form)
    given_values = [form.cleaned_data[COMMENT], *([UUID(form.cleaned_data[ASSIGNEE])] if step.needs_assignee else [])]
    more = warning_options(request) if step.may_warn else {}
    outcomes = step_each(
        writer_of(request), tasks, lambda writer, task: step.run(writer, task.id, *given_values, **more)
    )
    done = [each.task for each in outcomes if each.problem is None]
    if done:
        messages.success(request, step.done % {"number": len(done)})
    if len(done) == len(outcomes):
        return HttpResponseRedirect(way_back(request))
    return step_page(request, step, [each.task for each in outcomes if each.problem], form, outcomes)


def warning_options(request: HttpRequest) -> dict[str, Any]:
    ignore = request.POST.get(IGNORE_WARNINGS) == "true"
    return {"ignore_warnings": ignore, "languages": request.headers.get("Accept-Language", "")}


def require_step(request: HttpRequest, step: OfficeTaskStep) -> None:
    if not step.is_open_to(request):
        raise Forbidden(needs_permission(step.needs))


def find_tasks(ids: Sequence[str]) -> list[Task]:
    """Return the tasks, oldest first. Unknown ids are ignored if at least one task is found."""
    if len(ids) > MAX_TASKS:
        text = _("%(count)d tasks are too many for one step; select at most %(most)d.")
        raise Invalid(text % {"count": len(ids), "most": MAX_TASKS})
    wanted = []
    for each in ids:
        try:
            wanted.append(UUID(each))
        except ValueError:
            continue
    found = list(Task.objects.filter(id__in=wanted)) if wanted else []
    if not found:
        raise NotFound(_("This task does not exist."))
    return found


def step_page(
    request: HttpRequest,
    step: OfficeTaskStep,
    tasks: Sequence[Task],
    form: StepForm | None = None,
    outcomes: Sequence[TaskStepResult] = (),
) -> HttpResponse:
    """Show the form of a step; after an attempt, with the failed tasks, their problems and the entered values."""
    rows = task_rows(request, tasks)
    problems = {each.task.id: each.problem for each in outcomes if each.problem}
    shown = {task: _shown_problem(labels_of(request), each) for task, each in problems.items()}
    form = form or StepForm(step, request, tasks)
    context = {
        **storage_office.each_context(request),
        "opts": Task._meta,
        "title": _title(step, rows),
        "step": step,
        "form": form,
        "rows": [(cells_of(row), shown.get(row.task.id), _effect(request, step, row)) for row in rows],
        "can_go_on": any(row.status.is_open for row in rows),
        "has_nobody": step.needs_assignee and not form.fields[ASSIGNEE].choices,  # type: ignore[attr-defined]
        "is_warned": any(isinstance(each, Warned) for each in problems.values()),
        "number_done": len(outcomes) - len(problems),
        "number_of_problems": len(problems),
        "back": way_back(request),
        "action": reverse("admin:release_task_step", args=[step.key]),
    }
    # A partial success has status 200. If every task failed, the status is that of the first problem.
    nothing_done = bool(problems) and len(problems) == len(outcomes)
    status = status_of(next(iter(problems.values()))) if nothing_done else 200
    return TemplateResponse(request, "back_office/tasks/step.html", context, status=status)


def _shown_problem(labels: OfficeLabels, problem: Problem) -> dict[str, Any]:
    message, *details = (titled_text(labels, each) for each in (problem.message, *problem.details))
    return {"message": message, "details": details}


def _effect(request: HttpRequest, step: OfficeTaskStep, row: TaskRow) -> str:
    return effect_text(labels_of(request), row) if step.key == "accept" else ""


def _title(step: OfficeTaskStep, rows: Sequence[TaskRow]) -> str:
    if len(rows) == 1:
        return f"{step.title}: {rows[0].title}, {rows[0].name}"
    return ngettext("%(step)s: %(number)s task", "%(step)s: %(number)s tasks", len(rows)) % {
        "step": step.title,
        "number": len(rows),
    }


def way_back(request: HttpRequest) -> str:
    """Return the task page, filtered list or page of work on which the step began. Other addresses are ignored."""
    tasks, work = reverse("admin:release_task_changelist"), reverse("admin:release_work")
    for each in (request.POST.get(BACK), request.GET.get(BACK), request.headers.get("Referer")):
        try:
            parts = urlsplit(each or "")
        except ValueError:
            continue
        is_ours = (parts.path.startswith(tasks) and not parts.path.startswith(f"{tasks}step/")) or parts.path == work
        if is_ours:
            return f"{parts.path}?{parts.query}" if parts.query else parts.path
    return tasks


def step_of_one(request: HttpRequest, key: str, task: UUID) -> HttpResponse:
    step = STEPS[key]
    require_step(request, step)
    return step_page(request, step, find_tasks([str(task)]))


storage_office.add_page("release/task/step/<str:kind>/", step_view, "release_task_step")
for each in STEPS.values():
    storage_office.add_page(f"release/task/<uuid:task>/{each.key}/", partial(step_of_one, key=each.key), each.page)
