"""The page of one version of an element, read in a fixed number of statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from elements import derived
from elements.info import ShownIn, drawn_of
from elements.naming import NAME
from elements.pages.diagrams import NOTHING_ASKED, Asked, ShapeLine, diagram_part
from elements.pages.uses import uses_address
from elements.pages.visits import Visit
from elements.presentation.labels import Badge, Fact, Kind, Named, Text, version_number
from elements.presentation.stereotypes import KEY, reading_stereotypes
from elements.presentation.trees import tree_view
from elements.presentation.uses import reading_uses
from elements.presentation.values import ShownAttribute, is_no_end, show_attribute, show_day, show_moment
from elements.reading import rows
from elements.reading.assembly.assembler import Assembler, Gathered, ancestors
from elements.reading.assembly.attributes import read_exactly
from elements.reading.assembly.projection import ATTRIBUTES, CONTENT, DERIVED, RELATED, ROOT_PATH, Wanted
from elements.reading.diagrams.pictures import reading_drawn_shapes
from elements.reading.former import Former
from elements.reading.lists import selection as selecting
from elements.reading.names import ByCulture, version_names_of
from elements.reading.rows import Identity, ShapeRow, VersionRow
from facets.blueprint.cycles import OPEN
from facets.blueprint.definitions import ElementType, Property
from repository_site.core.database.statements import Reading, ask_all, ask_for, read_together, side_by_side

CHILDREN_SHOWN, USES_SHOWN = 50, 20
# Contexts that the page shows elsewhere: people beside the dates, and the release history as the table of versions.
NOT_SHOWN = frozenset({NAME, KEY})
IN_FACTS = frozenset({*derived.CALLERS, derived.RELEASE_HISTORY})
STAMPS_WITH_CALLERS = (("relOn", "relBy"), ("changedOn", "changedBy"), ("createdOn", "createdBy"))


@dataclass(frozen=True, slots=True)
class RelatedLinks:
    label: str
    help: str
    links: Sequence[Named]


@dataclass(frozen=True, slots=True)
class VersionLine:
    """A row of the table of versions. Dates that do not exist yet are empty."""

    number: str
    address: str
    state: Badge | None
    valid_from: str
    valid_until: str
    released_on: str
    is_shown: bool


@dataclass(frozen=True, slots=True)
class Note:
    """`compare` is the address of the comparison with the version to which the note leads."""

    text: str
    address: str = ""
    link: str = ""
    compare: str = ""


@dataclass(frozen=True, slots=True)
class DiagramPlace:
    """A diagram that shows the element; the address selects its shape."""

    link: Named
    number: str
    address: str


@dataclass(frozen=True, slots=True)
class ChildPage:
    links: Sequence[Named]
    number: int
    has_next: bool

    @property
    def has_several(self) -> bool:
        return self.has_next or self.number > 1


@dataclass(frozen=True)
class Material:
    """The data of one page, without anything that the reader must not see."""

    row: VersionRow
    gathered: Gathered
    flows: Mapping[str, Sequence[str]]
    children: Sequence[VersionRow]
    versions: Sequence[VersionRow]
    drawn: Sequence[ShownIn]
    owners: Mapping[str, VersionRow]
    """Versions whose diagrams show the element, by version id."""
    names: Mapping[str, ByCulture]
    stereotype: str

    @cached_property
    def shapes(self) -> list[ShapeRow]:
        """Shapes of the element's own diagram whose elements the reader can see."""
        shapes = self.gathered.shapes.get(self.row.version, ())
        return [each for each in shapes if each.element in self.gathered.links.identities]


def reading_material(visit: Visit, assembler: Assembler, row: VersionRow, child_page: int) -> Reading[Material]:
    """Read the parts together, and then the names of all elements that they show."""
    audience = visit.reader.audience
    below = selecting.children_of(audience, row.element, assembler.child_types)
    gathered, (flows, children, versions), (drawn, owners), stereotypes = yield from side_by_side(
        assembler.gathering([row]),
        ask_all(
            rows.predecessors_in(row.version),
            selecting.page_of(below, CHILDREN_SHOWN + 1, (child_page - 1) * CHILDREN_SHOWN),
            selecting.page_of(selecting.versions_of(audience, row.element), None),
        ),
        _reading_places(visit, row),
        reading_stereotypes(visit, [row.stereotype]),
    )
    named = {each.version for each in gathered.links.identities.values()} | owners.keys()
    names = yield from ask_for(version_names_of(named | {each.version for each in children}))
    stereotype = stereotypes.get(row.stereotype, "")
    return Material(row, gathered, flows, children, versions, drawn, owners, names, stereotype)


def _reading_places(visit: Visit, row: VersionRow) -> Reading[tuple[list[ShownIn], dict[str, VersionRow]]]:
    drawn = yield from ask_for(drawn_of(visit.reader.audience, row.element))
    owners = yield from rows.reading_versions([each.version for each in drawn], with_attributes=False)
    return drawn, owners


