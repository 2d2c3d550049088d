"""Create a new version of an element (D18): an editable copy; the earlier version stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from django.utils.translation import gettext as _

from elements.naming import sort_name
from elements.permissions import Permission
from elements.reading.assembly.attributes import read_exactly
from elements.reading.bounds import most_written_rows
from elements.reading.diagrams.drawings import DrawnShape, StoredDiagram, read_diagram
from elements.reading.rows import VersionRow, read_in_batches, read_references, read_versions
from elements.writing import statements
from elements.writing.attachments import copy_files
from elements.writing.deciding.making import AUTHOR, has_author
from elements.writing.diagrams import diagram_statements
from elements.writing.history import Action, HistoryEntry, record
from elements.writing.writers import Writer
from facets.blueprint.cycles import OPEN, Category
from release.steps.locking import LifecycleVersion, OnLocked, VersionNumber, lock_version, read_numbers, read_unlocked
from release.steps.log import Step, StepTaken, log_steps
from release.steps.permissions import require
from repository_site.core.problems import Conflict
from repository_site.core.rest.rendering import to_json

# Attributes that describe one version only.
NOT_COPIED = frozenset({"reasonForRevision"})


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
    known = read_numbers(current.row.element) if current.cycle else []
    sources = _sources(known)
    if named == current.row.element and sources and sources[0] != current.row.version:
        other = read_versions(sources[:1])[sources[0]]
        current = read_unlocked(current.configuration, current.caller, other)
    require(current, Permission.EDIT, _("A new version"))
    if current.cycle is None:
        raise Conflict(_("Elements of type %(type)s have no versions.") % {"type": current.type.key})
    _refuse_second(current, known)
    if current.row.version not in sources:
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

    def write(self) -> None:
        row, author = self.source.row, self.writer.author
        cycle = self.writer.configuration.cycles[self.source.type.key]
        diagram = read_diagram(row.version)
        after = row._replace(
            version=self.version,
            state=cycle.first_state,
            category=Category.DRAFT.value,
            major=self.last.major,
            minor=self.last.minor + 1,
        )
        living, copies = self._write_versions(after, diagram.shapes)
        statements.point_elements([(row.element, self.version, row.published)])
        copy_files({row.version: self.version, **copies}, NOT_COPIED)
        self._write_references(living, copies)
        self._write_diagram(diagram, copies)
        log_steps(author, [StepTaken(Step.VERSION, row, after)])
        self._record(after, copies)

    def _write_versions(
        self, after: VersionRow, shapes: Sequence[DrawnShape]
    ) -> tuple[list[VersionRow], dict[str, str]]:
        """Write the copies, in batches. Return the elements that live in the diagram, and the ids of their copies."""
        types = self.writer.configuration.types_by_id
        living: list[VersionRow] = []
        copies: dict[str, str] = {}
        new = [self._row(after)]
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
            [
                (copies[each.element], each.creation, each.type, parent, first + place, "", copies[each.element], None)
                for place, each in enumerate(living)
            ]
        )

    def _row(self, after: VersionRow) -> tuple[object, ...]:
        author, attributes = self.writer.author, read_exactly(after.attributes)
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

    def _write_references(self, living: Sequence[VersionRow], copies: Mapping[str, str]) -> None:
        """Write the references; those to elements of the diagram point to the copies."""
        own, caller = dict(self.source.related), self.writer.author.element
        # A caller without an element leaves the author as it is; without an author everyone could edit the copy.
        if caller is not None and has_author(self.source.type):
            own[AUTHOR] = [str(caller)]
        held = {self.version: own}
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

    def _record(self, after: VersionRow, copies: Mapping[str, str]) -> None:
        number = f"{after.major}.{after.minor}"
        own = HistoryEntry(
            after.element,
            after.version,
            Action.VERSIONED,
            {},
            {"state": after.state, "version": number, "copiedFrom": self.source.row.version},
        )
        drawn = [HistoryEntry(new, new, Action.CREATED, {}, {"copiedFrom": old}) for old, new in copies.items()]
        record(self.writer.author, [own, *drawn])
