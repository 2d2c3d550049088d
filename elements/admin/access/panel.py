"""The tab of the element page that explains who can see an element (D490)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext_lazy, pgettext_lazy

from elements.admin.panels import ElementPage, Panel
from elements.permission_sets.callers import numbers_of
from elements.presentation.labels import Named
from facets.permission_sets import EXTEND, NONE, REPLACE, STOP, Limited, StoredSet
from storage.options import Role
from storage.pages import Fragment

KEY, PAGE = "access", "elements_access"
PERMISSIONS = {
    Limited.SHOW: gettext_lazy("Show"),
    Limited.OPEN: pgettext_lazy("action", "Open"),
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
    number, _gate = numbers_of([page.row.element]).get(page.row.element, (NONE, NONE))
    above, gate = list(sets.above(number)), sets.by_facet.get(page.type.facet)
    own = sets.by_element.get(page.row.creation)
    ids = {id for each in (*above, gate) if each for id in grantees(each)}
    named = page.labels.elements({*ids, *(each.element for each in above if each.element)})
    used = {each.number for each in sets.chain(number)}
    context = {
        "page": page,
        "permissions": [_explained(each, sets.granted(number, each), named) for each in Limited],
        "sets": [
            explained_set(each, named.get(each.element or ""), named, is_used=each.number in used) for each in above
        ],
        "facet": explained_set(gate, None, named, is_used=True) if gate else None,
        "change": page.address_of(PAGE) if Role.ADMINISTRATOR in page.caller.roles else "",
        "has_own": own is not None,
    }
    return Fragment("back_office/elements/access.html", context, page.request)


def grantees(held: StoredSet) -> set[str]:
    return {id for ids in held.entries.values() for id in ids}


def _explained(permission: Limited, ids: Collection[str] | None, named: Mapping[str, Named]) -> ExplainedPermission:
    people = None if ids is None else sorted((named[id] for id in ids if id in named), key=lambda each: each.name)
    return ExplainedPermission(str(PERMISSIONS[permission]), people)


def explained_set(held: StoredSet, place: Named | None, named: Mapping[str, Named], *, is_used: bool) -> ExplainedSet:
    listed = [_explained(each, held.entries[each], named) for each in Limited if held.entries.get(each)]
    return ExplainedSet(place, str(MODES[held.mode]), listed, is_used)


PANEL = Panel(KEY, gettext_lazy("Access"), access_panel, order=80)
