"""Transitions, new versions and the lifecycle log: operations 17, 18 and 19."""

from __future__ import annotations

from typing import ClassVar

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from elements.api import schema as element_schema
from elements.api.operation import ElementOperation
from elements.api.parameters import PAGE, PAGE_SIZE, Query
from elements.permissions import require_lifecycle
from facets.rendering import list_transitions
from release.api import schema
from release.api.operation import COMMENT, VALID_UNTIL, ReleaseOperation, StepBody, flag
from release.lifecycle.transitions import TransitionRequest, apply_transition, offered_transitions
from release.lifecycle.versions import create_version
from release.steps.locking import read_unlocked
from release.steps.log import count_steps, read_steps
from repository_site.core.problems import Unreadable
from repository_site.core.rest.rendering import answer, counted
from repository_site.core.rest.versioning import ApiVersions
from storage.api.operation import has_no_body

IGNORE_WARNINGS = schema.IGNORE_WARNINGS.name


@extend_schema(tags=["release"], summary="Transitions that the caller may apply now")
class TransitionsView(ElementOperation):
    """In configured order. GET answers them as `values`, POST as `transitions`."""

    operation_id = "listTransitions"
    versions = ApiVersions.up_to("1.0")

    @extend_schema(responses=schema.Transitions)
    def get(self, request: Request, **names: str) -> HttpResponseBase:
        return self.offer(request, "values", names["elementId"])

    def head(self, request: Request, **names: str) -> HttpResponseBase:
        return self.get(request, **names)

    @extend_schema(responses=schema.PostedTransitions)
    def post(self, request: Request, **names: str) -> HttpResponseBase:
        if not has_no_body(request):
            raise Unreadable("This operation reads: send no body.")
        return self.offer(request, "transitions", names["elementId"])

    def offer(self, request: Request, list_name: str, element_id: str) -> HttpResponse:
        self.query(request).finish()
        offered = offered_transitions(read_unlocked(self.configuration, self.caller, self.element(element_id)))
        return answer(counted(list_name, list_transitions(offered)))


@extend_schema(
    tags=["release"],
    summary="Apply a transition",
    parameters=[schema.IGNORE_WARNINGS, *element_schema.WRITTEN],
    responses=element_schema.ELEMENT_LIST,
)
class TransitionView(ReleaseOperation):
    """Answers the element as it is then; where the transition only asks for consent, it is unchanged."""

    operation_id = "applyTransition"
    speaks = True
    writing_ids: ClassVar[dict[str, str]] = {"POST": "applyTransition"}
    writing_body = schema.TransitionBody
    warns = True
    versions = ApiVersions.up_to("4.0")
    http_method_names = ["post"]

    def post(self, request: Request, **names: str) -> HttpResponseBase:
        return self.once(request, lambda: self.apply(request, names))

    def apply(self, request: Request, names: dict[str, str]) -> HttpResponse:
        writer = self.settled_writer(request)
        query = Query(request._request.GET, ())
        ignore = self.ignores_warnings(query, names.get(IGNORE_WARNINGS))
        query.finish()
        body = StepBody(request, COMMENT, VALID_UNTIL)
        wanted = TransitionRequest(
            transition=names["transitionId"],
            ignore_warnings=ignore,
            comment=body.comment(),
            valid_until=body.moment(VALID_UNTIL, writer.zone),
            languages=request.headers.get("Accept-Language", ""),
        )
        body.finish()
        found, named = self.element(names["elementId"]), names["elementId"].lower()
        version = apply_transition(writer, found, wanted, named=named, on_locked=self.matching(request))
        return self.answer_versions(self.detail_of(found), [version])

    def ignores_warnings(self, query: Query, segment: str | None) -> bool:
        """As a query parameter, or as the last part of the address."""
        given = query.given.getlist(IGNORE_WARNINGS)
        if len(given) > 1:
            query.problems.append(f"{IGNORE_WARNINGS}: is given more than once.")
        found = {flag(query, IGNORE_WARNINGS, text) for text in (*given[:1], segment)} - {None}
        if len(found) > 1:
            query.problems.append(f"{IGNORE_WARNINGS}: the address and the parameter say different things.")
        return True in found


@extend_schema(
    tags=["release"],
    summary="Make a new version",
    parameters=element_schema.WRITTEN,
    responses=element_schema.ELEMENT_LIST,
)
class CreateVersionView(ReleaseOperation):
    """Of the published version, or of the newest that was: a copy in the first state of the release cycle."""

    operation_id = "createVersion"
    writing_ids: ClassVar[dict[str, str]] = {"POST": "createVersion"}
    versions = ApiVersions.up_to("4.0")
    http_method_names = ["post"]

    def post(self, request: Request, **names: str) -> HttpResponseBase:
        return self.once(request, lambda: self.create(request, names))

    def create(self, request: Request, names: dict[str, str]) -> HttpResponse:
        writer = self.settled_writer(request)
        Query(request._request.GET, ()).finish()
        if not has_no_body(request):
            raise Unreadable("This operation takes no body.")
        found, named = self.element(names["elementId"]), names["elementId"].lower()
        version = create_version(writer, found, named=named, on_locked=self.matching(request))
        return self.answer_versions(self.detail_of(found), [version])


@extend_schema(
    tags=["release"], summary="Lifecycle of an element", parameters=element_schema.PAGES, responses=schema.Lifecycle
)
class LifecycleView(ElementOperation):
    """Every step of all its versions, oldest first."""

    operation_id = "listLifecycle"
    versions = ApiVersions.up_to("1.0")
    parameters = (PAGE, PAGE_SIZE)

    def read(self, request: Request, **names: str) -> HttpResponse:
        view = self.view_of(names)
        require_lifecycle(self.caller)
        query = self.query(request)
        paging = query.page()
        query.finish()
        row = self.element_in(view, names["elementId"])
        steps = read_steps(self.reader, row.element, paging.size, (paging.page - 1) * paging.size)
        response = answer(counted("values", steps))
        self.add_page_headers(response, paging.page, paging.size, count_steps(row.element))
        return response
