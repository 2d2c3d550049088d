"""The form of the permission set of an element (D490)."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from elements.admin.access.panel import KEY, MODES, PAGE, PERMISSIONS
from elements.admin.detail import office_context
from elements.admin.editing.fields import Field, render_field
from elements.admin.labels import labels_of
from elements.admin.panels import ElementPage, find_page
from elements.models.people import GROUP_TYPE
from elements.presentation.page_requests import writer_of
from elements.writing.limiting import MOST_GRANTEES, Entries, hold_sets, remove_permissions, set_permissions
from facets.blueprint.private_content import USER_TYPE
from facets.permission_sets import REPLACE, STOP, Limited
from repository_site.core.problems import Problem
from repository_site.core.rest.errors import status_of
from repository_site.core.wording import GUID
from storage.back_office import storage_office
from storage.back_office.sites import require_administrator
from storage.pages import storage_of

MODE, REMOVE = "mode", "remove"


def access_view(request: HttpRequest, element: str) -> HttpResponseBase:
    """Change or remove the permission set of an element."""
    require_administrator(request)
    page = find_page(request, element)
    own = page.labels.configuration.sets.by_element.get(page.row.creation)
    given = request.POST if request.method == "POST" else None
    mode = given.get(MODE, REPLACE) if given else own.mode if own else REPLACE
    entries = _posted(request) if given else {each: tuple(own.entries.get(each, ())) if own else () for each in Limited}
    problem: Problem | None = None
    if given is not None:
        try:
            _write(request, page, mode if mode in MODES else REPLACE, entries, is_removal=REMOVE in given)
        except Problem as found:
            problem = found
        else:
            messages.success(request, _("The permission set has been changed."))
            return redirect(page.address(tab=KEY))
    context = {
        **office_context(request, _("Permission set of %(name)s") % {"name": page.name}),
        "page": page,
        "fields": _fields(request, entries),
        "modes": [(key, text, key == mode) for key, text in MODES.items()],
        "problems": problem.details if problem else (),
        "has_own": own is not None,
        "back": page.address(tab=KEY),
    }
    status = status_of(problem) if problem else 200
    return TemplateResponse(request, "back_office/elements/access_form.html", context, status=status)


def _write(request: HttpRequest, page: ElementPage, mode: str, entries: Entries, *, is_removal: bool) -> None:
    hold_sets(storage_of(request))
    writer = writer_of(request)
    if is_removal:
        remove_permissions(writer, page.row)
    else:
        set_permissions(writer, page.row, mode, {} if mode == STOP else entries)


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


storage_office.add_page("elements/element/<str:element>/access/", access_view, PAGE)
