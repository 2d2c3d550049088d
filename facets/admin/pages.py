"""Pages about the configuration as a whole: how it differs from its template, and the template that it would make."""

from __future__ import annotations

import re
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from facets import models
from facets.admin.drafting.desk import Desk, desk_of
from facets.admin.drafting.fields import may_edit
from facets.admin.drafting.links import change_address
from facets.admin.words import place_in_words
from facets.blueprint.differences import Difference, find_differences
from facets.changing.changes import find_obstacles, rewrite_configuration
from facets.changing.checking import check_blueprint
from facets.changing.comparing import Entry as ComparedEntry
from facets.changing.comparing import entries, take_over, template_of
from facets.models.base import ConfigurationModel
from facets.template_format.exporting import export_template
from repository_site.core.problems import Conflict, Invalid
from repository_site.core.rest.rendering import JSON_TYPE
from storage.back_office import NavigationEntry, NavigationGroup, storage_office
from storage.back_office.sites import require_administrator
from storage.pages import storage_of

SECTION_NAMES = {
    "facets": gettext_lazy("Facets and views"),
    "types": gettext_lazy("Types"),
    "layouts": gettext_lazy("Layouts"),
    "cycles": gettext_lazy("Release cycles"),
    "rules": gettext_lazy("Validation rules"),
}
SECTION_MODELS: dict[str, type[ConfigurationModel]] = {
    "facets": models.Facet,
    "types": models.ElementType,
    "layouts": models.Layout,
    "cycles": models.ReleaseCycle,
    "rules": models.ValidationRule,
}


def compare(request: HttpRequest) -> HttpResponseBase:
    """The storage beside its template: what is only here, only there, and what both say differently."""
    storage, desk = storage_of(request), desk_of(request)
    _set_trail(request)
    context: dict[str, Any] = {
        **storage_office.each_context(request),
        "title": _("Compare with template"),
        "template": storage.template,
        "may_edit": may_edit(request),
    }
    try:
        found = entries(find_differences(template_of(storage), desk.blueprint))
    except Invalid as problem:
        return render(request, "back_office/configuration/compare.html", {**context, "problem": problem})
    sections = [
        {
            "name": SECTION_NAMES[section],
            "section": section,
            "entries": [_shown(desk, entry) for entry in found if entry.section == section],
        }
        for section in SECTION_NAMES
        if any(entry.section == section for entry in found)
    ]
    return render(request, "back_office/configuration/compare.html", {**context, "sections": sections})


def _shown(desk: Desk, entry: ComparedEntry) -> dict[str, Any]:
    model = SECTION_MODELS[entry.section]
    row = next(
        (each for each in desk.rows.table(model) if (getattr(each, "name", None) or each.key) == entry.name), None
    )
    return {
        "entry": entry,
        "name": entry.name or _("Order"),
        "address": change_address(model(id=row.id)) if row else "",
        "lines": [_line(each) for each in entry.differences],
    }


def _line(difference: Difference) -> dict[str, Any]:
    before, after = _value(difference.before), _value(difference.after)
    shared = set(before) & set(after)
    return {
        "place": place_in_words(difference.path[2:]) or _("order"),
        "sign": difference.sign,
        "is_order": difference.is_order,
        # Of texts only the cultures that differ; a list shows all that it names.
        "before": [part for part in before if not part[0] or part not in shared],
        "after": [part for part in after if not part[0] or part not in shared],
    }


def _value(value: Any) -> list[tuple[str, str]]:
    """Texts a culture each, lists one name each, and whatever else there is."""
    if isinstance(value, tuple):
        return [(str(part[0]), part[1]) if isinstance(part, tuple) else ("", str(part)) for part in value]
    if isinstance(value, bool):
        return [("", _("yes") if value else _("no"))]
    return [] if value in ("", None) else [("", str(value))]


def take(request: HttpRequest) -> HttpResponseBase:
    """Bring one entry back to what the template says: shown first, done when it is posted."""
    require_administrator(request)
    storage, desk = storage_of(request), desk_of(request)
    section, name = request.GET.get("section", ""), request.GET.get("name", "")
    template = template_of(storage)
    _set_trail(request, name)
    new = take_over(desk.blueprint, template, section, name)
    problems = check_blueprint(new, desk.cultures)
    obstacles = [] if problems else find_obstacles(desk.blueprint, new)
    if request.method == "POST":
        try:
            rewrite_configuration(storage, lambda current: take_over(current, template, section, name))
            messages.success(request, _("%(name)s is as in the template again.") % {"name": name})
            return HttpResponseRedirect(reverse("admin:configuration_compare"))
        except Invalid as problem:
            problems = list(problem.details)
        except Conflict as problem:
            obstacles = list(problem.details)
    context = {
        **storage_office.each_context(request),
        "title": _("Take over from the template"),
        "name": name,
        "differences": find_differences(desk.blueprint, new),
        "problems": problems,
        "obstacles": obstacles,
    }
    return render(request, "back_office/configuration/take.html", context)


def _set_trail(request: HttpRequest, *last: str) -> None:
    parts = [(_("Compare with template"), reverse("admin:configuration_compare")), *((title, "") for title in last)]
    request.trail = [{"title": title, "link": link} for title, link in parts]  # type: ignore[attr-defined]  # for the head


def export(request: HttpRequest) -> HttpResponseBase:
    """What `manage.py export_template` prints, as a file."""
    storage = storage_of(request)
    response = HttpResponse(export_template(storage), content_type=JSON_TYPE)
    name = re.sub(r"[^\w.-]", "-", f"{storage.collection.key}-{storage.key}")
    response["Content-Disposition"] = f'attachment; filename="{name}.json"'
    return response


storage_office.add_page("configuration/compare/", compare, "configuration_compare")
storage_office.add_page("configuration/compare/take/", take, "configuration_take")
storage_office.add_page("configuration/export/", export, "configuration_export")
storage_office.add_navigation(
    NavigationEntry(
        NavigationGroup.CONFIGURATION, gettext_lazy("Compare with template"), "difference", "configuration_compare"
    ),
)
