"""Provisioning by the API (D582): the fields of a request, and all its problems under their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from repository_site.core.problems import Invalid, Unreadable, placed
from repository_site.core.wording import GUID, listed, printable, similar_hint
from storage.models import Storage, StorageCollection
from storage.options import QUOTAS
from storage.provisioning.collection_quotas import further_storage_problem
from storage.provisioning.provision import StorageRequest, provision_storage
from storage.provisioning.templates import template_names

NAME, TEMPLATE, BASE = "name", "template", "baseTenant"
LONGEST_DESCRIPTION = 10_000
# More than there are.
MOST_CULTURES = 1_000
TEXT, NUMBER, NUMBERS, ID = "a text", "a whole number", "a list of culture ids, such as [1031, 1033]", "a GUID"
FIELDS: Mapping[str, tuple[str, str]] = {
    NAME: ("key", TEXT),
    "title": ("title", TEXT),
    "description": ("description", TEXT),
    TEMPLATE: ("template", TEXT),
    "dataCultures": ("cultures", NUMBERS),
    "defaultDataCulture": ("default_culture", NUMBER),
    "mandatoryCultures": ("mandatory_cultures", NUMBERS),
    "region": ("region", TEXT),
    "timeZone": ("time_zone", TEXT),
    "anonymousAccess": ("anonymous", TEXT),
    BASE: ("base", ID),
    "stuckAfterDays": ("stuck_after_days", NUMBER),
    "eventDays": ("event_days", NUMBER),
    "pastDays": ("past_days", NUMBER),
    **{f"quota{name.capitalize()}": (f"quota_{name}", NUMBER) for name in QUOTAS},
}
"""By the name of a field: the field of `StorageRequest`, and the kind of its value."""
# Fields by the places that problems of provisioning begin with.
PLACES = {
    "storage": NAME,
    "cultures": "dataCultures",
    "time zone": "timeZone",
    "anonymous access": "anonymousAccess",
    "stuck after": "stuckAfterDays",
    "event days": "eventDays",
    "past days": "pastDays",
    **{f"quota {name}": f"quota{name.capitalize()}" for name in QUOTAS},
}


def provision_from(collection: StorageCollection, given: Any) -> Storage:
    """Create a storage of a collection, within its quota (D595); raise Invalid with all problems."""
    if not isinstance(given, dict):
        raise Unreadable(f'The body must be an object, such as {{"{NAME}": "handbook"}}.')
    problems: list[str] = []
    values = {FIELDS[name][0]: value for name, value in given.items() if _is_usable(collection, name, value, problems)}
    if given.get(NAME) is None:
        problems.append(placed(NAME, "is required, such as handbook."))
    # Without a usable name there is a problem, so nothing is created.
    request = StorageRequest(**{"collection": collection.key, "key": "unnamed", **values})
    if problem := further_storage_problem(collection, request.key):
        problems.append(problem)
    try:
        return provision_storage(request, problems)
    except Invalid as invalid:
        raise Invalid(invalid.message, [_renamed(each) for each in invalid.details]) from None


def _is_usable(collection: StorageCollection, name: str, value: Any, problems: list[str]) -> bool:
    """Return whether a field has a value of its kind; otherwise provisioning goes on without it, to find more."""
    if name not in FIELDS:
        text = _("unknown field%(hint)s.") % {"hint": similar_hint(name, FIELDS, len(problems))}
        problems.append(placed(printable(name, 40), text))
        return False
    kind = FIELDS[name][1]
    if value is None:
        return False
    if not _KINDS[kind](value):
        problems.append(placed(name, f"expected {kind}."))
        return False
    problem = _problem(collection, name, value)
    if problem:
        problems.append(placed(name, problem))
    return not problem


def _problem(collection: StorageCollection, name: str, value: Any) -> str:
    if name == TEMPLATE and value not in template_names():
        # Not a path: only commands read files.
        return f"there is no template {printable(value, 40)!r}; use {listed(template_names(), 'or')}."
    if name == BASE and not collection.storages.filter(id=UUID(value)).exists():
        return f"no storage of this collection has the id {value.lower()}."
    if name == "description" and len(value) > LONGEST_DESCRIPTION:
        return f"longer than {LONGEST_DESCRIPTION} characters."
    return ""


def _renamed(problem: str) -> str:
    place, colon, text = problem.partition(": ")
    return f"{PLACES.get(place, place)}{colon}{text}"


def _is_number(value: Any) -> bool:
    # In Python, True is an int as well. Larger numbers are none that a setting or a culture has.
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


_KINDS: Mapping[str, Callable[[Any], bool]] = {
    TEXT: lambda value: isinstance(value, str),
    NUMBER: _is_number,
    NUMBERS: lambda value: isinstance(value, list) and len(value) <= MOST_CULTURES and all(map(_is_number, value)),
    ID: lambda value: isinstance(value, str) and bool(GUID.fullmatch(value)),
}
