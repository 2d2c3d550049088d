"""The page on which administrators add, change and remove data cultures (D483)."""

from __future__ import annotations

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from elements.admin.detail import office_context
from elements.admin.labels import CultureLabel, labels_of
from elements.cultures.changing import add_culture, remove_culture, set_mandatory
from elements.cultures.uses import TESTED, find_uses
from repository_site.core.problems import Invalid, NotFound, Problem
from repository_site.core.rest.errors import status_of
from storage.admin.provisioning_forms import culture_names
from storage.back_office import NavigationEntry, NavigationGroup, storage_office
from storage.back_office.sites import require_administrator
from storage.options import Role
from storage.pages import storage_of

PAGE, REMOVAL = "elements_cultures", "elements_culture_removal"


def cultures_view(request: HttpRequest) -> HttpResponseBase:
    require_administrator(request)
    problem: Problem | None = None
    if request.method == "POST":
        try:
            with transaction.atomic():
                text = _change(request)
        except Problem as found:
            problem = found
        else:
            messages.success(request, text)
            return redirect(f"admin:{PAGE}")
    labels = labels_of(request)
    known = {each.lcid for each in labels.cultures}
    choices = [choice for choice in culture_names(get_language() or "en") if choice[0] not in known]
    context = {
        **office_context(request, _("Cultures"), is_below_list=False),
        "cultures": labels.cultures,
        "choices": choices,
        "problems": problem.details if problem else (),
    }
    status = status_of(problem) if problem else 200
    return TemplateResponse(request, "back_office/elements/cultures.html", context, status=status)


def _change(request: HttpRequest) -> str:
    """Make the change that a button asks for, and return what was done."""
    storage, action = storage_of(request), request.POST.get("action", "")
    lcid = _lcid(request.POST.get("culture", ""))
    if action == "add":
        add_culture(storage, lcid, is_mandatory="mandatory" in request.POST)
        return _("The culture was added.")
    if action in ("mandatory", "optional"):
        set_mandatory(storage, lcid, is_mandatory=action == "mandatory")
        return _("The culture is now mandatory.") if action == "mandatory" else _("The culture is now optional.")
    raise Invalid(_("Choose what to change."))


def _lcid(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 7):
        raise Invalid(_("Choose a culture."))
    return int(text)


def removal_view(request: HttpRequest, lcid: int) -> HttpResponseBase:
    """Show what uses a culture, and remove it with its values if that is confirmed."""
    require_administrator(request)
    labels = labels_of(request)
    culture = next((each for each in labels.cultures if each.lcid == lcid), None)
    if culture is None:
        raise NotFound(_("The storage has no culture %(id)s.") % {"id": lcid})
    problem: Problem | None = None
    if request.method == "POST":
        try:
            with transaction.atomic():
                # Values only if the page has said that there are, or may be, some.
                removed = remove_culture(storage_of(request), lcid, with_values="with_values" in request.POST)
        except Problem as found:
            problem = found
        else:
            messages.success(request, _removed(culture, is_used=bool(removed)))
            return redirect(f"admin:{PAGE}")
    uses = find_uses(lcid, is_estimate=True)
    context = {
        **office_context(request, _("Remove the culture %(name)s") % {"name": culture.name}, is_below_list=False),
        "culture": culture,
        "uses": list(uses.texts()),
        "may_be_more": uses.may_be_more,
        "most_tested": TESTED,
        "problems": problem.details if problem else (),
    }
    status = status_of(problem) if problem else 200
    return TemplateResponse(request, "back_office/elements/remove_culture.html", context, status=status)


def _removed(culture: CultureLabel, *, is_used: bool) -> str:
    if is_used:
        text = _("The culture %(name)s was removed. Its values are removed in the background.")
    else:
        text = _("The culture %(name)s was removed.")
    return text % {"name": culture.name}


storage_office.add_page("cultures/", cultures_view, PAGE)
storage_office.add_page("cultures/<int:lcid>/remove/", removal_view, REMOVAL)
storage_office.add_navigation(
    NavigationEntry(
        NavigationGroup.CONFIGURATION,
        gettext_lazy("Cultures"),
        "language",
        PAGE,
        roles=frozenset({Role.ADMINISTRATOR}),
    )
)
