"""Hand over everything of one person to another (D474): choose both, then read the preview and run it.

Preview and report are pages of bulk changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elements.admin.bulk.pages import begin
from elements.admin.detail import office_context
from elements.admin.editing.fields import Field, render_field
from elements.admin.labels import labels_of
from facets.blueprint.private_content import USER_TYPE
from facets.configuration import configuration_of
from release.handing_over.steps import HAND_OVER, NEW, OLD, check_people, held_by, holding
from repository_site.core.problems import Invalid, Problem, placed
from repository_site.core.rest.errors import status_of
from repository_site.core.wording import GUID
from storage.access.user_directory import user_names
from storage.back_office import NavigationEntry, NavigationGroup, storage_office
from storage.back_office.sites import require_administrator
from storage.models import StorageMembership
from storage.options import Role
from storage.pages import storage_of

PAGE = "release_hand_over"
# Deactivated people that the page looks at, the last members first, and those that it names.
MOST_LEFT = 2000
MOST_SHOWN = 50


def hand_over_view(request: HttpRequest) -> HttpResponseBase:
    require_administrator(request)
    given = request.POST if request.method == "POST" else request.GET
    people = {name: given.get(name, "").lower() for name in (OLD, NEW)}
    problem: Problem | None = None
    if request.method == "POST":
        try:
            with transaction.atomic():
                return _preview(request, people)
        except Problem as found:
            problem = found
    details = problem.details if problem else ()
    errors = {name: [_without(name, each) for each in details if each.startswith(f"{name}: ")] for name in people}
    context = {
        **office_context(request, _("Hand over"), is_below_list=False),
        "fields": _fields(request, people, errors),
        "left": _who_left(request) if request.method != "POST" else [],
        "problems": [each for each in details if not each.startswith((f"{OLD}: ", f"{NEW}: "))],
    }
    status = status_of(problem) if problem else 200
    return TemplateResponse(request, "back_office/elements/hand_over.html", context, status=status)


def _who_left(request: HttpRequest) -> list[tuple[str, str]]:
    """Return ids and names of people whose accounts were deactivated, and who have something to hand over (D545)."""
    storage = storage_of(request)
    found = StorageMembership.objects.filter(storage=storage, account__is_active=False).exclude(user_id=None)
    users = list(found.order_by("-pk").values_list("user_id", flat=True)[:MOST_LEFT])
    left = sorted(holding(configuration_of(storage), [each for each in users if each]))[:MOST_SHOWN]
    return sorted(((str(id), name) for id, name in user_names(storage, left).items()), key=lambda each: each[1])


def _preview(request: HttpRequest, people: Mapping[str, str]) -> HttpResponseBase:
    missing = [placed(name, _("Choose a person.")) for name, id in people.items() if not GUID.fullmatch(id)]
    if missing:
        raise Invalid(missing[0], missing)
    old = UUID(people[OLD])
    check_people(old, UUID(people[NEW]))
    elements = held_by(configuration_of(storage_of(request)), old)
    if not elements:
        raise Invalid(placed(OLD, _("This person has nothing to hand over.")))
    return begin(request, [{HAND_OVER: dict(people)}], elements, dry_run=True)


def _fields(
    request: HttpRequest, people: Mapping[str, str], errors: Mapping[str, list[str]]
) -> list[dict[str, object]]:
    labels = labels_of(request)
    named = labels.elements(each for each in people.values() if GUID.fullmatch(each))
    titles = {OLD: _("Person who leaves"), NEW: _("Person who takes over")}
    chooses = f"{reverse('admin:elements_choices')}?types={USER_TYPE}"
    return [
        {
            "name": name,
            "label": titles[name],
            "errors": errors[name],
            "html": render_field(
                labels,
                Field(name, name, chooses=chooses, most=1),
                id if id in named else "",
                named,
                [f"errors-{name}"] if errors[name] else [],
            ),
        }
        for name, id in people.items()
    ]


def _without(name: str, text: str) -> str:
    text = text.removeprefix(f"{name}: ")
    return text[:1].upper() + text[1:]


storage_office.add_page("handover/", hand_over_view, PAGE)
storage_office.add_navigation(
    NavigationEntry(
        NavigationGroup.ACCESS,
        gettext_lazy("Hand over"),
        "move_up",
        PAGE,
        roles=frozenset({Role.ADMINISTRATOR}),
    )
)
