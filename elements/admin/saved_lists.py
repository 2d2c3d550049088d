"""Saved lists and chosen columns of the element list (D475). Both are the query string of the list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.admin.views.main import PAGE_VAR
from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from elements.models import SavedList
from repository_site.core.database.statements import Question, models_of
from repository_site.core.problems import Invalid
from repository_site.core.wording import clean_text
from storage.back_office import storage_office
from storage.pages import caller_of

COLUMNS, LIST = "columns", "list"
MOST_LISTS, LONGEST_QUERY = 50, 4_000


def chosen_columns(request: HttpRequest, known: Sequence[str], usual: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that the address of the list names, in their usual order; the name is always shown."""
    given = request.GET.get(COLUMNS)
    wanted = set(usual) if given is None else {known[0], *given.split(",")}
    return tuple(each for each in known if each in wanted)


def saved_lists(request: HttpRequest) -> Question[list[SavedList]]:
    return models_of(SavedList.objects.filter(owner_label=caller_of(request).label).order_by("name"))


def save_view(request: HttpRequest) -> HttpResponseBase:
    """Save the list under a name; the same name replaces an earlier list."""
    name, label = clean_text(request.POST.get("name", ""), 100), caller_of(request).label
    if len(request.POST.get(LIST, "")) > LONGEST_QUERY:
        raise Invalid(_("The list has too many filters to be saved."))
    query = _without_page(request.POST.get(LIST, ""))
    if not name:
        messages.error(request, _("Enter a name for the list."))
        return _back(query)
    others = SavedList.objects.filter(owner_label=label).exclude(name=name)
    if others.count() >= MOST_LISTS:
        raise Invalid(_("You can save at most %(most)d lists; delete one first.") % {"most": MOST_LISTS})
    fields: dict[str, Any] = {"query": query, "created_on": timezone.now()}
    SavedList.objects.update_or_create(owner_label=label, name=name, defaults=fields)
    messages.success(request, _("The list %(name)s was saved.") % {"name": name})
    return _back(query)


def delete_view(request: HttpRequest, saved: UUID) -> HttpResponseBase:
    SavedList.objects.filter(id=saved, owner_label=caller_of(request).label).delete()
    return _back(_without_page(request.POST.get(LIST, "")))


def columns_view(request: HttpRequest) -> HttpResponseBase:
    """Lead from the form with a box for each column to the list that has these columns."""
    given = QueryDict(request.GET.get(LIST, "")[:LONGEST_QUERY], mutable=True)
    for name in (COLUMNS, PAGE_VAR, "o"):
        given.pop(name, None)
    given[COLUMNS] = ",".join(request.GET.getlist("column"))
    return _back(given.urlencode())


def _without_page(query: str) -> str:
    given = QueryDict(query[:LONGEST_QUERY], mutable=True)
    given.pop(PAGE_VAR, None)
    return urlencode([(name, value) for name, values in given.lists() for value in values])


def _back(query: str) -> HttpResponseBase:
    return redirect(f"{reverse('admin:elements_element_changelist')}?{query}")


storage_office.add_page("elements/lists/save/", require_POST(save_view), "elements_save_list")
storage_office.add_page("elements/lists/<uuid:saved>/delete/", require_POST(delete_view), "elements_delete_list")
storage_office.add_page("elements/lists/columns/", columns_view, "elements_columns")
