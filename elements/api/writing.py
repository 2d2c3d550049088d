"""What the operations that change elements share: who writes, the size of a request, and optimistic locking (D15)."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from rest_framework.request import Request

from elements.api.conditional_requests import ANY, given_tags
from elements.api.operation import ElementOperation
from elements.api.parameters import Query
from elements.api.tags import entity_tag, is_tag_of
from elements.permissions import Permission
from elements.reading.assembly.assembler import Assembler
from elements.reading.assembly.projection import Wanted
from elements.reading.rows import VersionRow, read_versions
from elements.writing.deleting import delete_element
from elements.writing.findings import Findings
from elements.writing.updating import Writer
from elements.writing.writers import require_changing, settled_writer
from facets.configuration import CompiledView
from repository_site.core.problems import PreconditionFailed, TooLarge, Unreadable
from repository_site.core.rest.rendering import answer, counted
from storage.api.operation import has_no_body


class WritingOperation(ElementOperation):
    def writer(self, request: Request, needed: Permission = Permission.EDIT) -> Writer:
        """For changes of content, which need one of the permissions to change something at all."""
        require_changing(self.caller, needed)
        return self.settled_writer(request)

    def settled_writer(self, request: Request) -> Writer:
        before = self.storage.configuration_revision
        writer = settled_writer(self.storage, self.caller, getattr(request._request, "request_id", ""))
        if self.storage.configuration_revision != before:
            for name in ("configuration", "reader"):
                self.__dict__.pop(name, None)
        return writer

    def check_match(self, request: Request, rows: list[VersionRow | None]) -> None:
        """`If-Match` names what the client has read. Asked under the lock of the element: of many, one gets through.

        It is about the version alone: children, targets and the configuration may have changed since (D135).
        """
        header = request.headers.get("If-Match")
        if header is None:
            return
        if len(rows) != 1:
            raise Unreadable("If-Match is possible in a request with one element only.")
        row = rows[0]
        if header.strip() == ANY:
            matches = row is not None
        else:
            tags = given_tags(header, "If-Match")
            matches = row is not None and any(is_tag_of(each, row) for each in tags)
        if not matches:
            raise PreconditionFailed("The element has changed since it was read; read it again.")

    def answer_versions(self, view: CompiledView, versions: list[str]) -> HttpResponse:
        """Elements as operation 4 shows them, in this order.

        Their tag is of the version alone: it is for `If-Match`, and no read answers it (D135).
        """
        found = read_versions(versions)
        rows = [found[version] for version in versions]
        response = answer(counted(self.list_name, Assembler(self.reader, view, Wanted()).elements(rows)))
        if len(rows) == 1:
            response["ETag"] = entity_tag(rows[0])
        return response


class DeletingOperation(WritingOperation):
    def delete_element(self, request: Request, names: dict[str, str]) -> HttpResponse:
        return self.once(request, lambda: self._delete(request, names))

    def _delete(self, request: Request, names: dict[str, str]) -> HttpResponse:
        writer = self.writer(request, Permission.DELETE)
        view = self.view_of(names)
        self.refuse_body(request)
        found = self.element_in(view, names["elementId"])
        deletion = delete_element(writer, view, found, Findings(), lambda rows: self.check_match(request, rows))
        what = "element" if deletion.is_whole else "draft"
        return success(f"The {what} {found.version} has been deleted.")

    def refuse_body(self, request: Request) -> None:
        Query(request._request.GET, ()).finish()
        if not has_no_body(request):
            raise Unreadable("This operation takes no body.")


def success(message: str) -> HttpResponse:
    return answer({"message": message, "output": "volatile", "type": "success"})


def refuse_many(number: int, what: str) -> None:
    if number > settings.MAX_ELEMENTS:
        raise TooLarge(f"{number} {what} are too many for one request; at most {settings.MAX_ELEMENTS} are possible.")