class ElementReaderPage:
    """`office_address` is the page of the element in the back office, for visitors who work there. `former` is what the
    address meant, if the visitor sees its successor instead (D411). `beside` is read together with the page."""

    def __init__(
        self,
        visit: Visit,
        row: VersionRow,
        child_page: int = 1,
        asked: Asked = NOTHING_ASKED,
        *,
        office_address: str = "",
        former: Former | None = None,
        beside: Reading[Any],
    ) -> None:
        self.visit = visit
        self.row = row
        self.child_page = child_page
        self.asked = asked
        self.office_address = office_address
        self.former = former
        view = visit.reader.addresses.detail_view(self.type)
        # Children and versions are read separately.
        self.assembler = Assembler(visit.reader, view, Wanted(frozenset({ATTRIBUTES, RELATED, CONTENT, ROOT_PATH})))
        self.material, self.uses, drawn, self.beside = read_together(
            reading_material(visit, self.assembler, row, child_page),
            reading_uses(visit, row, self.name, USES_SHOWN),
            reading_drawn_shapes(visit.reader, row, asked.layout) if self.type.has_diagram else ask_all(),
            beside,
        )
        self.diagram = diagram_part(visit, row, drawn, self._shape_lines(), asked) if self.material.shapes else None

    @property
    def type(self) -> ElementType:
        return self.visit.reader.types[self.row.type]

    @cached_property
    def properties(self) -> Mapping[str, Property]:
        shown = self.assembler.view.types.get(self.type.key)
        return shown.properties if shown else {}

    @cached_property
    def values(self) -> Mapping[str, Mapping[str, Any]]:
        shown = self.assembler.projection.types[self.row.type]
        has_authors = self.material.gathered.links.has_authors(self.row)
        return self.visit.reader.writer.attributes(self.row, shown, has_authors=has_authors)

    @cached_property
    def name(self) -> Text:
        """The heading of the page, even if the view does not show the name."""
        return self.visit.name(read_exactly(self.row.attributes).get(NAME, {}))

    @property
    def kind(self) -> Kind:
        return self.visit.kind(self.type)

    @property
    def state(self) -> Badge | None:
        return self.visit.badge(self.type, self.row.state)

    @property
    def number(self) -> str:
        return version_number(self.row.major, self.row.minor)

    @property
    def address(self) -> str:
        return self.visit.address(self.row)

    @property
    def own_address(self) -> str:
        """The address that a printed copy names."""
        return self.address

    @property
    def facet_address(self) -> str:
        return self.visit.facet_address(self.type.facet)

    @property
    def facet_title(self) -> str:
        return self.visit.facet(self.type.facet)

    @property
    def tree_address(self) -> str:
        """Address of the facet's tree, opened at this element; empty if the element is not in the tree."""
        view = tree_view(self.visit.configuration.facet(self.type.facet))
        if view is None or not view.types.get(self.type.key) or self.type.lives_in_diagrams:
            return ""
        top = self._above[0].type if self._above else self.row.type
        root = view.types.get(self.visit.reader.types[top].key)
        is_in_tree = root is not None and root.is_root
        return f"{self.facet_address}?open={self.row.element}#e-{self.row.element}" if is_in_tree else ""

    @property
    def breadcrumb(self) -> list[Named]:
        return self._links(self._above)

    @cached_property
    def _above(self) -> list[Identity]:
        """Ancestors from the root down, without those that the reader cannot see (D56)."""
        known = self.material.gathered.links.identities
        above = ancestors(self.row.parent, self.material.gathered.parents)
        return [known[each] for each in above if each in known][::-1]

    @property
    def validity(self) -> str:
        start, end = self.row.valid_from, self.row.valid_until
        if not self.type.is_versioned or (start is None and is_no_end(end)):
            return ""
        if start is None:
            return _("Valid until %(day)s") % {"day": self._day(end)}
        if is_no_end(end):
            return _("Valid from %(day)s") % {"day": self._day(start)}
        return _("Valid from %(first)s until %(last)s") % {"first": self._day(start), "last": self._day(end)}

    @property
    def author_note(self) -> Text:
        return self.visit.chosen(self.values.get(derived.AUTHOR_NOTE, {}))

    @cached_property
    def attributes(self) -> list[ShownAttribute]:
        """Stored attributes in the order of the view, without the name, which is the heading, and keys."""
        shown = (
            show_attribute(self.visit, property, self.values.get(key, {}))
            for key, property in self.properties.items()
            if key not in NOT_SHOWN and key not in DERIVED
        )
        return [each for each in shown if each is not None]

    @cached_property
    def related(self) -> list[RelatedLinks]:
        contexts = [key for key, each in self.properties.items() if each.related and key not in IN_FACTS]
        found = self.material.gathered.links.related(self.row, contexts)
        return [self._context(self.properties[key], targets) for key, targets in found.items()]

    @cached_property
    def children(self) -> ChildPage:
        shown = [each.identity for each in self.material.children[:CHILDREN_SHOWN]]
        has_next = len(self.material.children) > CHILDREN_SHOWN
        return ChildPage(self._links(shown), self.child_page, has_next)

    @property
    def all_uses(self) -> str:
        """Address of the page with all uses; empty if this page shows them."""
        return uses_address(self.visit, self.row) if self.uses.has_more else ""

    @cached_property
    def places(self) -> list[DiagramPlace]:
        """Current diagrams that show the element; if there are none, past ones."""
        found = [(each, self.material.owners[each.version]) for each in self.material.drawn]
        current = [(drawn, owner) for drawn, owner in found if owner.version == self._current(owner)]
        return [
            DiagramPlace(
                self.visit.link(owner, self.material.names.get(owner.version, {})),
                version_number(owner.major, owner.minor),
                f"{self.visit.address(owner)}?shape={drawn.shape}#diagram",
            )
            for drawn, owner in current or found
        ]

    @cached_property
    def versions(self) -> list[VersionLine]:
        if not self.type.is_versioned:
            return []
        return [self._version_line(each) for each in reversed(self.material.versions)]

    @cached_property
    def notes(self) -> list[Note]:
        """Hints from an older version to the current one and, for callers who see versions in process, between the
        released version and the one in process."""
        if self.former is not None:
            return [Note(self._instead_of(self.former))]
        if not self.type.is_versioned:
            return []
        sees_drafts = self.visit.reader.audience.sees_drafts
        return list(self._notes(self._current(self.row), self.row.published if sees_drafts else None))

    @cached_property
    def facts(self) -> list[Fact]:
        return list(self._facts())

    @property
    def api_address(self) -> str:
        reader = self.visit.reader
        return reader.address(reader.addresses.detail(self.type), self.row.identity)

    def _shape_lines(self) -> list[ShapeLine]:
        drawn = self.material.gathered.links.identities
        links = {each.shape: self._links([drawn[each.element]])[0] for each in self.material.shapes}
        before = self.material.flows
        return [
            ShapeLine(shape, link, [links[one].name for one in before.get(shape, ()) if one in links])
            for shape, link in links.items()
        ]

    def _current(self, row: VersionRow) -> str | None:
        """Return the version that the element id addresses for this reader (D6)."""
        return row.newest if self.visit.reader.audience.sees_drafts else row.published

    def _notes(self, current: str | None, published: str | None) -> Iterator[Note]:
        by_id = {each.version: each for each in self.material.versions}
        is_open = self.row.category in OPEN
        if current in by_id and current != self.row.version:
            is_in_work = by_id[current].category in OPEN and self.row.version == published
            yield self._note(
                _("A newer version is in process.") if is_in_work else _("This is an older version."), by_id[current]
            )
        if published in by_id and published not in (self.row.version, None if is_open else current):
            text = _("This version is not released.") if is_open else _("Another version is released.")
            yield self._note(text, by_id[published])

    def _note(self, text: str, other: VersionRow) -> Note:
        link = _("Go to version %(number)s") % {"number": version_number(other.major, other.minor)}
        pair = urlencode({"tab": "versions", "old": self.row.version, "new": other.version})
        compare = f"{self.office_address}?{pair}" if self.office_address else ""
        return Note(text, self.visit.address(other), link, compare)

    def _instead_of(self, former: Former) -> str:
        old = version_number(former.major, former.minor)
        if not old:
            return _("The link leads to a part of an earlier version. This page shows its replacement.")
        text = _("The link leads to version %(old)s, which is not valid any more. This is version %(new)s.")
        return text % {"old": old, "new": self.number}

    @property
    def is_current(self) -> bool:
        """Whether the id of the element leads here, too."""
        return self.row.version == self._current(self.row)

    def _version_line(self, row: VersionRow) -> VersionLine:
        return VersionLine(
            version_number(row.major, row.minor),
            self.visit.address(row),
            self.visit.badge(self.type, row.state),
            self._day(row.valid_from),
            _("no end") if is_no_end(row.valid_until) else self._day(row.valid_until),
            self._day(row.released_on),
            row.version == self.row.version,
        )

    def _facts(self) -> Iterator[Fact]:
        if self.row.stereotype and derived.STEREOTYPE in self.properties:
            yield Fact(self._label(derived.STEREOTYPE), self.material.stereotype)
        for stamp, context in STAMPS_WITH_CALLERS:
            moment = getattr(self.row, derived.STAMPS[stamp])
            by = self.material.gathered.links.related(self.row, [context] if context in self.properties else [])
            if moment is not None and stamp in self.properties:
                yield Fact(self._label(stamp), self._moment(moment), self._links(by.get(context, ())))

    def _label(self, key: str) -> str:
        return self.visit.property(self.properties[key])

    def _context(self, property: Property, targets: Sequence[Identity]) -> RelatedLinks:
        return RelatedLinks(self.visit.property(property), self.visit.help(property), self._links(targets))

    def _links(self, targets: Sequence[Identity]) -> list[Named]:
        return self.visit.links(targets, self.material.names)

    def _day(self, moment: datetime | None) -> str:
        return "" if moment is None else show_day(self.visit.lcid, moment.astimezone(self.visit.reader.zone).date())

    def _moment(self, moment: datetime) -> str:
        return show_moment(self.visit.lcid, moment.astimezone(self.visit.reader.zone))
