"""A new version of an element (D18): a copy to go on working with, while the earlier one stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from django.utils.translation import gettext as _

from elements.naming import sort_name
from elements.permissions import Permission
from elements.reading.assembly.attributes import read_exactly
from elements.reading.rows import (
    ShapeRow,
    VersionRow,
    read_predecessors,
    read_references,
    read_shapes,
    read_versions,
)
from elements.writing import statements
from elements.writing.history import Action, HistoryEntry, record
from elements.writing.updating import AUTHOR, Writer, has_author
from facets.blueprint.cycles import OPEN, Category
from release.steps.holding import KnownNumber, Life, OnHeld, hold, read_numbers
from release.steps.log import Step, Taken, log_steps
from release.steps.permissions import require
from repository_site.core.problems import Conflict
from repository_site.core.rest.rendering import to_json

# What is said of one version only.
NOT_COPIED = frozenset({"reasonForRevision"})


def create_version(writer: Writer, found: VersionRow, *, named: str, on_held: OnHeld | None = None) -> str:
    """The id of the new version. `named` is the id that was asked with: an element's stands for its published version,
    else the newest retired one; a version must be one of these."""
    life, last = choose_source(hold(writer, found, named=named, on_held=on_held), named)
    copy = _Copy(writer, life, last)
    copy.write()
    return copy.version


def choose_source(life: Life, named: str) -> tuple[Life, KnownNumber]:
    """What a new version would be a copy of, and the last version there is; what stands against it is raised."""
    known = read_numbers(life.row.element) if life.cycle else []
    sources = _sources(known)
    if named == life.row.element and sources and sources[0] != life.row.version:
        life = _life_of(life, sources[0])
    require(life, Permission.EDIT, _("A new version"))
    if life.cycle is None:
        raise Conflict(_("A %(type)s has no versions.") % {"type": life.type.key})
    _refuse_second(life, known)
    if life.row.version not in sources:
        text = _("%(label)s is neither the published version nor the newest that was; make it of that one.")
        raise Conflict(text % {"label": life.label})
    return life, known[-1]


def _sources(known: Sequence[KnownNumber]) -> list[str]:
    """What a new version can be made of: the published version, and the newest retired one."""
    published = [each.version for each in known if each.category == Category.PUBLISHED]
    retired = [each.version for each in known if each.category == Category.RETIRED]
    return [*published, *retired[-1:]]


def _life_of(life: Life, version: str) -> Life:
    """Another version of the same element."""
    related = read_references([version], None).get(version, {})
    return Life(life.configuration, life.caller, read_versions([version])[version], related)


def _refuse_second(life: Life, known: Sequence[KnownNumber]) -> None:
    for each in known:
        if each.category in OPEN:
            text = _(
                "%(type)s %(element)s has a version in work already. Version %(number)s (%(version)s) is in the state"
                " %(state)s; there can be one at a time."
            )
            words = {"number": each.number, "version": each.version, "state": each.state}
            raise Conflict(text % {"type": life.type.key, "element": life.row.element, **words})


@dataclass
class _Copy:
    """Everything that a version consists of, under new ids. What lives only in its diagram is copied with it (D11);
    what has a life of its own is referred to as before."""

    writer: Writer
    source: Life
    last: KnownNumber
    version: str = field(default_factory=lambda: str(uuid4()))

    def write(self) -> None:
        row, author = self.source.row, self.writer.author
        cycle = self.writer.configuration.cycles[self.source.type.key]
        shapes = read_shapes([row.version]).get(row.version, [])
        drawn = read_versions({shape.element for shape in shapes})
        living = [each for each in drawn.values() if self._lives_in_diagram(each)]
        copies = {each.element: str(uuid4()) for each in living}
        after = row._replace(
            version=self.version,
            state=cycle.first_state,
            category=Category.DRAFT.value,
            major=self.last.major,
            minor=self.last.minor + 1,
        )
        self._write_elements(living, copies)
        statements.insert_versions([self._row(after), *(self._living_row(each, copies) for each in living)])
        statements.point_elements([(row.element, self.version, row.published)])
        self._write_references(living, copies)
        self._write_diagram(shapes, copies)
        log_steps(author, [Taken(Step.VERSION, row, after)])
        self._record(after, copies)

    def _lives_in_diagram(self, row: VersionRow) -> bool:
        return self.writer.configuration.types_by_id[row.type].lives_in_diagrams

    def _write_elements(self, living: Sequence[VersionRow], copies: Mapping[str, str]) -> None:
        parent = self.source.row.element
        first = statements.next_positions([parent])[parent] if living else 0
        statements.insert_elements(
            [
                (copies[each.element], each.creation, each.type, parent, first + place, copies[each.element], None)
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
        """What refers to something in the diagram refers to its copy from now on."""
        own, caller = dict(self.source.related), self.writer.author.element
        # Who has no element leaves the author as it is: the copy must not be open to everybody.
        if caller is not None and has_author(self.source.type):
            own[AUTHOR] = [str(caller)]
        held = {self.version: own}
        for version, contexts in read_references([each.version for each in living], None).items():
            held[copies[version]] = dict(contexts)
        statements.replace_references(
            (version, context, [copies.get(target, target) for target in targets])
            for version, contexts in held.items()
            for context, targets in contexts.items()
        )

    def _write_diagram(self, shapes: Sequence[ShapeRow], copies: Mapping[str, str]) -> None:
        ids = {shape.shape: str(uuid4()) for shape in shapes}
        statements.insert_shapes(
            [
                (ids[shape.shape], self.version, copies.get(shape.element, shape.element), place)
                for place, shape in enumerate(shapes)
            ]
        )
        before = read_predecessors(list(ids))
        statements.insert_flows([(ids[shape], ids[one]) for shape in ids for one in before.get(shape, ())])

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
