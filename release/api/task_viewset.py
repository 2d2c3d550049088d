"""Tasks: the list, a single task, counts, and decisions."""

from __future__ import annotations

from contextlib import closing
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from elements.api.query import PAGE, PAGE_SIZE
from elements.api.writing_viewset import ElementWritingViewSet
from elements.permissions import require_lifecycle
from elements.writing.writers import Writer
from release.api import release_serializers
from release.api.step_body import ASSIGNEE, COMMENT, StepBody, hinting_at_warnings, ignores_warnings
from release.api.task_filter import TaskFilter
from release.models import Task
from release.tasks.decisions import accept_task, delegate_task, find_task, reject_task, withdraw_task
from release.tasks.reading import task_documents, task_summary
from repository_site.core.problems import Unreadable
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import answer, counted
from repository_site.core.rest.versioning import NAME as VERSION
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import GUID, listed, printable
from storage.api.authentication import TOKEN_NAME

# Query parameters that are not filters.
OTHERS = {PAGE, PAGE_SIZE, VERSION, TOKEN_NAME}


class TaskViewSet(ElementWritingViewSet):
    @Operation(
        "listTasks",
        tag="tasks",
        summary="List tasks",
        versions=ApiVersions.up_to("1.0"),
        parameters=release_serializers.TASKS,
        responses=release_serializers.TasksSerializer,
    )
    def list(self, request: Request, **names: str) -> HttpResponse:
        """Return tasks, oldest first, in pages. The default is the open tasks that the caller can decide.

        Requires the role Analyzer or a higher one.
        """
        require_lifecycle(self.caller)
        query = self.query(request)
        paging = query.page()
        given = request._request.GET
        known = [*TaskFilter.base_filters]
        for name in given:
            if name not in known and name not in OTHERS and not query.misspelling(name):
                query.problems.append(f"{printable(name, 40)}: unknown parameter; use {listed(known, 'or')}.")
        with closing(TaskFilter(given, Task.objects.all(), caller=self.caller)) as found:
            for name, problems in found.errors.items():
                query.problems += [f"{name}: {str(each).rstrip('.')}." for each in problems]
            query.finish()
            tasks = found.qs
        start = (paging.page - 1) * paging.size
        page = [*tasks[start : start + paging.size]]
        response = answer(counted("values", task_documents(self.reader, page)))
        self.add_page_headers(response, paging.page, paging.size, tasks.count())
        return response

    @Operation(
        "getTask",
        tag="tasks",
        summary="Get a task",
        versions=ApiVersions.up_to("1.0"),
        responses=release_serializers.TasksSerializer,
    )
    def retrieve(self, request: Request, **names: str) -> HttpResponse:
        """Return one task in any state. Requires the role Analyzer or a higher one."""
        require_lifecycle(self.caller)
        self.query(request).finish()
        return self._answer_task(find_task(_task_id(names)))

    @Operation(
        "summariseTasks",
        tag="tasks",
        summary="Count tasks",
        versions=ApiVersions.up_to("1.0"),
        responses=release_serializers.TaskSummarySerializer,
    )
    def summarise_tasks(self, request: Request, **names: str) -> HttpResponse:
        """Return the number of tasks by type, state and age. Requires the role Analyzer or a higher one."""
        require_lifecycle(self.caller)
        self.query(request).finish()
        return answer(counted("values", task_summary(self.storage.stuck_after_days)))

    @Operation(
        "acceptTask",
        tag="tasks",
        summary="Accept a task",
        versions=ApiVersions.up_to("1.0"),
        parameters=[release_serializers.IGNORE_WARNINGS],
        writes=True,
        uses_language=True,
        warns=True,
        body=release_serializers.DecisionBodySerializer,
        responses=release_serializers.TasksSerializer,
    )
    def accept_task(self, request: Request, **names: str) -> HttpResponse:
        """Accept a task, which applies the requested transition, and return the task.

        If several approvals are needed, the last one applies the transition. Warnings of validation rules refuse it as
        in applyTransition.

        Requires the permission ApproveElement. Only the assignee or a deputy can accept an assigned task, and
        requesters cannot accept their own requests. Administrators can do both.
        """
        writer = self.settled_writer(request)
        require_lifecycle(self.caller)
        query = self.query(request)
        ignore = ignores_warnings(query)
        query.finish()
        languages = request.headers.get("Accept-Language", "")
        with hinting_at_warnings():
            task = accept_task(writer, _task_id(names), _comment(request), ignore_warnings=ignore, languages=languages)
        return self._answer_task(task)

    @Operation(
        "rejectTask",
        tag="tasks",
        summary="Reject a task",
        versions=ApiVersions.up_to("1.0"),
        writes=True,
        body=release_serializers.DecisionBodySerializer,
        responses=release_serializers.TasksSerializer,
    )
    def reject_task(self, request: Request, **names: str) -> HttpResponse:
        """Reject a task and return it. The element stays as it is; a version in review is sent back."""
        writer = self._decider(request)
        return self._answer_task(reject_task(writer, _task_id(names), _comment(request)))

    @Operation(
        "withdrawTask",
        tag="tasks",
        summary="Withdraw a task",
        versions=ApiVersions.up_to("1.0"),
        writes=True,
        body=release_serializers.DecisionBodySerializer,
        responses=release_serializers.TasksSerializer,
    )
    def withdraw_task(self, request: Request, **names: str) -> HttpResponse:
        """Withdraw a request and return its task. Only the requester or an administrator can withdraw it."""
        writer = self._decider(request)
        return self._answer_task(withdraw_task(writer, _task_id(names), _comment(request)))

    @Operation(
        "delegateTask",
        tag="tasks",
        summary="Delegate a task",
        versions=ApiVersions.up_to("1.0"),
        writes=True,
        body=release_serializers.DelegationBodySerializer,
        responses=release_serializers.TasksSerializer,
    )
    def delegate_task(self, request: Request, **names: str) -> HttpResponse:
        """Assign a task to another user who can approve, and return the task."""
        writer = self._decider(request)
        task = _task_id(names)
        body = StepBody(request, ASSIGNEE, COMMENT)
        comment, assignee = body.comment(), body.guid(ASSIGNEE)
        body.finish()
        return self._answer_task(delegate_task(writer, task, comment, assignee))

    def _decider(self, request: Request) -> Writer:
        writer = self.settled_writer(request)
        require_lifecycle(self.caller)
        self.query(request).finish()
        return writer

    def _answer_task(self, task: Task) -> HttpResponse:
        return answer(counted("values", task_documents(self.reader, [task])))


def _task_id(names: dict[str, str]) -> UUID:
    text = names["taskId"]
    if not GUID.fullmatch(text):
        raise Unreadable(f"{printable(text, 80)!r} is not a GUID.")
    return UUID(text)


def _comment(request: Request) -> str:
    body = StepBody(request, COMMENT)
    comment = body.comment()
    body.finish()
    return comment
