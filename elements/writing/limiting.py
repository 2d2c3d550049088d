"""Changes of permission sets (D490): one function for the API, pages and commands."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import count
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from elements.models.people import GROUP_TYPE
from elements.permission_sets.inheritance import rebuild_inherited, renew_inherited
from elements.reading.rows import VersionRow
from elements.writing.history import Action, HistoryEntry, record
from elements.writing.stored import lock_targets
from elements.writing.writers import Writer
from facets.blueprint.private_content import USER_TYPE
from facets.models import Facet, PermissionSet
from facets.permission_sets import MOST_GRANTEES, MOST_SETS, STOP, Limited, PermissionSets, StoredSet
from repository_site.core.database.statements import fetch, look_up
from repository_site.core.problems import Invalid, NotFound, placed
from storage.events.recording import record_configuration
from storage.models import Storage
from storage.options import Role

PERMISSIONS = "permissions"
# Every change of content holds a shared lock of this row, so none is under way now (D492).
LOCK = "SELECT 1 FROM storage_storagerevision WHERE storage_id = %s::uuid FOR NO KEY UPDATE"
COPIES = "SELECT e.id::text FROM elements_element e WHERE e.creation_id = %s::uuid"
# Rows of deleted elements keep numbers in use.
USED = """SELECT s.number FROM facets_permissionset s UNION SELECT i.set_number FROM elements_inheritedset i
    UNION SELECT i.facet_number FROM elements_inheritedset i"""
Entries = Mapping[Limited, Sequence[str]]


def hold_sets(storage: Storage) -> None:
    """Wait for all changes of content, and let later ones wait. Call this first in a change of a set."""
    look_up(LOCK, [storage.id])


def set_permissions(writer: Writer, row: VersionRow, mode: str, entries: Entries) -> None:
    """Give an element a set, or change it. The scope of the caller is not narrowed: only administrators do this."""
    writer.caller.require_role(Role.ADMINISTRATOR)
    _check(writer, mode, entries)
    before = writer.configuration.sets.by_element.get(row.creation)
    values = {"mode": mode, "entries": _stored(entries)}
    if before is not None:
        PermissionSet.objects.filter(number=before.number).update(**values)
    else:
        PermissionSet.objects.create(number=_free_number(writer), creation_id=UUID(row.creation), **values)
        _renew(row)
    _record(writer, row, before, values)


def remove_permissions(writer: Writer, row: VersionRow) -> None:
    """Remove the set of an element: the inherited one applies again."""
    writer.caller.require_role(Role.ADMINISTRATOR)
    before = writer.configuration.sets.by_element.get(row.creation)
    if before is None:
        raise NotFound(_("The element %(id)s has no permission set of its own.") % {"id": row.element})
    PermissionSet.objects.filter(number=before.number).delete()
    _renew(row)
    _record(writer, row, before, None)


def limit_facet(writer: Writer, storage: Storage, facet: str, entries: Entries) -> None:
    """Give a facet a set, change it, or remove it if there are no entries."""
    writer.caller.require_role(Role.ADMINISTRATOR)
    _check(writer, "", entries)
    own = Facet.objects.get(name=writer.configuration.facet(facet).facet.name)
    found = PermissionSet.objects.filter(facet_id=own.id)
    if not any(entries.values()):
        found.delete()
    elif not found.update(entries=_stored(entries)):
        PermissionSet.objects.create(number=_free_number(writer), facet_id=own.id, entries=_stored(entries))
    rebuild_inherited()
    record_configuration(storage, [f"facets.{own.name}"])


def replace_sets(wanted: PermissionSets) -> None:
    """Make the sets of the scope those of a template (D522). Their elements, users and groups may be imported later."""
    facets = dict(Facet.objects.values_list("name", "id"))
    known = {(each.creation_id, each.facet_id): each for each in PermissionSet.objects.all()}
    used = {row[0] for row in fetch(USED)}
    numbers = (number for number in count(1) if number not in used)
    kept, new, changed = set[UUID](), list[PermissionSet](), list[PermissionSet]()
    for each in wanted.by_number.values():
        place = UUID(each.element) if each.element else None, facets[each.facet] if each.facet else None
        row = known.get(place)
        if row is None:
            row = PermissionSet(number=next(numbers), creation_id=place[0], facet_id=place[1])
            new.append(row)
        elif (row.mode, row.entries) != (each.mode, each.entries):
            changed.append(row)
        row.mode, row.entries = each.mode, dict(each.entries)
        kept.add(row.id)
    PermissionSet.objects.filter(id__in=[each.id for each in known.values() if each.id not in kept]).delete()
    PermissionSet.objects.bulk_create(new)
    PermissionSet.objects.bulk_update(changed, ["mode", "entries"])
    rebuild_inherited()


def _check(writer: Writer, mode: str, entries: Entries) -> None:
    """Refuse people that the storage does not have, and a set that stops and limits at once."""
    named = {each for ids in entries.values() for each in ids}
    problems = []
    if mode == STOP and named:
        problems.append(placed("mode", _("a set that stops inheritance has no users and groups.")))
    if len(named) > MOST_GRANTEES:
        problems.append(placed("users", _("at most %(most)d users and groups.") % {"most": MOST_GRANTEES}))
    else:
        types = writer.configuration.types_by_id
        known = lock_targets(named, ()) if named else {}
        for id in sorted(named):
            type = types.get(known[id].type) if id in known else None
            if type is None or type.key not in (USER_TYPE, GROUP_TYPE):
                problems.append(placed(id, _("is not a user or a group of the storage.")))
    if problems:
        raise Invalid(problems[0], problems)


def _free_number(writer: Writer) -> int:
    sets = writer.configuration.sets.by_number
    if len(sets) >= MOST_SETS:
        raise Invalid(_("A storage has at most %(most)d permission sets.") % {"most": MOST_SETS})
    used = {row[0] for row in fetch(USED)}
    return next(number for number in count(1) if number not in used)


def _stored(entries: Entries) -> dict[str, list[str]]:
    return {each.value: sorted(set(entries.get(each, ()))) for each in Limited if entries.get(each)}


def _renew(row: VersionRow) -> None:
    """Renew the rows of the element, of its copies in other versions of a diagram, and of everything below."""
    renew_inherited([each[0] for each in fetch(COPIES, [row.creation])])


def _record(writer: Writer, row: VersionRow, before: StoredSet | None, after: Mapping[str, Any] | None) -> None:
    old = {"mode": before.mode, "entries": before.entries} if before else None
    if old != after:
        entry = HistoryEntry(row.element, row.version, Action.UPDATED, {PERMISSIONS: old}, {PERMISSIONS: after})
        record(writer.author, [entry])


def grantees_of(entries: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """Return the permissions of each user and group."""
    found: dict[str, list[str]] = {}
    for permission in Limited:
        for id in entries.get(permission, ()):
            found.setdefault(id, []).append(permission.value)
    return found
