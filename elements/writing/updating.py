"""Update and create, operation 5 (D15): many elements in one transaction, all or nothing, every problem at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from elements.locks import CHANGEABLE, Lock, find_lock, open_properties
from elements.naming import NAME, sort_name
from elements.permissions import Permission, authors_in, role_permissions
from elements.reading.assembly.attributes import read_exactly
from elements.reading.rows import VersionRow
from elements.related_contexts import TOKEN_TYPE
from elements.users import INACTIVE, ROLE_ATTRIBUTES, USER_TYPE
from elements.writing import statements
from elements.writing.changes import Change
from elements.writing.findings import Findings, Kind
from elements.writing.history import Action, Author, Entry, record
from elements.writing.inputs import ElementInput, ReferenceInput
from elements.writing.places import PlaceChecker, read_tree
from elements.writing.properties import PropertyChecker, is_named
from elements.writing.stored import lock_elements, lock_targets
from facets.blueprint.cycles import Category
from facets.blueprint.definitions import ElementType
from facets.configuration import CompiledView, Configuration
from repository_site.core.rest.rendering import to_json
from repository_site.core.wording import listed, printable
from storage.access.callers import Caller
from storage.models.roles import Role

NO_END = datetime(9999, 12, 31)
AUTHOR = "author"
# What the element of a token has from the token (D4).
GRANTING = frozenset({INACTIVE, *ROLE_ATTRIBUTES})
MIRRORED = GRANTING | {NAME, "validFrom", "validUntil"}


# Gets the versions that a request names, as they are stored and locked; None for each that is new or not there.
OnLocked = Callable[[list[VersionRow | None]], None]


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes into which storage: the same for everything in one request."""

    configuration: Configuration
    caller: Caller
    zone: ZoneInfo
    author: Author

    @property
    def no_end(self) -> datetime:
        return NO_END.replace(tzinfo=self.zone)


def update_elements(
    writer: Writer, view: CompiledView, given: Sequence[ElementInput], findings: Findings, on_locked: OnLocked
) -> list[str]:
    """The ids of the versions as stored, in the order of the request. `on_locked` may refuse what it gets to see."""
    findings.raise_any()
    update = Update(writer, view, findings)
    changes = update.prepare(given, on_locked)
    findings.raise_any()
    update.write_changes()
    return [change.version for change in changes]


