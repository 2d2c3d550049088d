"""Pages about the whole configuration: comparison with its template, and export as a template."""

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
from facets.admin.comparison_words import place_in_words
from facets.admin.drafting.admin_mixin import may_edit
from facets.admin.drafting.row_links import change_address
from facets.admin.drafting.snapshot import name_of, snapshot_of
from facets.blueprint.differences import BlueprintDifference, find_differences
from facets.changing.blueprint_checks import check_blueprint
from facets.changing.changes import find_obstacles, rewrite_configuration
from facets.changing.comparing import ComparedEntry, entries, take_over, template_of
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
    """Show entries that only the storage or only the template has, and those that differ."""
    storage, snapshot = storage_of(request), snapshot_of(request)
    _set_trail(request)
    context: dict[str, Any] = {
        **storage_office.each_context(request),
        "title": _("Compare with template"),
        "template": storage.template,
        "may_edit": may_edit(request),
    }
    try:
        found = entries(find_differences(template_of(storage), snapshot.stored.blueprint))
    except Invalid as problem:
        return render(request, "back_office/configuration/compare.html", {**context, "problem": problem})
    ids = {
        section: {name_of(row): row.id for row in snapshot.rows.table(SECTION_MODELS[section])}
        for section in SECTION_NAMES
    }
    sections = [
        {
            "name": SECTION_NAMES[section],
            "section": section,
            "entries": [_shown(entry, ids[section].get(entry.name)) for entry in found if entry.section == section],
        }
        for section in SECTION_NAMES
        if any(entry.section == section for entry in found)
    ]
    return render(request, "back_office/configuration/compare.html", {**context, "sections": sections})


def _shown(entry: ComparedEntry, row_id: str | None) -> dict[str, Any]:
    return {
        "entry": entry,
        "name": entry.name or _("Order"),
        "address": change_address(SECTION_MODELS[entry.section](id=row_id)) if row_id else "",
        "lines": [_line(each) for each in entry.differences],
    }


def _line(difference: BlueprintDifference) -> dict[str, Any]:
    before, after = _value(difference.before), _value(difference.after)
    shared = set(before) & set(after)
    return {
        "place": place_in_words(difference.path[2:]) or _("order"),
        "sign": difference.sign,
        "is_order": difference.is_order,
        # Texts show only the cultures that differ; lists show all entries.
        "before": [part for part in before if not part[0] or part not in shared],
        "after": [part for part in after if not part[0] or part not in shared],
    }


def _value(value: Any) -> list[tuple[str, str]]:
    """Split a value into pairs of culture and text; the culture is empty unless the value has texts by culture."""
    if isinstance(value, tuple):
        return [(str(part[0]), part[1]) if isinstance(part, tuple) else ("", str(part)) for part in value]
    if isinstance(value, bool):
        return [("", _("yes") if value else _("no"))]
    return [] if value in ("", None) else [("", str(value))]


def take(request: HttpRequest) -> HttpResponseBase:
    """Restore one entry from the template: GET shows the changes, POST applies them."""
    require_administrator(request)
    storage, snapshot = storage_of(request), snapshot_of(request)
    section, name = request.GET.get("section", ""), request.GET.get("name", "")
    template = template_of(storage)
    _set_trail(request, name)
    new = take_over(snapshot.stored.blueprint, template, section, name)
    problems = check_blueprint(new, snapshot.cultures)
    obstacles = [] if problems else find_obstacles(snapshot.stored.blueprint, new)
    if request.method == "POST":
        try:
            rewrite_configuration(storage, lambda current: take_over(current, template, section, name))
            messages.success(request, _("%(name)s matches the template again.") % {"name": name})
            return HttpResponseRedirect(reverse("admin:configuration_compare"))
        except Invalid as problem:
            problems = list(problem.details)
        except Conflict as problem:
            obstacles = list(problem.details)
    context = {
        **storage_office.each_context(request),
        "title": _("Reset to the template"),
        "name": name,
        "differences": find_differences(snapshot.stored.blueprint, new),
        "problems": problems,
        "obstacles": obstacles,
    }
    return render(request, "back_office/configuration/take.html", context)


def _set_trail(request: HttpRequest, *last: str) -> None:
    parts = [(_("Compare with template"), reverse("admin:configuration_compare")), *((title, "") for title in last)]
    request.trail = [{"title": title, "link": link} for title, link in parts]  # type: ignore[attr-defined]  # for the head


def export(request: HttpRequest) -> HttpResponseBase:
    """Download the output of `manage.py export_template`."""
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
