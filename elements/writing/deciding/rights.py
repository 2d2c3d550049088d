"""Decisions about what a caller may change, by permissions and by the states of versions (D15, D20)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from uuid import UUID

from django.utils.translation import gettext as _

from elements.locks import CHANGEABLE, Lock, find_lock, open_properties
from elements.naming import NAME
from elements.permissions import Permission, authors_in, permissions
from elements.reading.rows import VersionRow
from elements.users import GROUPS
from elements.writing.findings import Refusal, conflict, forbidden
from elements.writing.planned_changes import PlannedChange
from elements.writing.stored import Stored
from elements.writing.writers import Writer
from facets.blueprint.cycles import Category
from facets.blueprint.definitions import ElementType
from facets.blueprint.private_content import INACTIVE, PRIVATE, ROLE_ATTRIBUTES, TOKEN_TYPE, USER_TYPE
from facets.clearance import HIDDEN, clearance_of
from repository_site.core.wording import listed
from storage.options import Role

GRANTING = frozenset({INACTIVE, *ROLE_ATTRIBUTES})
# Properties that the element of a token copies from the token (D4).
MIRRORED = GRANTING | {NAME, "validFrom", "validUntil"}


class Rights:
    in_any_state = False
    """Whether the states of versions do not matter (D474)."""

    def __init__(self, writer: Writer, stored: Stored) -> None:
        self.writer = writer
        self.stored = stored
        self.denied = stored.denied

    def refusals(self, change: PlannedChange) -> Iterator[Refusal]:
        yield from self._role_refusals(change)
        yield from self._group_refusals(change)
        if change.row is None:
            return
        if change.type.key == TOKEN_TYPE:
            for name in sorted(change.changed & MIRRORED):
                text = _("%(name)s comes from the token; change the token instead") % {"name": name}
                yield conflict(change.place, text)
        lock = self.lock_of(change.type, change.row)
        if lock in (Lock.ALL, Lock.DIAGRAM):
            yield from () if self.in_any_state else self._state_refusals(change, change.row, lock)
        elif lock is not Lock.NONE:
            yield lock_refusal(change.place, change.type, lock)

    def hidden_from_caller(self, change: PlannedChange) -> frozenset[str]:
        """Return the attributes of a stored element that the caller does not see and must not send, whatever the value:
        accepting only the stored value would reveal it (D398)."""
        caller = self.writer.caller
        if change.type.key != USER_TYPE or change.is_new or change.element == str(caller.element_id):
            return frozenset()
        return HIDDEN[clearance_of(caller.roles)] & PRIVATE

    def administrators_only(self, change: PlannedChange, name: str) -> Refusal:
        text = _("only administrators can change %(name)s; this needs the role %(role)s")
        return forbidden(change.place, text % {"name": name, "role": Role.ADMINISTRATOR})

    def _role_refusals(self, change: PlannedChange) -> Iterator[Refusal]:
        """Roles of users limit tokens and staff, so users who could set their own roles could grant themselves anything
        (D125)."""
        if change.type.key == USER_TYPE and Role.ADMINISTRATOR not in self.writer.caller.roles:
            for name in sorted(change.changed & GRANTING):
                yield self.administrators_only(change, name)

    def _group_refusals(self, change: PlannedChange) -> Iterator[Refusal]:
        """Sets name groups, and a set does not limit the members of its groups. Users who could join such a group could
        lift their limits (D521)."""
        named = self.writer.configuration.sets.grantees
        if not named or change.type.key != USER_TYPE or Role.ADMINISTRATOR in self.writer.caller.roles:
            return
        if GROUPS in change.related:
            before = self.stored.references.get(change.version, {}).get(GROUPS, ())
            if {*before}.symmetric_difference(change.related[GROUPS]) & named:
                text = _("only administrators can change the members of a group that a permission set names")
                yield forbidden(f"{change.place}: {GROUPS}", text)

    def _state_refusals(self, change: PlannedChange, row: VersionRow, lock: Lock) -> Iterator[Refusal]:
        """A published version allows changes of some properties; other versions that are not drafts allow none."""
        own = {(row.state, row.category)}
        diagrams = {(each.state, each.category) for each in self.stored.diagrams(row.element)}
        locking = {each for each in (diagrams if lock is Lock.DIAGRAM else own) if each[1] not in CHANGEABLE}
        categories = [category for _state, category in locking]
        states = listed(sorted(state for state, _category in locking), _("and"))
        for name in sorted(change.changed - open_properties(change.type, categories)):
            text = _("%(name)s cannot be changed in the state %(state)s; %(way_out)s")
            words = {"name": name, "state": states, "way_out": way_out(categories)}
            yield conflict(change.place, text % words)

    def lock_of(self, type: ElementType, row: VersionRow) -> Lock:
        diagrams = [each.category for each in self.stored.diagrams(row.element)]
        denied = self.denied.get(row.element, frozenset())
        return find_lock(self.writer.caller, type, row.category, self.authors(row), diagrams, denied)

    def permissions_on(self, type: ElementType, row: VersionRow) -> frozenset[Permission]:
        denied = self.denied.get(row.element, frozenset())
        return permissions(self.writer.caller, type, self.authors(row), denied)

    def authors(self, row: VersionRow) -> set[UUID]:
        """Return the authors of a version. Elements that live in a diagram also have the diagram's authors, because
        changing them changes the diagram."""
        versions = [row.version]
        if self.writer.configuration.types_by_id[row.type].lives_in_diagrams:
            versions += [each.version for each in self.stored.diagrams(row.element)]
        return authors_in(self.stored.references.get(version, {}) for version in versions)


def lock_refusal(place: str, type: ElementType, lock: Lock, permission: Permission = Permission.EDIT) -> Refusal:
    reasons = {
        Lock.ARCHITECT: _("only architects can change elements of type %(type)s") % {"type": type.key},
        Lock.NOT_CURRENT_USER: _("only its authors and architects can change it"),
    }
    reason = reasons.get(lock, _("the caller cannot change it"))
    text = _("%(reason)s; this requires the permission %(permission)s")
    return forbidden(place, text % {"reason": reason, "permission": permission})


def place_requires(permission: Permission) -> str:
    return _("this place requires the permission %(permission)s") % {"permission": permission}


def deletion_refusals(place: str, denied: Iterable[frozenset[Permission]]) -> Iterator[Refusal]:
    """Refuse to delete elements with their diagram, or from it, if permission sets deny that. They may be hidden, so
    the text does not name them (D493)."""
    if any(Permission.DELETE in each for each in denied):
        yield forbidden(place, _("elements in its diagram require the permission DeleteElement"))


def way_out(categories: Iterable[str]) -> str:
    """Return the next step for a version whose state does not allow the change."""
    return _("send it back first") if Category.REVIEW in categories else _("create a new version")
