"""Pages of bulk changes: choose an operation for selected elements, preview it, run it, and read its report.

A preview is a stored run that changes nothing. Its page offers to run the same operation on the same elements.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any
from uuid import UUID

from django.contrib.admin.options import IncorrectLookupParameters
from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from elements.admin.bulk.choosing import COMMENT, IGNORE, choice_groups, find_choice, read_choice, shown_fields
from elements.admin.bulk.texts import STATES, operation_texts, reason_texts
from elements.admin.detail import office_context
from elements.admin.labels import OfficeLabels, labels_of
from elements.bulk.operations import DELETE
from elements.bulk.runs import MOST, BulkRequest, find_run, request_bulk, require_bulk, stop_run, whole_view
from elements.models import BulkRefusal, BulkRun, Element
from elements.presentation.page_requests import writer_of
from facets.blueprint.definitions import ElementType
from repository_site.core.database.statements import fetch
from repository_site.core.problems import Invalid, NotFound, Unreadable
from repository_site.core.wording import GUID
from storage.access.staff import staff_names
from storage.back_office import storage_office
from storage.options import Role
from storage.pages import caller_of, storage_of

ELEMENT, SCOPE, LIST, WHAT, PREVIEW, STOP = "element", "scope", "list", "what", "preview", "stop"
SELECTED, ALL = "selected", "all"
PAGE_SIZE, MOST_LISTED = 100, 100


def bulk_view(request: HttpRequest, selected: Sequence[str] | None = None) -> HttpResponseBase:
    """Choose an operation, then its values, then begin the preview. Each page sends the selection along."""
    require_bulk(caller_of(request))
    given = request.POST if request.method == "POST" else request.GET
    named: Sequence[str] = given.getlist(ELEMENT) if selected is None else selected
    ids = list(dict.fromkeys(each.lower() for each in named if GUID.fullmatch(each)))
    query = given.get(LIST) if LIST in given else request.GET.urlencode()
    scope = given.get(SCOPE) or (SELECTED if ids else ALL)
    labels, listed = labels_of(request), list_of(request, query or "")
    number, types = numbers_of(request, listed)
    if (not ids) if scope == SELECTED else (number == 0):
        raise NotFound(_("No elements are selected."))
    if scope == SELECTED:
        types = types_of(labels, ids)
    groups = choice_groups(labels, types)
    choice = find_choice(groups, given.get(WHAT, "")) if request.method == "POST" else None
    operation, errors = read_choice(choice, request.POST) if choice else ({}, {})
    is_ready = choice is not None and not errors and (PREVIEW in request.POST or not choice.needs_values)
    is_cut = number is not None and number > MOST
    chosen = ids
    if choice is not None and scope == ALL and (is_ready or number is None):
        chosen = matching(labels, listed)
        is_cut = len(chosen) > MOST
    if is_cut and scope == ALL:
        if PREVIEW not in request.POST:
            # Ask for no values of a change that will be refused. A browser does not send a disabled choice.
            choice, scope = None, SELECTED if ids else ALL
    elif is_ready:
        if not chosen:
            raise NotFound(_("No elements are selected."))
        return begin(request, [operation], chosen, dry_run=True)
    shown = shown_fields(labels, choice, request.POST, errors if PREVIEW in request.POST else {}) if choice else []
    context = {
        **office_context(request, _("Change elements")),
        "ids": ids,
        "list": query,
        "scope": scope,
        "number_selected": len(ids),
        "number_matching": number,
        "is_cut": is_cut,
        "most": MOST,
        "comment": given.get(COMMENT, ""),
        "ignores_warnings": IGNORE in given,
        "groups": groups,
        "choice": choice,
        "fields": shown,
        "has_rich_text": any(each.field.is_rich_text for each in shown),
        "back": f"{reverse('admin:elements_element_changelist')}?{query}",
    }
    return TemplateResponse(request, "back_office/elements/bulk.html", context)


def list_of(request: HttpRequest, query: str) -> Any:
    """Return the list with this query string, without its rows."""
    given, request.GET = request.GET, QueryDict(query)  # the list reads its filters there
    try:
        admin: Any = storage_office.get_model_admin(Element)
        return admin.whole_list(request)
    except IncorrectLookupParameters as problem:
        raise Unreadable(_("The address of the list contains an unknown filter. Open the list again.")) from problem
    finally:
        request.GET = given


def numbers_of(request: HttpRequest, listed: Any) -> tuple[int | None, list[ElementType]]:
    """Return the number of elements of a list, at most one more than a bulk change can have, and their types. If
    counting would test too many elements, return None and the types that the filters allow."""
    labels = labels_of(request)
    found = listed.all_elements(labels)
    if found is not None:
        return len(found), types_of(labels, [str(each) for each in found])
    numbers = listed.count_types(request, MOST + 1)
    if numbers is None:
        possible = listed.possible_types()
        return None, [each for key, each in labels.configuration.types.items() if key in possible]
    return sum(numbers.values()), _types_with(labels, numbers)


def matching(labels: OfficeLabels, listed: Any) -> list[str]:
    """Return the elements of a list, at most one more than a bulk change can have."""
    ids = listed.all_elements(labels)
    if ids is None:
        ids = listed.queryset.values_list("id", flat=True)[: MOST + 1]
    return [str(each) for each in ids]


def types_of(labels: OfficeLabels, elements: Sequence[str]) -> list[ElementType]:
    sql = "SELECT DISTINCT e.type_id::text FROM elements_element e WHERE e.id = ANY(%s::uuid[])"
    return _types_with(labels, {row[0] for row in fetch(sql, [list(elements)])})


def _types_with(labels: OfficeLabels, found: Container[str]) -> list[ElementType]:
    ids = labels.configuration.type_ids
    return [type for key, type in labels.configuration.types.items() if str(ids[key]) in found]


def begin(
    request: HttpRequest, operations: Sequence[Any], elements: Sequence[str], *, dry_run: bool
) -> HttpResponseBase:
    """Begin a preview or a run, and show its report."""
    writer, labels = writer_of(request), labels_of(request)
    view = whole_view(labels.configuration)
    wanted = BulkRequest(view, operations, elements, dry_run=dry_run)
    run, _refusals = request_bulk(storage_of(request), writer, wanted, is_kept=True)
    return redirect("admin:elements_bulk_report", run.id)


def report_view(request: HttpRequest, run: UUID) -> HttpResponseBase:
    """Show the progress and the result of a run. An unfinished one can be stopped; a finished preview can be run."""
    labels, caller = labels_of(request), caller_of(request)
    found = find_run(caller, run)
    is_finished = found.finished_on is not None
    can_run = is_finished and found.is_dry_run and found.changed > 0 and found.state == BulkRun.State.DONE
    if request.method == "POST" and STOP in request.POST:
        stop_run(caller, found)
        return redirect("admin:elements_bulk_report", found.id)
    if request.method == "POST":
        if not can_run or found.caller_label != caller.label:
            raise Invalid(_("Only the person who made a preview can run it."))
        elements = BulkRun.objects.values_list("elements", flat=True).get(id=found.id)
        return begin(request, found.operations, [str(each) for each in elements], dry_run=False)
    number = request.GET.get("page", "1")
    page = max(1, int(number)) if number.isascii() and number.isdecimal() and len(number) < 7 else 1
    start = (page - 1) * PAGE_SIZE
    refusals = list(BulkRefusal.objects.filter(run=found).order_by("place")[start : start + PAGE_SIZE])
    named = labels.elements(str(each.element_id) for each in refusals)
    title = _("Preview of a bulk change") if found.is_dry_run else _("Bulk change")
    is_deletion = any(DELETE in each for each in found.operations)
    run_text = ngettext("Change %(number)s element", "Change %(number)s elements", found.changed)
    if is_deletion:
        run_text = ngettext("Delete %(number)s element", "Delete %(number)s elements", found.changed)
    context = {
        **office_context(request, title),
        "run": found,
        "operations": operation_texts(labels, [found])[0],
        "state": STATES[BulkRun.State(found.state)],
        "is_finished": is_finished,
        "can_run": can_run and found.caller_label == caller.label,
        "is_dangerous": is_deletion,
        "rows": [
            (named.get(str(each.element_id)), str(each.element_id), reasons)
            for each, reasons in zip(refusals, reason_texts(labels, refusals), strict=True)
        ],
        "page_number": page,
        "has_next": found.refused > start + PAGE_SIZE,
        "percent": 100 * found.processed // found.total if found.total else 100,
        "run_text": run_text % {"number": found.changed},
        "list_address": reverse("admin:elements_element_changelist"),
    }
    return TemplateResponse(request, "back_office/elements/bulk_report.html", context)


def runs_view(request: HttpRequest) -> HttpResponseBase:
    """List the latest runs of the visitor, or of everybody for administrators."""
    labels, caller = labels_of(request), caller_of(request)
    require_bulk(caller)
    runs = BulkRun.objects.defer("elements").order_by("-created_on", "-id")
    if Role.ADMINISTRATOR not in caller.roles:
        runs = runs.filter(caller_label=caller.label)
    found = list(runs[:MOST_LISTED])
    accounts = staff_names({each.caller_label for each in found})
    people = labels.elements(str(each.caller_id) for each in found if each.caller_id)
    rows = []
    for each, texts in zip(found, operation_texts(labels, found), strict=True):
        person = people.get(str(each.caller_id))
        what = "; ".join(texts)
        who = person.name if person else accounts.get(each.caller_label, each.caller_label)
        state, when = STATES[BulkRun.State(each.state)], labels.moment(each.created_on)
        rows.append({"run": each, "what": what, "state": state, "who": who, "when": when})
    context = {**office_context(request, _("Bulk changes"), is_below_list=False), "rows": rows}
    return TemplateResponse(request, "back_office/elements/bulk_runs.html", context)


def begin_action(admin: Any, request: HttpRequest, elements: Any) -> HttpResponseBase:
    """The action of the list: change the elements that are selected there."""
    is_whole = request.POST.get("select_across") == "1"
    return bulk_view(request, [] if is_whole else [str(each) for each in elements.values_list("id", flat=True)])


storage_office.add_page("elements/bulk/", bulk_view, "elements_bulk")
storage_office.add_page("elements/bulk/runs/", runs_view, "elements_bulk_runs")
storage_office.add_page("elements/bulk/<uuid:run>/", report_view, "elements_bulk_report")