class Update:
    """One request: first everything is looked at, then everything is written."""

    def __init__(self, writer: Writer, view: CompiledView, findings: Findings) -> None:
        self.writer = writer
        self.view = view
        self.findings = findings
        self.properties = PropertyChecker(writer.configuration, writer.zone, findings)
        self.changes: list[Change] = []

    def prepare(self, given: Sequence[ElementInput], on_locked: OnLocked) -> list[Change]:
        """Everything is looked at, and nothing is written."""
        self.stored = lock_elements(
            {each.id for each in given if each.id},
            {each.version for each in given if each.version},
            living_in_diagrams=self.writer.configuration.living_in_diagrams,
        )
        on_locked([self.stored.version_of(each.id, each.version) for each in given])
        self.targets = lock_targets(*_named(given))
        self.tree = read_tree(self._moving(given))
        self.places = PlaceChecker(self.view, self.properties, self.findings, self.tree)
        found = [change for each in given if (change := self._change(each)) is not None]
        self.places.check_circles(found)
        self._refuse_twice(found)
        return found

    def _moving(self, given: Sequence[ElementInput]) -> set[str]:
        """Elements whose place is spoken of, and those they would go to; empty when every place is as it is."""
        around: set[str] = set()
        for each in given:
            row = self.stored.version_of(each.id, each.version)
            if each.root_path is None or row is None:
                continue
            named = each.root_path[0] if each.root_path else None
            target = self.targets.get(named.id or named.version or "") if named else None
            if (target.element if target else None) != row.parent:
                around |= {row.element, *([target.element] if target else [])}
        return around

    def _refuse_twice(self, changes: Sequence[Change]) -> None:
        seen: dict[str, Change] = {}
        for change in changes:
            if change.version in seen:
                self.findings.add(Kind.INVALID, change.place, _("the version stands in the request twice"))
            seen[change.version] = change

    def _change(self, given: ElementInput) -> Change | None:
        change = self._new(given) if given.is_new else self._existing(given)
        if change is None:
            return None
        attributes = dict(given.attributes)
        self.properties.set_stereotype(change, given.stereotype, attributes)
        self.properties.merge_attributes(change, attributes)
        stored = self.stored.references.get(change.version, {})
        self.properties.set_contexts(change, given.related, stored, self.targets, self._make_target)
        self.places.set_place(change, given, self.targets)
        self._check_roles(change)
        if change.is_new and AUTHOR not in given.related:
            self._set_author(change)
        elif not change.is_new:
            self._check_lock(change)
        self.changes.append(change)
        return change

    def _existing(self, given: ElementInput) -> Change | None:
        row = self.stored.version_of(given.id, given.version)
        type = self.properties.types[row.type] if row else None
        if row is None or type is None or type.key not in self.view.types:
            words = {"view": self.view.view.name, "facet": self.view.facet.name}
            text = _("there is no such element in the view %(view)s of the facet %(facet)s") % words
            self.findings.add(Kind.NOT_FOUND, given.place, text)
            return None
        if given.id is not None and given.id != row.element:
            words = {"version": row.version, "element": row.element, "wrong": given.id}
            self.invalid(given.place, _("%(version)s is a version of %(element)s, not of %(wrong)s") % words)
        if not is_named(type.key, given.type):
            self.invalid(given.place, _("the element is a %(type)s; its type cannot change") % {"type": type.key})
        if not is_named(type.facet, given.facet):
            self.invalid(given.place, _("the element is in the facet %(facet)s") % {"facet": type.facet})
        if given.state is not None and given.state != (row.state if type.is_versioned else ""):
            text = (
                _("the element is in the state %(state)s; states change by transitions") % {"state": row.state}
                if type.is_versioned
                else _("the element is without states; states change by transitions")
            )
            self.findings.add(Kind.CONFLICT, given.place, text)
        return Change(
            given.place,
            type,
            row.element,
            row.version,
            row,
            read_exactly(row.attributes),
            row.stereotype,
            row.valid_from,
            row.valid_until,
            parent=row.parent,
        )

    def _new(self, given: ElementInput) -> Change | None:
        if given.type is None:
            self.invalid(given.place, _("a new element needs a type"))
            return None
        named = self.properties.type_called(given.type)
        shown = self.view.types.get(named.key) if named else None
        if shown is None:
            known = [key for key, each in self.view.types.items() if not each.type.lives_in_diagrams]
            text = _("the view %(view)s has no type %(wrong)s; it has %(known)s")
            words = {"view": self.view.view.name, "wrong": printable(given.type, 100), "known": listed(known, _("and"))}
            self.invalid(given.place, text % words)
            return None
        if shown.type.lives_in_diagrams:
            text = _("a %(type)s is made by drawing it: post it to the content of a diagram")
            self.invalid(given.place, text % {"type": given.type})
            return None
        if shown.type.key == TOKEN_TYPE:
            self.invalid(given.place, _("an %(type)s is made by issuing a token") % {"type": TOKEN_TYPE})
            return None
        if not is_named(shown.type.facet, given.facet):
            words = {"type": given.type, "facet": shown.type.facet}
            self.invalid(given.place, _("a %(type)s is in the facet %(facet)s") % words)
        first = self._first_state(shown.type)
        if given.state is not None and given.state != first:
            text = _("a new %(type)s begins in the state %(state)s") if first else _("a new %(type)s has no states")
            self.findings.add(Kind.CONFLICT, given.place, text % {"type": given.type, "state": first})
        return self._made(given.place, shown.type)

    def _made(self, place: str, type: ElementType) -> Change | None:
        if Permission.NEW not in role_permissions(self.writer.caller, type):
            text = _("making a %(type)s needs the permission %(permission)s")
            self.findings.add(Kind.FORBIDDEN, place, text % {"type": type.key, "permission": Permission.NEW})
            return None
        element = str(uuid4())
        version = str(uuid4()) if type.is_versioned else element
        valid_until = self.writer.no_end if type.is_versioned else None
        return Change(place, type, element, version, None, {}, valid_until=valid_until)

    def _make_target(self, reference: ReferenceInput, type: ElementType) -> str | None:
        """For a reference that describes its target instead of naming it."""
        if type.lives_in_diagrams:
            self.invalid(reference.place, _("a %(type)s is made by drawing it") % {"type": type.key})
            return None
        change = self.make(reference, type)
        return change.element if change else None

    def make(self, reference: ReferenceInput, type: ElementType) -> Change | None:
        change = self._made(reference.place, type)
        if change is None:
            return None
        attributes = dict(reference.attributes or {})
        self.properties.set_stereotype(change, reference.stereotype, attributes)
        self.properties.merge_attributes(change, attributes)
        self._set_author(change)
        self.changes.append(change)
        return change

    def _set_author(self, change: Change) -> None:
        """Who makes an element is its author, unless the request names another."""
        caller = self.writer.author.element
        if caller is not None and has_author(change.type):
            change.related[AUTHOR] = [str(caller)]
            change.note("related", AUTHOR, [], [str(caller)])

    def _check_roles(self, change: Change) -> None:
        """The roles of users limit tokens and staff: whoever could set their own could become anything (D125)."""
        if change.type.key == USER_TYPE and Role.ADMINISTRATOR not in self.writer.caller.roles:
            for name in sorted(change.changed & GRANTING):
                text = _("%(name)s is for administrators to change; this needs the role %(role)s")
                words = {"name": name, "role": Role.ADMINISTRATOR}
                self.findings.add(Kind.FORBIDDEN, change.place, text % words)

    def _check_lock(self, change: Change) -> None:
        """In a published version some properties can be changed, in any other that is no draft none."""
        if change.row is None:
            return
        row, lock = change.row, self.lock_of(change.type, change.row)
        if change.type.key == TOKEN_TYPE:
            for name in sorted(change.changed & MIRRORED):
                text = _("%(name)s is that of the token and changes with it") % {"name": name}
                self.findings.add(Kind.CONFLICT, change.place, text)
        if lock not in (Lock.NONE, Lock.ALL, Lock.DIAGRAM):
            self.forbid(change.place, change.type, lock)
        elif lock is not Lock.NONE:
            own = (row.state, row.category)
            drawn = {(each.state, each.category) for each in self.stored.diagrams(row.element)}
            locking = {each for each in (drawn if lock is Lock.DIAGRAM else {own}) if each[1] not in CHANGEABLE}
            categories = [category for state, category in locking]
            for name in sorted(change.changed - open_properties(change.type, categories)):
                text = _("%(name)s cannot be changed in the state %(state)s; %(way_out)s")
                states = listed(sorted(state for state, category in locking), _("and"))
                words = {"name": name, "state": states, "way_out": way_out(categories)}
                self.findings.add(Kind.CONFLICT, change.place, text % words)

    def lock_of(self, type: ElementType, row: VersionRow) -> Lock:
        diagrams = [each.category for each in self.stored.diagrams(row.element)]
        return find_lock(self.writer.caller, type, row.category, self.authors(row), diagrams)

    def forbid(self, place: str, type: ElementType, lock: Lock, permission: Permission = Permission.EDIT) -> None:
        reasons = {
            Lock.ARCHITECT: _("a %(type)s is for architects to change") % {"type": type.key},
            Lock.NOT_CURRENT_USER: _("only its authors and architects may change it"),
        }
        reason = reasons.get(lock, _("it cannot be changed by this caller"))
        text = _("%(reason)s; this needs the permission %(permission)s")
        self.findings.add(Kind.FORBIDDEN, place, text % {"reason": reason, "permission": permission})

    def authors(self, row: VersionRow) -> set[UUID]:
        """What lives in a diagram has the authors of that, too: changing it changes the diagram."""
        versions = [row.version]
        if self.properties.types[row.type].lives_in_diagrams:
            versions += [each.version for each in self.stored.diagrams(row.element)]
        return authors_in(self.stored.references.get(version, {}) for version in versions)

    def invalid(self, place: str, text: str) -> None:
        self.findings.add(Kind.INVALID, place, text)

    def write_changes(self) -> None:
        """Statements whose number does not depend on the number of elements."""
        positions = statements.next_positions(
            sorted({each.parent for each in self.changes if each.is_moved and each.parent})
        )
        new = [each for each in self.changes if each.is_new]
        statements.insert_elements([self._element_row(each, positions) for each in new])
        statements.insert_versions([self._new_row(each) for each in new])
        old = [each for each in self.changes if not each.is_new]
        statements.update_versions([self._row(each) for each in old])
        statements.move_elements(
            [(each.element, each.parent, take_place(positions, each.parent)) for each in old if each.is_moved]
        )
        statements.replace_references(
            (each.version, context, targets) for each in self.changes for context, targets in each.related.items()
        )
        record(
            self.writer.author,
            [
                Entry(
                    each.element,
                    each.version,
                    Action.CREATED if each.is_new else Action.UPDATED,
                    each.before,
                    each.after,
                )
                for each in self.changes
            ],
        )

    def _element_row(
        self, change: Change, positions: dict[str, int]
    ) -> tuple[str, str, str, str | None, int, str, str | None]:
        type_id = str(self.writer.configuration.type_ids[change.type.key])
        published = None if change.type.is_versioned or change.is_hidden else change.version
        place = change.parent, take_place(positions, change.parent)
        return change.element, change.element, type_id, *place, change.version, published

    def _new_row(self, change: Change) -> tuple[Any, ...]:
        number = (0, 1) if change.type.is_versioned else (None, None)
        state = self._first_state(change.type)
        category = self.writer.configuration.category(change.type, state)
        return (change.version, change.element, state, category.value, *number, *self._content(change))

    def _first_state(self, type: ElementType) -> str:
        """Of new versions; empty for types without."""
        return self.writer.configuration.cycles[type.key].first_state if type.is_versioned else ""

    def _row(self, change: Change) -> tuple[Any, ...]:
        return (change.version, *self._content(change))

    def _content(self, change: Change) -> tuple[Any, ...]:
        author = self.writer.author
        return (
            change.stereotype,
            to_json(change.attributes).decode(),
            sort_name(change.attributes, str(self.writer.configuration.cultures.default)),
            change.valid_from,
            change.valid_until,
            author.now,
            author.element,
        )


def way_out(categories: Iterable[str]) -> str:
    """What to do about a version that cannot be changed in its state."""
    return _("send it back first") if Category.REVIEW in categories else _("make a new version")


def has_author(type: ElementType) -> bool:
    return any(each.key == AUTHOR and each.related for each in type.properties)


def take_place(positions: dict[str, int], parent: str | None) -> int:
    """The next place below a parent; what has no parent has no place among others."""
    if parent is None:
        return 0
    place = positions[parent]
    positions[parent] = place + 1
    return place


def _named(given: Sequence[ElementInput]) -> tuple[set[str], set[str]]:
    """Elements and versions that references and parents name."""
    references = [one for each in given for held in each.related.values() for one in held]
    references += [each.root_path[0] for each in given if each.root_path]
    return {one.id for one in references if one.id}, {one.version for one in references if one.version and not one.id}
