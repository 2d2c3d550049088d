"""Base class of the lists and forms in the back office of a storage."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cache
from typing import Any, ClassVar

from django.contrib.admin import display
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import LogEntry
from django.db.models import Model
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from unfold.admin import ModelAdmin, checkbox
from unfold.templatetags import unfold_list

from repository_site.core.problems import NotFound
from storage.options import Role
from storage.pages import caller_of, page_caller

OFFICE_ROLES = frozenset(Role) - {Role.VIEWER}
# Placeholder for the value of a checkbox.
VALUE = "the-value"
_all_headers = unfold_list.result_headers


def _headers_once(changes: Any) -> Iterator[dict[str, Any]]:
    """Return the headers of a list, which the theme asks for again with each row: that was a quarter of the work."""
    if not hasattr(changes, "known_headers"):
        changes.known_headers = list(_all_headers(changes))
    return iter(changes.known_headers)


unfold_list.result_headers = _headers_once


@cache
def _box(language: str) -> tuple[str, str]:
    """Return the text of a checkbox before and after its value, with a label in the language of the page. The theme
    renders a template for each row."""
    before, after = checkbox.render(ACTION_CHECKBOX_NAME, VALUE).split(VALUE)
    return before, after


class OwnFilters(ModelAdmin):
    """List that accepts only its own filters. Django would accept any condition on any column from the address, which
    allows guessing at hidden values, and values that the database cannot compare."""

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
        """Allow viewing by role; the sign-in page asks as well, where there may be no caller yet."""
        return page_caller(request) is not None and self.has_view_permission(request)

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
