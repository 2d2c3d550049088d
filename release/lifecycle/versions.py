"""Create a new version of an element (D18): an editable copy; the earlier version stays as it is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from uuid import uuid4

from django.utils.translation import gettext as _

from elements.naming import sort_name
from elements.permission_sets.callers import NOTHING
from elements.permissions import Permission
from elements.reading.assembly.attributes import read_exactly
from elements.reading.bounds import most_text, most_written_rows
from elements.reading.diagrams.drawings import StoredDiagram, read_diagrams
from elements.reading.rows import References, VersionRow, read_in_batches, read_references, read_versions
from elements.writing import statements
from elements.writing.attachments import copy_files
from elements.writing.deciding.making import AUTHOR, has_author
from elements.writing.diagrams import diagram_statements
from elements.writing.findings import no_element
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
    _write_copies(writer, [copy])
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

    The number of statements does not depend on the number of elements, nor on their diagrams (D456).
    """
    stored = lock_elements(elements, ()).visible()
    rows = [row for each in sorted(elements) if (row := stored.version_of(each, None))]
    known = read_numbers([row.element for row in rows])
    chosen = {row.element: next(iter(_sources(known[row.element])), row.version) for row in rows}
    others = [chosen[row.element] for row in rows if chosen[row.element] != row.version]
    versions = {**stored.versions, **read_versions(others, most=most_text(1) if len(rows) > 1 else None)}
    related = {**stored.references, **read_references(others, None, most_written_rows())}
    copies = list[_VersionCopy]()
    # Others may have deleted some of them.
    refused: dict[str, Sequence[str]] = {each: [no_element(each)] for each in elements if each not in stored.elements}
    for row in rows:
        source = versions[chosen[row.element]]
        held, denied = related.get(source.version, {}), stored.denied.get(source.element, NOTHING)
        current = LifecycleVersion(writer.configuration, writer.caller, source, held, denied)
        try:
            copies.append(_VersionCopy(writer, *_checked(current, known[row.element])))
        except Problem as problem:
            refused[row.element] = problem.details
    _write_copies(writer, copies)
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
    living: dict[str, str] = field(default_factory=dict)
    """Copies of the elements that live in the diagram, by element."""

    @property
    def after(self) -> VersionRow:
        return self.source.row._replace(
            version=self.version,
            state=self.writer.configuration.cycles[self.source.type.key].first_state,
            category=Category.DRAFT.value,
            major=self.last.major,
            minor=self.last.minor + 1,
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

    def living_row(self, row: VersionRow) -> tuple[object, ...]:
        author, copy = self.writer.author, self.living[row.element]
        name = sort_name(read_exactly(row.attributes), str(self.writer.configuration.cultures.default))
        return (
            copy, copy, row.state, row.category, None, None, row.stereotype, row.attributes, name, row.valid_from,
            row.valid_until, author.now, author.element,
        )  # fmt: skip

    def references(self, related: References) -> Iterator[tuple[str, str, Sequence[str]]]:
        """Yield version, context and targets. References to elements of the diagram point to the copies."""
        own, caller = dict(self.source.related), self.writer.author.element
        # A caller without an element leaves the author as it is; without an author everyone could edit the copy.
        if caller is not None and has_author(self.source.type):
            own[AUTHOR] = [str(caller)]
        held: Mapping[str, Mapping[str, Sequence[str]]]
        held = {self.version: own, **{copy: related.get(element, {}) for element, copy in self.living.items()}}
        for version, contexts in held.items():
            for context, targets in contexts.items():
                yield version, context, [self.living.get(target, target) for target in targets]

    def diagram(self, stored: StoredDiagram) -> StoredDiagram:
        new: dict[str | None, str] = {each.shape: str(uuid4()) for each in stored.shapes}
        new |= {each.lane: str(uuid4()) for each in stored.lanes}
        return StoredDiagram(
            [
                each._replace(
                    shape=new[each.shape],
                    element=self.living.get(each.element, each.element),
                    lane=new.get(each.lane),
                    container=new.get(each.container),
                    host=new.get(each.host),
                )
                for each in stored.shapes
            ],
            [each._replace(shape=new[each.shape], predecessor=new[each.predecessor]) for each in stored.flows],
            [each._replace(lane=new[each.lane], parent=new.get(each.parent)) for each in stored.lanes],
        )

    @property
    def entries(self) -> list[HistoryEntry]:
        after = self.after
        number = f"{after.major}.{after.minor}"
        noted = {"state": after.state, "version": number, "copiedFrom": self.source.row.version}
        return [
            HistoryEntry(after.element, after.version, Action.VERSIONED, {}, noted),
            *(HistoryEntry(new, new, Action.CREATED, {}, {"copiedFrom": old}) for old, new in self.living.items()),
        ]


def _write_copies(writer: Writer, copies: Sequence[_VersionCopy]) -> None:
    """Write copies of versions with their diagrams. Everything that can be too heavy is read before the first row is
    written."""
    if not copies:
        return
    sources = {each.source.row.version: each for each in copies}
    diagrams = read_diagrams(list(sources))
    shown: dict[str, list[_VersionCopy]] = {}
    for version, diagram in diagrams.items():
        for element in {each.element for each in diagram.shapes}:
            shown.setdefault(element, []).append(sources[version])
    related = read_references(list(shown), None, most_written_rows())
    _write_versions(writer, copies, shown)
    statements.point_elements([(each.source.row.element, each.version, each.source.row.published) for each in copies])
    pairs = [(each.source.row.version, each.version) for each in copies]
    copy_files([*pairs, *(pair for each in copies for pair in each.living.items())], NOT_COPIED)
    statements.replace_references(one for each in copies for one in each.references(related))
    drawn = {copy.version: copy.diagram(diagrams[version]) for version, copy in sources.items()}
    diagram_statements.insert_lanes({version: each.lanes for version, each in drawn.items()})
    diagram_statements.insert_shapes({version: each.shapes for version, each in drawn.items()})
    diagram_statements.insert_flows([flow for each in drawn.values() for flow in each.flows])
    diagram_statements.copy_sources(dict(pairs))
    log_steps(writer.author, [StepTaken(Step.VERSION, each.source.row, each.after) for each in copies])
    record(writer.author, [entry for each in copies for entry in each.entries])


def _write_versions(
    writer: Writer, copies: Sequence[_VersionCopy], shown: Mapping[str, Sequence[_VersionCopy]]
) -> None:
    """Write the versions, and copies of elements that live in their diagrams, in batches that fit into memory. `shown`
    has the copies whose diagrams show an element."""
    types = writer.configuration.types_by_id
    parents = sorted({each.source.row.element for shows in shown.values() for each in shows})
    positions = {parent: count(each.next_position) for parent, each in statements.read_siblings(parents).items()}
    new = [each.row for each in copies]
    for batch in read_in_batches(shown):
        elements = []
        for row in batch:
            for copy in shown[row.element] if types[row.type].lives_in_diagrams else ():
                id, parent = str(uuid4()), copy.source.row.element
                copy.living[row.element] = id
                elements.append((id, row.creation, row.type, parent, next(positions[parent]), "", id, None))
                new.append(copy.living_row(row))
        statements.insert_elements(writer.configuration.sets, elements)
        statements.insert_versions(new)
        new = []
    statements.insert_versions(new)
