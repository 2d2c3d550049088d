"""Forms of permission sets, and the page with all of them (D490)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elements.admin.access.panel import KEY, MODES, PAGE, PERMISSIONS, explained_set, grantees
from elements.admin.detail import office_context
from elements.admin.editing.fields import Field, render_field
from elements.admin.labels import labels_of
from elements.admin.panels import find_page
from elements.models.people import GROUP_TYPE
from elements.presentation.page_requests import writer_of
from elements.writing.limiting import Entries, hold_sets, limit_facet, remove_permissions, set_permissions
from elements.writing.writers import Writer
from facets.blueprint.private_content import USER_TYPE
from facets.permission_sets import MOST_GRANTEES, REPLACE, STOP, Limited, StoredSet
from repository_site.core.problems import Problem
from repository_site.core.rest.errors import status_of
from repository_site.core.wording import GUID
from storage.back_office import NavigationEntry, NavigationGroup, storage_office
from storage.back_office.sites import require_administrator
from storage.options import Role
from storage.pages import storage_of

MODE, REMOVE = "mode", "remove"
SETS_PAGE, FACET_PAGE = "elements_permission_sets", "elements_facet_access"
# Elements with sets that the page lists.
MOST_LISTED = 500


def access_view(request: HttpRequest, element: str) -> HttpResponseBase:
    """Change or remove the permission set of an element."""
    require_administrator(request)
    page = find_page(request, element)
    own = page.labels.configuration.sets.by_element.get(page.row.creation)
    mode = request.POST.get(MODE, REPLACE) if request.method == "POST" else own.mode if own else REPLACE
    mode = mode if mode in MODES else REPLACE

    def write(writer: Writer, entries: Entries) -> None:
        if REMOVE in request.POST:
            remove_permissions(writer, page.row)
        else:
            set_permissions(writer, page.row, mode, {} if mode == STOP else entries)

    context = {
        **office_context(request, _("Permission set of %(name)s") % {"name": page.name}),
        "modes": [(key, text, key == mode) for key, text in MODES.items()],
        "has_own": own is not None,
    }
    return _form(request, own, write, page.address(tab=KEY), context)


def facet_access_view(request: HttpRequest, facet: str) -> HttpResponseBase:
    """Change the permission set of a facet, or remove it by leaving it empty."""
    require_administrator(request)
    labels = labels_of(request)
    name = labels.configuration.facet(facet).facet.name
    title = _("Permission set of the facet %(name)s") % {"name": labels.facet(name)}

    def write(writer: Writer, entries: Entries) -> None:
        limit_facet(writer, storage_of(request), name, entries)

    above = {"title": _("Permission sets"), "link": reverse(f"admin:{SETS_PAGE}")}
    context = office_context(request, title, is_below_list=False)
    request.trail = [above, {"title": title}]  # type: ignore[attr-defined]  # for the head
    return _form(request, labels.configuration.sets.by_facet.get(name), write, above["link"], context)


def _form(
    request: HttpRequest,
    own: StoredSet | None,
    write: Callable[[Writer, Entries], None],
    back: str,
    context: Mapping[str, Any],
) -> HttpResponseBase:
    is_given = request.method == "POST"
    entries = (
        _posted(request) if is_given else {each: tuple(own.entries.get(each, ())) if own else () for each in Limited}
    )
    problem: Problem | None = None
    if is_given:
        try:
            with transaction.atomic():
                hold_sets(storage_of(request))
                write(writer_of(request), entries)
        except Problem as found:
            problem = found
        else:
            messages.success(request, _("The permission set has been changed."))
            return redirect(back)
    shown = {"fields": _fields(request, entries), "problems": problem.details if problem else (), "back": back}
    status = status_of(problem) if problem else 200
    return TemplateResponse(request, "back_office/elements/access_form.html", {**context, **shown}, status=status)


def _posted(request: HttpRequest) -> Entries:
    return {
        each: [id for id in request.POST.get(each.value, "").lower().split(",") if GUID.fullmatch(id)]
        for each in Limited
    }


def _fields(request: HttpRequest, entries: Entries) -> list[dict[str, object]]:
    labels = labels_of(request)
    named = labels.elements({id for ids in entries.values() for id in ids})
    chooses = f"{reverse('admin:elements_choices')}?types={USER_TYPE},{GROUP_TYPE}"
    found: list[dict[str, object]] = []
    for permission, title in PERMISSIONS.items():
        field = Field(permission.value, permission.value, chooses=chooses, most=MOST_GRANTEES)
        html = render_field(labels, field, ",".join(entries[permission]), named, [])
        found.append({"name": permission.value, "label": title, "html": html})
    return found


def sets_view(request: HttpRequest) -> HttpResponseBase:
    """Show all permission sets: those of facets, and the elements that have one."""
    require_administrator(request)
    labels = labels_of(request)
    sets = labels.configuration.sets
    named = labels.elements({*sets.by_element, *(id for each in sets.by_facet.values() for id in grantees(each))})
    limited = sorted((each for each in sets.by_element if each in named), key=lambda each: named[each].name)
    facets = []
    for each in labels.configuration.blueprint.facets:
        own = sets.by_facet.get(each.name)
        shown = explained_set(own, None, named, is_used=True) if own else None
        address = reverse(f"admin:{FACET_PAGE}", args=[each.name])
        facets.append({"title": labels.facet(each.name), "set": shown, "change": address})
    context = {
        **office_context(request, _("Permission sets"), is_below_list=False),
        "facets": facets,
        "elements": [
            explained_set(sets.by_element[each], named[each], {}, is_used=True) for each in limited[:MOST_LISTED]
        ],
        "more": max(0, len(limited) - MOST_LISTED),
        "deleted": len(sets.by_element) - len(limited),
    }
    return TemplateResponse(request, "back_office/elements/permission_sets.html", context)


storage_office.add_page("elements/element/<str:element>/access/", access_view, PAGE)
storage_office.add_page("permission-sets/", sets_view, SETS_PAGE)
storage_office.add_page("permission-sets/facets/<str:facet>/", facet_access_view, FACET_PAGE)
storage_office.add_navigation(
    NavigationEntry(
        NavigationGroup.ACCESS,
        gettext_lazy("Permission sets"),
        "lock_person",
        SETS_PAGE,
        roles=frozenset({Role.ADMINISTRATOR}),
    )
)
