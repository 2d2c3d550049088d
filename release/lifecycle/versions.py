"""Create a new version of an element (D18): an editable copy; the earlier version stays as it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from django.db import transaction
from django.utils.translation import gettext as _

from elements.naming import sort_name
from elements.permission_sets.callers import NOTHING
from elements.permissions import Permission
from elements.reading.assembly.attributes import read_exactly
from elements.reading.bounds import most_text, most_written_rows
from elements.reading.diagrams.drawings import DrawnShape, StoredDiagram, read_diagram
from elements.reading.rows import VersionRow, read_in_batches, read_references, read_versions
from elements.writing import statements
from elements.writing.attachments import copy_files
from elements.writing.deciding.making import AUTHOR, has_author
from elements.writing.diagrams import diagram_statements
from elements.writing.history import Action, HistoryEntry, record
from elements.writing.stored import lock_elements
from elements.writing.writers import Writer
from facets.blueprint.cycles import OPEN, Category
from release.steps.locking import LifecycleVersion, OnLocked, VersionNumber, lock_version, read_numbers, read_unlocked
from release.steps.log import Step, StepTaken, log_steps
from release.steps.permissions import require
from repository_site.core.problems import Conflict, Problem
from repository_site.core.rest.rendering import to_json
from storage.tenancy.scope import whole_content

# Attributes that describe one version only.
NOT_COPIED = frozenset({"reasonForRevision"})


@whole_content()
def create_version(writer: Writer, found: VersionRow, *, named: str, on_locked: OnLocked | None = None) -> str:
    """Create a version and return its id.

    `named` is the id in the request. The id of an element means its published version, or else the newest retired one;
    the id of a version must be one of these.
    """
    current, last = choose_source(lock_version(writer, found, named=named, on_locked=on_locked), named)
    copy = _VersionCopy(writer, current, last)
    copy.write()
    return copy.version


def choose_source(current: LifecycleVersion, named: str) -> tuple[LifecycleVersion, VersionNumber]:
    """Return the version to copy and the number of the last version, or raise the reason against a new version."""
    known = read_numbers([current.row.element])[current.row.element] if current.cycle else []
    sources = _sources(known)
    if named == current.row.element and sources and sources[0] != current.row.version:
        other = read_versions(sources[:1])[sources[0]]
        current = read_unlocked(current.configuration, current.caller, other)
    return _checked(current, known)


@whole_content()
def create_versions(writer: Writer, elements: Collection[str]) -> Mapping[str, Sequence[str]]:
    """Create a version of each element that allows it, as `create_version` does for the id of an element; return the
    reasons of the others.

    The number of statements does not depend on the number of elements without diagrams. Each diagram is copied alone.
    """
    stored = lock_elements(elements, ()).visible()
    rows = [row for each in sorted(elements) if (row := stored.version_of(each, None))]
    known = read_numbers([row.element for row in rows])
    chosen = {row.element: next(iter(_sources(known[row.element])), row.version) for row in rows}
    others = [chosen[row.element] for row in rows if chosen[row.element] != row.version]
    versions = {**stored.versions, **read_versions(others, most=most_text(1) if len(rows) > 1 else None)}
    related = {**stored.references, **read_references(others, None, most_written_rows())}
    copies, refused = list[_VersionCopy](), dict[str, Sequence[str]]()
    for row in rows:
        source = versions[chosen[row.element]]
        held, denied = related.get(source.version, {}), stored.denied.get(source.element, NOTHING)
        current = LifecycleVersion(writer.configuration, writer.caller, source, held, denied)
        try:
            copies.append(_VersionCopy(writer, *_checked(current, known[row.element])))
        except Problem as problem:
            refused[row.element] = problem.details
    drawn = diagram_statements.find_drawn([each.source.row.version for each in copies])
    for copy in copies:
        if copy.source.row.version in drawn:
            try:
                with transaction.atomic():
                    copy.write()
            except Problem as problem:
                refused[copy.source.row.element] = problem.details
    _write_without_diagrams(writer, [each for each in copies if each.source.row.version not in drawn])
    return refused


def _checked(current: LifecycleVersion, known: Sequence[VersionNumber]) -> tuple[LifecycleVersion, VersionNumber]:
    require(current, Permission.EDIT, _("A new version"))
    if current.cycle is None:
        raise Conflict(_("Elements of type %(type)s have no versions.") % {"type": current.type.key})
    _refuse_second(current, known)
    if current.row.version not in _sources(known):
        text = _("%(label)s is neither the published nor the newest expired version; copy one of these.")
        raise Conflict(text % {"label": current.label})
    return current, known[-1]


def _sources(known: Sequence[VersionNumber]) -> list[str]:
    """Return the versions that can be copied: the published one and the newest retired one."""
    published = [each.version for each in known if each.category == Category.PUBLISHED]
    retired = [each.version for each in known if each.category == Category.RETIRED]
    return [*published, *retired[-1:]]


def _refuse_second(current: LifecycleVersion, known: Sequence[VersionNumber]) -> None:
    for each in known:
        if each.category in OPEN:
            text = _(
                "%(type)s %(element)s already has an open version: %(number)s (%(version)s) in the state %(state)s."
                " Release or delete it first."
            )
            words = {"number": each.number, "version": each.version, "state": each.state}
            raise Conflict(text % {"type": current.type.key, "element": current.row.element, **words})


@dataclass
class _VersionCopy:
    """A copy of a version under new ids. Elements that live only in its diagram are copied too (D11); references to
    other elements stay."""

    writer: Writer
    source: LifecycleVersion
    last: VersionNumber
    version: str = field(default_factory=lambda: str(uuid4()))

    @property
    def after(self) -> VersionRow:
        return self.source.row._replace(
            version=self.version,
            state=self.writer.configuration.cycles[self.source.type.key].first_state,
            category=Category.DRAFT.value,
            major=self.last.major,
            minor=self.last.minor + 1,
        )

    def write(self) -> None:
        row, after, author = self.source.row, self.after, self.writer.author
        diagram = read_diagram(row.version)
        living, copies = self._write_versions(diagram.shapes)
        statements.point_elements([(row.element, self.version, row.published)])
        copy_files({row.version: self.version, **copies}, NOT_COPIED)
        self._write_references(living, copies)
        self._write_diagram(diagram, copies)
        log_steps(author, [StepTaken(Step.VERSION, row, after)])
        drawn = [HistoryEntry(new, new, Action.CREATED, {}, {"copiedFrom": old}) for old, new in copies.items()]
        record(author, [self.entry, *drawn])

    def _write_versions(self, shapes: Sequence[DrawnShape]) -> tuple[list[VersionRow], dict[str, str]]:
        """Write the copies, in batches. Return the elements that live in the diagram, and the ids of their copies."""
        types = self.writer.configuration.types_by_id
        living: list[VersionRow] = []
        copies: dict[str, str] = {}
        new = [self.row]
        for batch in read_in_batches({shape.element for shape in shapes}):
            some = [each for each in batch if types[each.type].lives_in_diagrams]
            copies |= {each.element: str(uuid4()) for each in some}
            self._write_elements(some, copies)
            statements.insert_versions([*new, *(self._living_row(each, copies) for each in some)])
            new = []
            living += [each._replace(attributes="") for each in some]
        statements.insert_versions(new)
        return living, copies

    def _write_elements(self, living: Sequence[VersionRow], copies: Mapping[str, str]) -> None:
        parent = self.source.row.element
        first = statements.read_siblings([parent])[parent].next_position if living else 0
        statements.insert_elements(
            self.writer.configuration.sets,
            [
                (copies[each.element], each.creation, each.type, parent, first + place, "", copies[each.element], None)
                for place, each in enumerate(living)
            ],
        )

    @property
    def row(self) -> tuple[object, ...]:
        after, author = self.after, self.writer.author
        attributes = read_exactly(after.attributes)
        kept = {name: values for name, values in attributes.items() if name not in NOT_COPIED}
        return (
            after.version, after.element, after.state, after.category, after.major, after.minor, after.stereotype,
            to_json(kept).decode(), sort_name(kept, str(self.writer.configuration.cultures.default)), None,
            self.writer.no_end, author.now, author.element,
        )  # fmt: skip

    def _living_row(self, row: VersionRow, copies: Mapping[str, str]) -> tuple[object, ...]:
        author, copy = self.writer.author, copies[row.element]
        name = sort_name(read_exactly(row.attributes), str(self.writer.configuration.cultures.default))
        return (
            copy, copy, row.state, row.category, None, None, row.stereotype, row.attributes, name, row.valid_from,
            row.valid_until, author.now, author.element,
        )  # fmt: skip

    @property
    def related(self) -> dict[str, Sequence[str]]:
        own, caller = dict(self.source.related), self.writer.author.element
        # A caller without an element leaves the author as it is; without an author everyone could edit the copy.
        if caller is not None and has_author(self.source.type):
            own[AUTHOR] = [str(caller)]
        return own

    def _write_references(self, living: Sequence[VersionRow], copies: Mapping[str, str]) -> None:
        """Write the references; those to elements of the diagram point to the copies."""
        held = {self.version: self.related}
        for version, contexts in read_references([each.version for each in living], None, most_written_rows()).items():
            held[copies[version]] = dict(contexts)
        statements.replace_references(
            (version, context, [copies.get(target, target) for target in targets])
            for version, contexts in held.items()
            for context, targets in contexts.items()
        )

    def _write_diagram(self, diagram: StoredDiagram, copies: Mapping[str, str]) -> None:
        new: dict[str | None, str] = {each.shape: str(uuid4()) for each in diagram.shapes}
        new |= {each.lane: str(uuid4()) for each in diagram.lanes}
        diagram_statements.insert_lanes(
            self.version, [each._replace(lane=new[each.lane], parent=new.get(each.parent)) for each in diagram.lanes]
        )
        diagram_statements.insert_shapes(
            self.version,
            [
                each._replace(
                    shape=new[each.shape],
                    element=copies.get(each.element, each.element),
                    lane=new.get(each.lane),
                    container=new.get(each.container),
                    host=new.get(each.host),
                )
                for each in diagram.shapes
            ],
        )
        diagram_statements.insert_flows(
            [each._replace(shape=new[each.shape], predecessor=new[each.predecessor]) for each in diagram.flows]
        )
        diagram_statements.copy_source(self.source.row.version, self.version)

    @property
    def entry(self) -> HistoryEntry:
        after = self.after
        number = f"{after.major}.{after.minor}"
        noted = {"state": after.state, "version": number, "copiedFrom": self.source.row.version}
        return HistoryEntry(after.element, after.version, Action.VERSIONED, {}, noted)


def _write_without_diagrams(writer: Writer, copies: Sequence[_VersionCopy]) -> None:
    """Write copies of many versions without diagrams."""
    if not copies:
        return
    statements.insert_versions([each.row for each in copies])
    sources = [(each.source.row, each.version) for each in copies]
    statements.point_elements([(row.element, version, row.published) for row, version in sources])
    copy_files({row.version: version for row, version in sources}, NOT_COPIED)
    statements.replace_references(
        (each.version, context, targets) for each in copies for context, targets in each.related.items()
    )
    log_steps(writer.author, [StepTaken(Step.VERSION, each.source.row, each.after) for each in copies])
    record(writer.author, [each.entry for each in copies])
