"""Maps the place of a problem, as in a template, to the form and field where it can be corrected."""

from __future__ import annotations

import re
from collections.abc import Iterable

from facets import models
from facets.admin.drafting.row_forms import ConfigurationForm
from facets.admin.drafting.snapshot import FormErrors
from facets.models.base import ConfigurationModel
from facets.rows.reading import Row, Rows


def place_of(model: type[ConfigurationModel], row: Row, rows: Rows) -> str:
    def owner(of: type[ConfigurationModel], row_id: str) -> str:
        return place_of(of, next(each for each in rows[of] if each.id == row_id), rows)

    if model is models.Facet:
        return f"facets.{row.name}"
    if model is models.FacetView:
        return f"{owner(models.Facet, row.facet_id)}.views.{row.name}"
    if model is models.ViewType:
        key = next(each.key for each in rows[models.ElementType] if each.id == row.type_id)
        return f"{owner(models.FacetView, row.view_id)}.typeOverrides.{key}"
    if model is models.Property:
        return f"{owner(models.ElementType, row.type_id)}.properties[{row.position}]"
    if model is models.SelectableValue:
        return f"{owner(models.Property, row.property_id)}.attribute.selectableValues[{row.position}]"
    if model is models.CycleState:
        return f"{owner(models.ReleaseCycle, row.cycle_id)}.states.{row.key}"
    if model is models.Transition:
        return f"{owner(models.ReleaseCycle, row.cycle_id)}.transitions.{row.key}"
    sections = {
        models.ElementType: "types",
        models.Layout: "layouts",
        models.ReleaseCycle: "releaseCycles",
        models.ValidationRule: "validationRules",
    }
    return f"{sections[model]}.{row.key}"


def errors_of(problems: Iterable[str], forms: Iterable[ConfigurationForm], rows: Rows) -> FormErrors:
    """Assign each problem to the field or form of its place, else to the main form with its place."""
    found: FormErrors = {}
    by_place = {}
    for form in forms:
        model = type(form.instance)
        row = next((each for each in rows[model] if each.id == str(form.instance.pk)), None)
        if row is not None:
            by_place[place_of(model, row, rows)] = form
    for problem in problems:
        place, _, text = problem.partition(": ")
        inside = [each for each in by_place if _is_inside(place, each)]
        if not inside:
            found.setdefault(None, []).append((None, problem))
            continue
        nearest = max(inside, key=len)
        form, rest = by_place[nearest], place[len(nearest) :].lstrip(".")
        name = _field_of(rest, form)
        words = text if name or not rest else f"{rest}: {text}"
        found.setdefault(form.prefix, []).append((name, words[:1].upper() + words[1:]))
    return found


def _is_inside(place: str, outer: str) -> bool:
    return place == outer or place.startswith((f"{outer}.", f"{outer}["))


def _field_of(rest: str, form: ConfigurationForm) -> str | None:
    """Return the field of a place; a problem of the entry itself is most often about its name."""
    if not rest:
        return next((name for name in ("key", "name") if name in form.fields), None)
    places = {_camel_case(name): name for name in form.fields} | form.places
    inside = [part for part in places if _is_inside(rest, part)]
    return places[max(inside, key=len)] if inside else None


def _camel_case(name: str) -> str:
    """Return the name of a field in a template, such as releaseCycle for release_cycle_id."""
    return re.sub("_(.)", lambda found: found[1].upper(), name.removesuffix("_id"))
