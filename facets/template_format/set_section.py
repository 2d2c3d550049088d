"""The section of a template with permission sets (D522)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _

from facets.blueprint.differences import BlueprintDifference
from facets.permission_sets import MODES, MOST_GRANTEES, MOST_SETS, REPLACE, STOP, Limited, PermissionSets, StoredSet
from facets.template_format.document_nodes import UNKNOWN_FACET, Node
from repository_site.core.problems import Invalid
from repository_site.core.wording import GUID, listed

SECTION, FACETS, ELEMENTS, MODE = "permissionSets", "facets", "elements", "mode"


def write_set_section(sets: PermissionSets) -> dict[str, Any]:
    """Return the section with the sets of a storage, in the order of facets and ids; nothing if there are none."""
    return {SECTION: _written(sets)} if sets else {}


def _written(sets: PermissionSets) -> dict[str, dict[str, Any]]:
    def entries(each: StoredSet) -> dict[str, Any]:
        return {permission.value: list(ids) for permission in Limited if (ids := each.entries.get(permission))}

    return {
        FACETS: {name: entries(each) for name, each in sorted(sets.by_facet.items())},
        ELEMENTS: {id: {MODE: each.mode, **entries(each)} for id, each in sorted(sets.by_element.items())},
    }


def set_differences(old: PermissionSets, new: PermissionSets | None) -> Iterator[BlueprintDifference]:
    """Yield the differences that a template makes; none if it says nothing about permission sets."""
    before, after = _written(old), _written(old if new is None else new)
    for part in (FACETS, ELEMENTS):
        for name in sorted({**before[part], **after[part]}):
            values = before[part].get(name), after[part].get(name)
            if values[0] != values[1]:
                sign = "+" if values[0] is None else "-" if values[1] is None else "~"
                yield BlueprintDifference(sign, (SECTION, part, name), *map(json.dumps, values))


def read_set_section(document: Mapping[str, Any]) -> PermissionSets | None:
    """Return the sets of a template, numbered in their order; None if it has no such section. Raise Invalid with every
    problem and its place."""
    problems: list[str] = []
    root = Node(dict(document), "", problems)
    section = root.child(SECTION)
    if section.is_absent:
        return None
    section.fields(FACETS, ELEMENTS)
    known = dict(root.child("facets").entries())
    found = [*_facet_sets(section.child(FACETS), known), *_element_sets(section.child(ELEMENTS))]
    if len(found) > MOST_SETS:
        section.problem(_("A storage has at most %(most)d permission sets.") % {"most": MOST_SETS})
    if problems:
        raise Invalid(_("The template cannot be used."), list(dict.fromkeys(problems)))
    return PermissionSets(replace(each, number=number) for number, each in enumerate(found, 1))


def _facet_sets(section: Node, known: Mapping[str, Node]) -> Iterator[StoredSet]:
    for name, node in section.entries():
        if name not in known:
            node.unknown(UNKNOWN_FACET, name)
        node.fields(*Limited)
        yield StoredSet("", 0, None, name, REPLACE, _entries(node))


def _element_sets(section: Node) -> Iterator[StoredSet]:
    for id, node in section.entries():
        _check_id(node, id)
        node.fields(MODE, *Limited)
        mode = node.child(MODE).text(REPLACE)
        entries = _entries(node)
        if mode not in MODES:
            node.child(MODE).problem(_("expected %(modes)s") % {"modes": listed(MODES, _("or"))})
        elif mode == STOP and entries:
            node.child(MODE).problem(_("a set that stops inheritance has no users and groups."))
        yield StoredSet("", 0, id.lower(), None, mode, entries)


def _entries(node: Node) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for permission in Limited:
        items = node.child(permission).named_items()
        for id, item in items.items():
            _check_id(item, id)
        if items:
            found[permission.value] = sorted({id.lower() for id in items})
    if len({id for ids in found.values() for id in ids}) > MOST_GRANTEES:
        node.problem(_("at most %(most)d users and groups.") % {"most": MOST_GRANTEES})
    return found


def _check_id(node: Node, id: str) -> None:
    if not GUID.fullmatch(id):
        node.problem(_("%(id)r is not a GUID") % {"id": id[:80]})
