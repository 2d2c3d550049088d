"""The base of viewsets that change elements: the writer, the limit of a request, and optimistic locking (D15)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from django.conf import settings
from django.http import HttpResponse
from rest_framework.request import Request

from elements.api.entity_tags import is_tag_of
from elements.api.query import DRY_RUN
from elements.api.reading_viewset import ElementReadingViewSet
from elements.permissions import Permission
from elements.reading.assembly.assembler import Assembler
from elements.reading.assembly.projection import Wanted
from elements.reading.bounds import TooHeavy, most_text
from elements.reading.lists.batches import ElementBatches
from elements.reading.rows import VersionRow, read_versions
from elements.writing.writers import Writer, ask_for_writer, can_change, require_changing, settled_writer
from facets.configuration import CompiledView
from repository_site.core.database.statements import Inquiry
from repository_site.core.problems import Invalid, PreconditionFailed, TooLarge, Unreadable
from repository_site.core.rest.rendering import JSON_TYPE, answer, counted
from storage.access.callers import narrow_to
from storage.api.conditional_requests import ANY, given_tags
from storage.api.preferences import prefers_minimal
from storage.api.viewset import APPLIED, MINIMAL, has_no_body
from storage.models import Storage


class ElementWritingViewSet(ElementReadingViewSet):
    _asked_writer: Callable[[], Writer] | None = None
    """The writer, for which the questions came with the scope."""
    creates_versions: ClassVar[bool] = False
    """Whether a new resource is a version of an element, with an address of its own."""
    _changed: Sequence[str] = ()
    """Versions that the request has changed, in the order of the response."""

    def writer(self, request: Request, needed: Permission = Permission.EDIT) -> Writer:
        """Return the writer for a change of content, which needs a permission to change anything at all."""
        require_changing(self.caller, needed)
        return self.settled_writer(request)

    def first_questions(self, request: Request, names: dict[str, str]) -> Inquiry | None:
        # A request with a key may wait for another one with the same key, and must not hold locks meanwhile.
        if not self.operation.writes or "HTTP_IDEMPOTENCY_KEY" in request.META or not can_change(self.caller):
            return super().first_questions(request, names)
        inquiry = Inquiry()
        self._asked_writer = ask_for_writer(inquiry, self.storage, self.caller, _request_id(request))
        return inquiry

    def settled_writer(self, request: Request) -> Writer:
        before = self.storage.configuration_revision
        asked, self._asked_writer = self._asked_writer, None
        writer = asked() if asked else settled_writer(self.storage, self.caller, _request_id(request))
        if self.storage.configuration_revision != before:
            for name in ("configuration", "reader"):
                self.__dict__.pop(name, None)
            # Permission sets may have changed while this request waited for the configuration (D520).
            narrow_to(self.storage, lambda: self.caller)
        return writer

    def once(self, storage: Storage, request: Request, change: Callable[[], HttpResponse]) -> HttpResponse:
        try:
            # A dry run writes nothing, so it does not claim an Idempotency-Key either.
            return change() if self.is_dry_run(request) else super().once(storage, request, change)
        except TooHeavy:
            text = (
                f"The stored elements have more than {most_text(1)} bytes of attributes together, or too many"
                " references. Nothing was changed. Change fewer elements in one request."
            )
            raise Invalid(text) from None

    def is_dry_run(self, request: Request) -> bool:
        """Return whether an operation that has `dryRun` must only report what it would do."""
        query = self.query(request)
        return query.boolean(DRY_RUN, query.text(DRY_RUN)) is True

    def check_match(self, request: Request, rows: list[VersionRow | None]) -> None:
        """Compare `If-Match` with the version. Call it while the element is locked: of many requests, one succeeds.

        The tag covers the version only; children, targets and the configuration may have changed (D135).
        """
        header = request.META.get("HTTP_IF_MATCH")
        if header is None:
            return
        if len(rows) != 1:
            raise Unreadable("If-Match: only a request with one element can have this header.")
        row = rows[0]
        if header.strip() == ANY:
            matches = row is not None
        else:
            tags = given_tags(header, "If-Match")
            matches = row is not None and any(is_tag_of(each, row) for each in tags)
        if not matches:
            raise PreconditionFailed("The element has changed since it was read; read it again.")

    def answer_versions(self, view: CompiledView, versions: list[str]) -> HttpResponse:
        """Return elements as operation 4 shows them, in this order.

        The entity tag is that of the version alone: it is for `If-Match`, not for conditional reads (D135).
        """
        self._changed = versions
        if prefers_minimal(self.request):
            return self._answer_tag(view, versions)
        batches = ElementBatches(Assembler(self.reader, view, Wanted()))
        try:
            response = HttpResponse(batches.written(self.list_name, versions), content_type=JSON_TYPE)
        except TooHeavy:
            return self.reduced_answer()
        if len(versions) == 1:
            response["ETag"] = batches.rows[0].entity_tag
        return response

    def _answer_tag(self, view: CompiledView, versions: list[str]) -> HttpResponse:
        """Return the headers of a response that has no body (D575), without assembling the elements."""
        response = HttpResponse()
        if len(versions) == 1:
            [row] = read_versions(versions, with_attributes=False).values()
            response["ETag"] = row.entity_tag
            if self.has_created:
                prefix = self.reader.addresses.view(view)
                response["Location"] = prefix + (row.version if self.creates_versions else row.element)
        return response

    def reduced_answer(self) -> HttpResponse:
        """Return the identities of the changed elements, if the whole response would be too large (D189)."""
        if not self._changed:
            return super().reduced_answer()
        found = read_versions(self._changed, with_attributes=False)
        rows = [found[version] for version in self._changed]
        response = answer(counted(self.list_name, [self.reader.identity(row) for row in rows]))
        response[APPLIED] = MINIMAL
        if len(rows) == 1:
            response["ETag"] = rows[0].entity_tag
        return response

    def refuse_parameters_and_body(self, request: Request) -> None:
        self.query(request).finish()
        if not has_no_body(request):
            raise Unreadable("This operation takes no body.")


def _request_id(request: Request) -> str:
    return getattr(request._request, "request_id", "")


def success(message: str) -> HttpResponse:
    return answer({"message": message, "output": "volatile", "type": "success"})


def refuse_many(number: int, what: str) -> None:
    if number > settings.MAX_ELEMENTS:
        raise TooLarge(
            f"{number} {what} are too many for one request. Split it into requests of at most {settings.MAX_ELEMENTS}."
        )
