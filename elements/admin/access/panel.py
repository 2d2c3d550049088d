"""The tab of the element page that explains who can see an element (D490)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext_lazy

from elements.admin.panels import ElementPage, Panel
from elements.presentation.labels import Named
from facets.permission_sets import EXTEND, REPLACE, STOP, Limited, StoredSet
from storage.options import Role
from storage.pages import Fragment

KEY, PAGE = "access", "elements_access"
PERMISSIONS = {
    Limited.SHOW: gettext_lazy("Show"),
    Limited.OPEN: gettext_lazy("Open"),
    Limited.EDIT: gettext_lazy("Edit"),
    Limited.CREATE: gettext_lazy("Create below"),
    Limited.DELETE: gettext_lazy("Delete"),
    Limited.APPROVE: gettext_lazy("Approve"),
}
MODES = {
    EXTEND: gettext_lazy("These users and groups are added to the inherited ones."),
    REPLACE: gettext_lazy("These users and groups apply instead of the inherited ones."),
    STOP: gettext_lazy("The inherited limits end here; roles alone decide."),
}


@dataclass(frozen=True, slots=True)
class ExplainedPermission:
    title: str
    people: list[Named] | None
    """None if roles alone decide."""


@dataclass(frozen=True, slots=True)
class ExplainedSet:
    """A set above the element, nearest first. `is_used` is false behind one that replaces or stops inheritance."""

    place: Named | None
    mode: str
    permissions: list[ExplainedPermission]
    is_used: bool


def access_panel(page: ElementPage) -> Fragment:
    sets = page.labels.configuration.sets
    own = sets.by_element.get(page.row.creation)
    placed = [(page.row.element, own)] + [(each, sets.by_element.get(each)) for each in page.parents]
    found = [(element, each) for element, each in placed if each is not None]
    gate = sets.by_facet.get(page.type.facet)
    number = found[0][1].number if found else 0
    effective = {each: sets.granted(number, each) for each in Limited}
    ids = {id for each in (*(held for _place, held in found), gate) if each for id in _people(each)}
    named = page.labels.elements({*ids, *(element for element, _held in found)})
    used = {each.number for each in sets.chain(number)}
    context = {
        "page": page,
        "permissions": [_explained(each, effective[each], named) for each in Limited],
        "sets": [_explained_set(held, named.get(place), named, held.number in used) for place, held in found],
        "facet": _explained_set(gate, None, named, True) if gate else None,
        "change": page.address_of(PAGE) if Role.ADMINISTRATOR in page.caller.roles else "",
        "has_own": own is not None,
    }
    return Fragment("back_office/elements/access.html", context, page.request)


def _people(held: StoredSet) -> set[str]:
    return {id for ids in held.entries.values() for id in ids}


def _explained(permission: Limited, ids: Collection[str] | None, named: Mapping[str, Named]) -> ExplainedPermission:
    people = None if ids is None else sorted((named[id] for id in ids if id in named), key=lambda each: each.name)
    return ExplainedPermission(str(PERMISSIONS[permission]), people)


def _explained_set(held: StoredSet, place: Named | None, named: Mapping[str, Named], is_used: bool) -> ExplainedSet:
    listed = [_explained(each, held.entries[each], named) for each in Limited if held.entries.get(each)]
    return ExplainedSet(place, str(MODES[held.mode]), listed, is_used)


PANEL = Panel(KEY, gettext_lazy("Access"), access_panel, order=80)
