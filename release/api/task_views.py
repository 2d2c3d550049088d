"""Tasks: the list, one of them, counts, and deciding them."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from elements.api.operation import ElementOperation
from elements.api.parameters import PAGE, PAGE_SIZE, Query
from elements.permissions import require_lifecycle
from elements.writing.updating import Writer
from release.api import schema
from release.api.filters import TaskFilter
from release.api.operation import ASSIGNEE, COMMENT, ReleaseOperation, StepBody
from release.models import Task
from release.tasks.decisions import accept_task, delegate_task, find_task, reject_task, withdraw_task
from release.tasks.reading import task_documents, task_summary
from repository_site.core.problems import Unreadable
from repository_site.core.rest.rendering import answer, counted
from repository_site.core.rest.versioning import NAME as VERSION
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import GUID, listed, printable
from storage.api.authentication import TOKEN_NAME

ELSEWHERE = {PAGE, PAGE_SIZE, VERSION, TOKEN_NAME}


def task_id(names: dict[str, str]) -> UUID:
    text = names["taskId"]
    if not GUID.fullmatch(text):
        raise Unreadable(f"{printable(text, 80)!r} is no GUID.")
    return UUID(text)


class TaskOperation(ElementOperation):
    versions = ApiVersions.up_to("1.0")


@extend_schema(tags=["tasks"], summary="Tasks", parameters=schema.TASKS, responses=schema.Tasks)
class TasksView(TaskOperation):
    """Open tasks that wait for the caller, oldest first, or those that the parameters ask for."""

    operation_id = "listTasks"
    parameters = (PAGE, PAGE_SIZE)

    def read(self, request: Request, **names: str) -> HttpResponse:
        require_lifecycle(self.caller)
        query = self.query(request)
        paging = query.page()
        given = request._request.GET
        known = [*TaskFilter.base_filters]
        for name in given:
            if name not in known and name not in ELSEWHERE and not name.startswith("$"):
                query.problems.append(f"{printable(name, 40)}: unknown parameter; there are {listed(known)}.")
            if name in known and len(given.getlist(name)) > 1:
                query.problems.append(f"{name}: is given more than once.")
        found = TaskFilter(given, Task.objects.all(), caller=self.caller)
        for name, problems in found.errors.items():
            query.problems += [f"{name}: {str(each).rstrip('.')}." for each in problems]
        query.finish()
        tasks = found.qs
        start = (paging.page - 1) * paging.size
        page = list(tasks[start : start + paging.size])
        response = answer(counted("values", task_documents(self.reader, page)))
        self.add_page_headers(response, paging.page, paging.size, tasks.count())
        return response


@extend_schema(tags=["tasks"], summary="One task", responses=schema.Tasks)
class TaskView(TaskOperation):
    """Whatever its state."""

    operation_id = "getTask"

    def read(self, request: Request, **names: str) -> HttpResponse:
        require_lifecycle(self.caller)
        self.query(request).finish()
        return answer(counted("values", task_documents(self.reader, [find_task(task_id(names))])))


@extend_schema(tags=["tasks"], summary="Numbers of tasks", responses=schema.TaskSummary)
class TaskSummaryView(TaskOperation):
    """All tasks of the storage by type, state and how long they are or were open."""

    operation_id = "summariseTasks"

    def read(self, request: Request, **names: str) -> HttpResponse:
        require_lifecycle(self.caller)
        self.query(request).finish()
        return answer(counted("values", task_summary(self.storage.stuck_after_days)))


class DecisionOperation(ReleaseOperation):
    """One POST a decision; answers the task as it is then."""

    versions = ApiVersions.up_to("1.0")
    http_method_names = ["post"]
    writing_body: ClassVar[type] = schema.DecisionBody

    def post(self, request: Request, **names: str) -> HttpResponseBase:
        return self.once(request, lambda: self.decide(request, names))

    def decide(self, request: Request, names: dict[str, str]) -> HttpResponse:
        writer = self.settled_writer(request)
        require_lifecycle(self.caller)
        Query(request._request.GET, ()).finish()
        task = self.decision(writer, task_id(names), request)
        return answer(counted("values", task_documents(self.reader, [task])))

    def decision(self, writer: Writer, task: UUID, request: Request) -> Task:
        body = StepBody(request, COMMENT)
        comment = body.comment()
        body.finish()
        return self.decides(writer, task, comment)

    def decides(self, writer: Writer, task: UUID, comment: str) -> Task:
        raise NotImplementedError


@extend_schema(tags=["tasks"], summary="Accept a task", responses=schema.Tasks)
class AcceptView(DecisionOperation):
    """What was asked for is done. Nobody accepts their own request, but for administrators."""

    operation_id = "acceptTask"
    writing_ids: ClassVar[dict[str, str]] = {"POST": "acceptTask"}

    def decides(self, writer: Writer, task: UUID, comment: str) -> Task:
        return accept_task(writer, task, comment)


@extend_schema(tags=["tasks"], summary="Reject a task", responses=schema.Tasks)
class RejectView(DecisionOperation):
    """Everything stays as it is."""

    operation_id = "rejectTask"
    writing_ids: ClassVar[dict[str, str]] = {"POST": "rejectTask"}

    def decides(self, writer: Writer, task: UUID, comment: str) -> Task:
        return reject_task(writer, task, comment)


@extend_schema(tags=["tasks"], summary="Withdraw a task", responses=schema.Tasks)
class WithdrawView(DecisionOperation):
    """By who has made the request, or an administrator."""

    operation_id = "withdrawTask"
    writing_ids: ClassVar[dict[str, str]] = {"POST": "withdrawTask"}

    def decides(self, writer: Writer, task: UUID, comment: str) -> Task:
        return withdraw_task(writer, task, comment)


@extend_schema(tags=["tasks"], summary="Delegate a task", responses=schema.Tasks)
class DelegateView(DecisionOperation):
    """To another user who may approve."""

    operation_id = "delegateTask"
    writing_ids: ClassVar[dict[str, str]] = {"POST": "delegateTask"}
    writing_body = schema.DelegationBody

    def decision(self, writer: Writer, task: UUID, request: Request) -> Task:
        body = StepBody(request, ASSIGNEE, COMMENT)
        comment, assignee = body.comment(), body.guid(ASSIGNEE)
        body.finish()
        return delegate_task(writer, task, comment, assignee)
