"""Base class of the lists and forms in the back office of a storage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import cache
from typing import Any, ClassVar
from uuid import uuid4

from django.contrib.admin import ShowFacets, display
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import LogEntry
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.db.models import Model
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.utils.translation import gettext as text_of_theme
from unfold.admin import ModelAdmin, checkbox
from unfold.templatetags import unfold_list

from repository_site.core.problems import NotFound
from storage.options import Role
from storage.pages import caller_of

OFFICE_ROLES = frozenset(Role) - {Role.VIEWER}
# Placeholder for the value of a checkbox.
VALUE = "the-value"
# Placeholder for the id of a row. Nobody can type it.
ROW = str(uuid4())
BOX = "action_checkbox"
_all_headers = unfold_list.result_headers


def _headers_once(changes: Any) -> Iterator[dict[str, Any]]:
    """Return the headers of a list, which the theme asks for again with each row: that was a quarter of the work."""
    if not hasattr(changes, "known_headers"):
        changes.known_headers = list(_all_headers(changes))
    return iter(changes.known_headers)


unfold_list.result_headers = _headers_once
_all_cells = unfold_list.items_for_result


def _plain_cells(changes: Any, row: Model, form: Any) -> Iterator[SafeString]:
    """Return the cells of a row as the theme does, for a list whose columns are texts. The theme makes the classes, the
    label and the address of each cell again, which was a third of the work."""
    if not getattr(changes.model_admin, "has_plain_cells", False) or changes.is_popup:
        yield from _all_cells(changes, row, form)
        return
    if not hasattr(changes, "known_cells"):
        changes.known_cells = list(_frames(changes, row))
    for text_of, before, after in changes.known_cells:
        text = conditional_escape(text_of(row))
        yield mark_safe(f"{before.replace(ROW, str(row.pk))}{text}{after}")  # noqa: S308  escaped


def _frames(changes: Any, row: Model) -> Iterator[tuple[Callable[[Model], str], str, str]]:
    """Yield the function of each column, with the markup around its text. The first column after the box is a link."""
    kept = {"preserved_filters": changes.preserved_filters, "opts": changes.opts}
    address = add_preserved_filters(kept, changes.url_for_result(row).replace(str(row.pk), ROW))
    link = format_html('<a href="{}" class="{}" >', address, " ".join(unfold_list.LINK_CLASSES))
    linked = int(changes.list_display[0] == BOX)
    for place, (name, header) in enumerate(zip(changes.list_display, _headers_once(changes), strict=True)):
        column = name if callable(name) else getattr(changes.model_admin, name)
        classes = [f"field-{column.__name__}", *unfold_list.ROW_CLASSES]
        label, tag = header["text"] if place else text_of_theme("Select record"), "td"
        if name == BOX:
            classes = unfold_list.CHECKBOX_CLASSES
        if place == linked:
            label, tag = header["text"], "th"
        before = format_html('<{} class="{}" data-label="{}">', tag, " ".join(classes), label)
        yield column, f"{before}{link}" if place == linked else before, f"{'</a>' * (place == linked)}</{tag}>"


unfold_list.items_for_result = _plain_cells


@cache
def _box(language: str) -> tuple[str, str]:
    """Return the text of a checkbox before and after its value, with a label in the language of the page. The theme
    renders a template for each row."""
    before, after = checkbox.render(ACTION_CHECKBOX_NAME, VALUE).split(VALUE)
    return before, after


class OwnFilters(ModelAdmin):
    """List that accepts only its own filters. Django would accept any condition on any column from the address, which
    allows guessing at hidden values, and values that the database cannot compare."""

    has_plain_cells = False
    """Whether all columns are functions of the row that return texts."""
    # The theme reads this attribute twice per row, and templates look up missing attributes slowly.
    list_sections = ()
    # For its counts, each filter would read the whole list.
    show_facets = ShowFacets.NEVER

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        offered: set[str] = set()
        for each in self.get_list_filter(request):
            if isinstance(each, tuple):
                offered |= {f"{each[0]}__exact", f"{each[0]}__isnull"}
            else:
                offered.add(getattr(each, "parameter_name", ""))
        return lookup in offered

    @display(description=ModelAdmin.action_checkbox.short_description)
    def action_checkbox(self, obj: Model) -> SafeString:
        before, after = _box(get_language() or "")
        return format_html("{}{}{}", mark_safe(before), obj.pk, mark_safe(after))  # noqa: S308  a template of the theme

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        """Name the page after its rows; Django's title is "Select … to change"."""
        title = capfirst(str(self.opts.verbose_name_plural))
        response: HttpResponseBase = super().changelist_view(request, {"title": title, **(extra_context or {})})
        return response


class StorageModelAdmin(OwnFilters):
    """Admin whose permissions follow from the caller's roles in this storage (D20), not from Django's permissions.

    Django's own log of the admin is left empty: it is one table for all storages. What happens to elements is in their
    record of changes.
    """

    viewers: ClassVar[frozenset[Role]] = OFFICE_ROLES
    changers: ClassVar[frozenset[Role]] = frozenset({Role.ADMINISTRATOR})
    show_full_result_count = False
    list_filter_submit = True
    warn_unsaved_form = True

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(caller_of(request).roles & self.viewers)

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_change_permission(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(caller_of(request).roles & self.changers)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> LogEntry | None:
        return None

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> LogEntry | None:
        return None

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        return None

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        """Show the list with a copy of this instance: unfold stores the request and added fields on the instance, which
        all threads and storages share."""
        own = copy(self)
        response: HttpResponseBase = super(StorageModelAdmin, own).changelist_view(request, extra_context)
        return response

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        raise NotFound(_("There is no such page."))
