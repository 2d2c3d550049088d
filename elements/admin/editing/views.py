"""Pages that create, change and delete elements, with the functions that the API calls (D15, D19)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from elements.admin.detail import office_context
from elements.admin.editing.forms import ElementForm, FormFindings
from elements.admin.labels import OfficeLabels, element_address, labels_of
from elements.admin.linking import linked_texts
from elements.admin.panels import ElementPage, add_address, find_page, makeable_types
from elements.locks import Lock
from elements.permissions import Permission, needs_permission
from elements.presentation.page_requests import content_writer_of
from elements.reading.rows import VersionRow
from elements.writing.deleting import delete_element, plan_deletion
from elements.writing.findings import Findings
from elements.writing.updating import update_elements
from elements.writing.writers import Writer
from facets.blueprint.definitions import ElementType
from repository_site.core.problems import Conflict, Forbidden, Invalid, NotFound, PreconditionFailed, Problem
from repository_site.core.rest.errors import status_of
from storage.back_office import storage_office
from storage.pages import ReadPage, caller_of

EDIT = "back_office/elements/edit.html"


def same_revision(revision: str) -> Callable[[list[VersionRow | None]], None]:
    """Return a check that refuses a version which has changed since the page was read."""

    def check(rows: list[VersionRow | None]) -> None:
        row = rows[0] if rows else None
        if row is not None and str(row.revision) != revision:
            raise PreconditionFailed(_("Another user has changed this element since you opened it."))

    return check


def edit_view(request: HttpRequest, element: str) -> HttpResponseBase:
    # First lock the configuration, so that the form and the checks use the same one.
    writer = content_writer_of(request) if request.method == "POST" else None
    page = find_page(request, element, request.GET.get("version"))
    require_editable(page)
    form = form_of(page)

    def show(problem: Problem | None = None) -> HttpResponseBase:
        title = _("Edit %(name)s") % {"name": page.name}
        return _render(request, form, title, page.address(), page, problem)

    if writer is None:
        return show()
    form.fill(request.POST)
    if not form.changed:
        messages.info(request, _("Nothing was changed."))
        return _after_saving(request, page)
    problem = save(writer, page.view, form, request.POST.get("revision", ""))
    if problem is None:
        messages.success(request, _("%(name)s was saved.") % {"name": page.name})
        return _after_saving(request, page)
    if isinstance(problem, PreconditionFailed):
        page = find_page(request, page.row.version)
        require_editable(page)
        form = form_of(page)
        form.rebase(request.POST)
        form.problems.append(_stale_text(page))
    return show(problem)


def _after_saving(request: HttpRequest, page: ElementPage) -> HttpResponseBase:
    return redirect(page.address_of("elements_edit") if "_continue" in request.POST else page.address())


def require_editable(page: ElementPage) -> None:
    if not page.is_editable:
        by_state = page.standing.lock in (Lock.ALL, Lock.DIAGRAM)
        raise (Conflict if by_state else Forbidden)(page.lock_text)


def form_of(page: ElementPage) -> ElementForm:
    return ElementForm(page.labels, page.type, page.editable, page.row, page.related)


def save(writer: Writer, view: Any, form: ElementForm, revision: str) -> Problem | None:
    """Save in one transaction. Return the problem, which the form shows as well, or None."""
    findings = FormFindings()
    given = form.element_input()
    if given is None:
        return Invalid(_("Some fields have invalid values."))
    try:
        with transaction.atomic():
            form.saved = update_elements(writer, view, [given], findings, same_revision(revision))[0]
    except PreconditionFailed as problem:
        return problem
    except Problem as problem:
        form.take(problem, findings)
        return problem
    return None


def _stale_text(page: ElementPage) -> str:
    person = page.named.get(page.row.changed_by or "")
    return _(
        "%(who)s has changed this element since you opened it (%(when)s). Your input is kept; all other fields show the"
        " stored values. Check the marked fields and save again."
    ) % {"who": person.name if person else _("Another user"), "when": page.labels.moment(page.row.changed_on)}


def _render(
    request: HttpRequest,
    form: ElementForm,
    title: str,
    cancel: str,
    page: ElementPage | None = None,
    problem: Problem | None = None,
) -> HttpResponseBase:
    if page is not None:
        # All elements that the page names are read before it is rendered.
        _read = page.named
    context = {
        **office_context(request, title),
        "page": page,
        "form": form,
        "rows": form.shown_rows(),
        "cancel": cancel,
    }
    return ReadPage(request, EDIT, context, status=status_of(problem) if problem else 200)


def add_view(request: HttpRequest) -> HttpResponseBase:
    writer = content_writer_of(request, Permission.NEW) if request.method == "POST" else None
    labels, caller = labels_of(request), caller_of(request)
    types = makeable_types(labels, caller)
    if not types:
        raise Forbidden(needs_permission(Permission.NEW))
    parent = request.GET.get("parent", "")
    above = find_page(request, parent) if parent else None
    if above is not None:
        types = [each for each in types if above.type.key in each.parents]
    type = next((each for each in types if each.key == request.GET.get("type")), None)
    if type is None:
        if request.GET.get("type"):
            raise NotFound(_("You cannot create an element of this type here."))
        return _choose_type(request, labels, types, above)
    form = ElementForm(labels, type, parent=above.row.element if above else None)
    title = _("Add: %(type)s") % {"type": labels.type(type)}
    cancel = above.address() if above else reverse("admin:elements_element_changelist")
    if writer is None:
        return _render(request, form, title, cancel)
    form.fill(request.POST)
    view = labels.reader.addresses.detail_view(type)
    problem = save(writer, view, form, "")
    if problem is not None:
        return _render(request, form, title, cancel, problem=problem)
    messages.success(request, _("The element was created."))
    return redirect(reverse("admin:elements_element_change", args=[form.saved]))


def _choose_type(
    request: HttpRequest, labels: OfficeLabels, types: list[ElementType], above: ElementPage | None
) -> HttpResponseBase:
    parent = above.row.element if above else ""
    facets = []
    for facet in labels.configuration.blueprint.facets:
        choices = [
            (labels.type(each), labels.text(each.descriptions, ""), each.color, add_address(each.key, parent))
            for each in types
            if each.facet == facet.name
        ]
        if choices:
            facets.append({"name": labels.facet(facet.name), "types": choices})
    context = {**office_context(request, _("Add an element")), "facets": facets, "above": above}
    return TemplateResponse(request, "back_office/elements/choose_type.html", context)


def delete_view(request: HttpRequest, element: str) -> HttpResponseBase:
    """List obstacles and everything that will be deleted before asking for confirmation."""
    writer = content_writer_of(request, Permission.DELETE) if request.method == "POST" else None
    page = find_page(request, element, request.GET.get("version"))
    if not page.is_deletable and writer is None:
        raise Forbidden(page.lock_text or needs_permission(Permission.DELETE))
    problem: Problem | None = None
    if writer is not None:
        try:
            with transaction.atomic():
                check = same_revision(request.POST.get("revision", ""))
                deletion = delete_element(writer, page.row, Findings(), check)
        except Forbidden:
            raise
        except Problem as found:
            problem = found
        else:
            messages.success(request, _("%(name)s was deleted.") % {"name": page.name})
            if deletion.is_whole:
                return redirect(f"{reverse('admin:elements_element_changelist')}{_list_query(request)}")
            return redirect(element_address(page.row.element))
    plan = plan_deletion(page.labels.reader.types, page.row)
    context = {
        **office_context(request, _("Delete %(name)s") % {"name": page.name}),
        "page": page,
        "plan": plan,
        "living": sorted(each.name for each in page.labels.elements(plan.living).values()),
        "obstacles": linked_texts(page.labels, plan.obstacles()),
        "problems": linked_texts(page.labels, problem.details if problem else ()),
        "cancel": page.address(),
    }
    status = status_of(problem) if problem else 200
    return TemplateResponse(request, "back_office/elements/delete.html", context, status=status)


def _list_query(request: HttpRequest) -> str:
    """Return the filters of the list that the browser has kept (D425)."""
    query = request.POST.get("list", "").removeprefix("?")
    return f"?{query}" if query else ""


storage_office.add_page("elements/element/<str:element>/edit/", edit_view, "elements_edit")
