"""Comparison of a storage with its template, to show what was changed since it was provisioned."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from facets.blueprint.definitions import Blueprint
from facets.blueprint.differences import BlueprintDifference
from facets.template_format.reading import read_template
from repository_site.core.problems import Invalid, NotFound
from storage.models import Storage
from storage.provisioning.templates import load_template, template_names

# The sections of a blueprint, and the field that names an entry.
SECTIONS = {"facets": "name", "types": "key", "layouts": "key", "cycles": "key", "rules": "key"}


@dataclass(frozen=True, slots=True)
class ComparedEntry:
    """The differences of one entry, such as a type. With the sign `+` or `-` only one side has it."""

    section: str
    name: str
    sign: str
    differences: tuple[BlueprintDifference, ...]


def template_of(storage: Storage) -> Blueprint:
    """Return the template of a storage; raise Invalid if it came from a file that is not installed."""
    if storage.template not in template_names():
        known = ", ".join(template_names())
        text = _("This installation has no template %(name)r. Its templates are: %(known)s.")
        raise Invalid(text % {"name": storage.template, "known": known})
    return read_template(load_template(storage.template).sections)


def entries(differences: Iterable[BlueprintDifference]) -> list[ComparedEntry]:
    found: dict[tuple[str, str], list[BlueprintDifference]] = {}
    for each in differences:
        found.setdefault((each.path[0], each.path[1] if len(each.path) > 1 else ""), []).append(each)
    return [_entry(section, name, parts) for (section, name), parts in found.items()]


def _entry(section: str, name: str, parts: list[BlueprintDifference]) -> ComparedEntry:
    whole = next((each for each in parts if len(each.path) == 2 and each.sign != "~"), None)
    return ComparedEntry(section, name, whole.sign if whole else "~", () if whole else tuple(parts))


def take_over(current: Blueprint, template: Blueprint, section: str, name: str) -> Blueprint:
    """Return the current configuration with one entry of the template, or without it if the template has none."""
    if section not in SECTIONS:
        raise NotFound(_("There is no section %(name)s.") % {"name": section[:100]})
    wanted = _named(getattr(template, section), section).get(name)
    there: tuple[Any, ...] = getattr(current, section)
    if name in _named(there, section):
        changed = [wanted if each is _named(there, section)[name] else each for each in there]
    elif wanted is not None:
        changed = [*there, wanted]
    else:
        raise NotFound(_("Neither the template nor the storage has %(name)s.") % {"name": name[:100]})
    return replace(current, **{section: tuple(each for each in changed if each is not None)})


def _named(items: Iterable[Any], section: str) -> dict[str, Any]:
    return {getattr(each, SECTIONS[section]): each for each in items}
