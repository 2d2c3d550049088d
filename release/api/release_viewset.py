"""Transitions, new versions and the lifecycle log: operations 17, 18 and 19."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from elements.api import query_parameters
from elements.api.element_serializers import ELEMENT_LIST
from elements.api.writing_viewset import ElementWritingViewSet
from elements.permissions import require_lifecycle
from elements.reading.rows import VersionRow
from facets.configuration import CompiledView
from facets.rendering import list_transitions
from release.api import release_serializers
from release.api.step_body import COMMENT, VALID_UNTIL, StepBody, hinting_at_warnings, ignores_warnings
from release.lifecycle.transitions import TransitionRequest, apply_transition, offered_transitions
from release.lifecycle.versions import create_version
from release.steps.locking import OnLocked, read_unlocked
from release.steps.log import count_steps, read_steps
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import answer, counted
from repository_site.core.rest.versioning import ApiVersions

IGNORE_WARNINGS = release_serializers.IGNORE_WARNINGS.name


class ReleaseViewSet(ElementWritingViewSet):
    creates_versions = True

    @Operation(
        "listTransitions",
        tag="release",
        summary="List the transitions that the caller can apply now",
        versions=ApiVersions.up_to("1.0"),
        by_facet=True,
        responses=release_serializers.TransitionsSerializer,
    )
    def list_transitions(self, request: Request, **names: str) -> HttpResponse:
        """Return the transitions in configured order. GET names the list `values`, POST names it `transitions`."""
        return self._offer(request, "values", names["elementId"])

    @Operation(
        "listTransitions",
        tag="release",
        summary="List the transitions that the caller can apply now",
        versions=ApiVersions.up_to("1.0"),
        by_facet=True,
        responses=release_serializers.PostedTransitionsSerializer,
    )
    def list_transitions_by_post(self, request: Request, **names: str) -> HttpResponse:
        """Return the transitions in configured order. GET names the list `values`, POST names it `transitions`."""
        return self._offer(request, "transitions", names["elementId"])

    def _offer(self, request: Request, list_name: str, element_id: str) -> HttpResponse:
        self.query(request).finish()
        offered = offered_transitions(read_unlocked(self.configuration, self.caller, self.element(element_id)))
        return answer(counted(list_name, list_transitions(offered)))

    @Operation(
        "applyTransition",
        tag="release",
        summary="Apply a transition",
        versions=ApiVersions.up_to("4.0"),
        by_facet=True,
        parameters=[release_serializers.IGNORE_WARNINGS, *query_parameters.WRITTEN],
        writes=True,
        uses_language=True,
        warns=True,
        body=release_serializers.TransitionBodySerializer,
        responses=ELEMENT_LIST,
    )
    def apply_transition(self, request: Request, **names: str) -> HttpResponse:
        """Apply a transition that `transitions` lists, and return the element in its new state.

        A transition that needs approval creates a task and leaves the element unchanged. If validation rules report
        warnings, the response is 422 with `type` `warning`; repeat the request with `ignoreWarnings=true` to apply the
        transition anyway.
        """
        return self._apply(request, names)

    @Operation(
        "applyTransitionIgnoringWarnings",
        tag="release",
        summary="Apply a transition, with ignoreWarnings in the path",
        versions=ApiVersions.up_to("4.0"),
        by_facet=True,
        parameters=[release_serializers.IGNORE_WARNINGS, *query_parameters.WRITTEN],
        writes=True,
        uses_language=True,
        warns=True,
        body=release_serializers.TransitionBodySerializer,
        responses=ELEMENT_LIST,
    )
    def apply_transition_ignoring_warnings(self, request: Request, **names: str) -> HttpResponse:
        """Same as applyTransition, with the value of `ignoreWarnings` as the last segment of the path."""
        return self._apply(request, names)

    def _apply(self, request: Request, names: dict[str, str]) -> HttpResponse:
        writer = self.settled_writer(request)
        query = self.query(request)
        ignore = ignores_warnings(query, names.get(IGNORE_WARNINGS))
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
        with hinting_at_warnings():
            version = apply_transition(writer, found, wanted, named=named, on_locked=self._matching(request))
        return self.answer_versions(self._detail_of(found), [version])

    @Operation(
        "createVersion",
        tag="release",
        summary="Create a version",
        versions=ApiVersions.up_to("4.0"),
        by_facet=True,
        parameters=query_parameters.WRITTEN,
        writes=True,
        creates=True,
        responses=ELEMENT_LIST,
    )
    def create_version(self, request: Request, **names: str) -> HttpResponse:
        """Copy the published version, or else the newest expired one, to a new draft, and return the draft.

        The response is 409 while the element has a draft or a version in review.
        """
        writer = self.settled_writer(request)
        self.refuse_parameters_and_body(request)
        found, named = self.element(names["elementId"]), names["elementId"].lower()
        version = create_version(writer, found, named=named, on_locked=self._matching(request))
        self.has_created = True
        return self.answer_versions(self._detail_of(found), [version])

    def _detail_of(self, row: VersionRow) -> CompiledView:
        """Return the view that the response shows the element in."""
        return self.reader.addresses.detail_view(self.reader.types[row.type])

    def _matching(self, request: Request) -> OnLocked:
        return lambda row: self.check_match(request, [row])

    @Operation(
        "listLifecycle",
        tag="release",
        summary="List the lifecycle log of an element",
        versions=ApiVersions.up_to("1.0"),
        parameters=query_parameters.LOG_PAGES,
        responses=release_serializers.LifecycleSerializer,
    )
    def list_lifecycle(self, request: Request, **names: str) -> HttpResponse:
        """Return the lifecycle log of all versions of the element in pages.

        The oldest step comes first; `$orderBy=time desc` returns the newest first.

        Requires the role Analyzer or a higher one.
        """
        view = self.view_of(names)
        require_lifecycle(self.caller)
        query = self.query(request)
        paging = query.page()
        newest_first = query.newest_first(usual=False)
        query.finish()
        row = self.element_in(view, names["elementId"])
        start = (paging.page - 1) * paging.size
        steps = read_steps(self.reader, row.element, paging.size, start, newest_first=newest_first)
        response = answer(counted("values", steps))
        self.add_page_headers(response, paging.page, paging.size, count_steps(row.element))
        return response
