"""The rules of templates, applied to rows that were edited by hand (D105).

The rows are written as a template and read back. The reader knows every rule and reports every problem with its
place, so no rule is repeated here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from django.utils.translation import gettext as _

from facets.blueprint.definitions import Blueprint
from facets.blueprint.differences import describe_differences
from facets.template_format.reading import read_template
from facets.template_format.writing import write_template
from repository_site.core.problems import Invalid, placed
from storage.localisation.cultures import CultureSet


def check_blueprint(found: Blueprint, cultures: CultureSet) -> list[str]:
    """Return every problem with its place, such as `types.task.properties[3].displayNames: ...`."""
    twice = list(_names_twice(found))
    if twice:
        return twice
    try:
        read = _written_and_read(found, cultures)
    except Invalid as problem:
        return list(problem.details)
    # Whatever a template cannot express was not checked, and would be lost by the next export.
    return [placed(_("cannot be written to a template"), line) for line in describe_differences(found, read)]


def _written_and_read(found: Blueprint, cultures: CultureSet) -> Blueprint:
    # Sharing halves the time, because each shared definition is read once. But in a template, a property of a type
    # replaces a shared one with its key, so sharing would hide a repeated key.
    if all(len(type.properties) == len({each.key for each in type.properties}) for type in found.types):
        with suppress(Invalid):
            return read_template(write_template("check", "check", cultures, found))
    # Without sharing, each problem names the type that it belongs to.
    return read_template(write_template("check", "check", cultures, found, sharing=False))


def _names_twice(found: Blueprint) -> Iterator[str]:
    """Find repeated names first: in a template they are the keys of an object, which cannot repeat."""
    yield from _twice("facets", found.facets, "name")
    for facet in found.facets:
        yield from _twice(f"facets.{facet.name}.views", facet.views, "name")
        for view in facet.views:
            yield from _twice(f"facets.{facet.name}.views.{view.name}.types", view.types, "type")
    yield from _twice("types", found.types, "key")
    yield from _twice("layouts", found.layouts, "key")
    yield from _twice("releaseCycles", found.cycles, "key")
    for cycle in found.cycles:
        yield from _twice(f"releaseCycles.{cycle.key}.states", cycle.states, "key")
        yield from _twice(f"releaseCycles.{cycle.key}.transitions", cycle.transitions, "key")
    yield from _twice("validationRules", found.rules, "key")


def _twice(place: str, items: Iterable[Any], name: str) -> Iterator[str]:
    seen: set[str] = set()
    for item in items:
        key = getattr(item, name)
        if key in seen:
            yield placed(f"{place}.{key}", _("occurs twice"))
        seen.add(key)
