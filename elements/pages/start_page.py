"""The start page of a storage: process map, latest releases, and entry points by role and organisation (D423).

It takes a fixed number of statements, however large the storage is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.functional import cached_property

from elements.pages.lists import first_by_name
from elements.pages.navigation import FacetEntry
from elements.pages.visits import Visit
from elements.presentation.labels import Named
from elements.presentation.trees import Branch, Tree, tree_view
from elements.presentation.values import show_day
from elements.reading.lists import selection as selecting
from elements.reading.names import version_names_of
from elements.reading.rows import IDENTITY, Identity, VersionRow
from facets.configuration import CompiledView
from repository_site.core.database.statements import Question, Reading, ask_for, id_array, read_together

NEWS = 10
# Released versions among which the latest are chosen; those that a newer version has replaced are left out.
RECENT = 200
ENTRIES = 12
# Facets of the standard template by which people find their work.
ENTRY_FACETS = ("roles", "organization")
MAPS, CARDS = 10, 30
Released = list[tuple[Identity, datetime]]


@dataclass(frozen=True, slots=True)
class MapBand:
    """A part of the process map, such as the core processes, with its processes."""

    link: Named
    processes: Sequence[Named]
    has_more: bool


@dataclass(frozen=True, slots=True)
class ProcessMap:
    """`others` are further maps of the facet, which have no processes of their own below them."""

    title: str
    address: str
    bands: Sequence[MapBand]
    others: Sequence[Named]


@dataclass(frozen=True, slots=True)
class News:
    link: Named
    released_on: str


@dataclass(frozen=True, slots=True)
class EntryPoints:
    title: str
    address: str
    links: Sequence[Named]
    has_more: bool


class StartPage:
    """`facets` are those that the visitor sees in the menu."""

    def __init__(self, visit: Visit, facets: Sequence[FacetEntry]) -> None:
        self.visit = visit
        self.facets = facets
        self.map, (self._released, self._listed, self._links) = read_together(self._map(), self._reading_lists())

    @cached_property
    def news(self) -> list[News]:
        zone = self.visit.reader.zone
        return [
            News(self._links[each.element], show_day(self.visit.lcid, on.astimezone(zone).date()))
            for each, on in self._released
        ]

    @cached_property
    def entries(self) -> list[EntryPoints]:
        known = {each.name: each for each in self.facets}
        return [
            EntryPoints(
                known[name].title,
                known[name].address,
                [self._links[each.element] for each in self._listed[name][:ENTRIES]],
                len(self._listed[name]) > ENTRIES,
            )
            for name in ENTRY_FACETS
            if self._listed.get(name)
        ]

    def _map(self) -> Reading[ProcessMap | None]:
        """Return the map of the first facet that has one."""
        for entry in self.facets:
            view = tree_view(self.visit.configuration.facet(entry.name))
            if view is not None and any(shown.is_root and self._is_map(key) for key, shown in view.types.items()):
                bands, others = yield from self._reading_map(view)
                if bands or others:
                    return ProcessMap(entry.title, entry.address, bands, others)
        return None

    def _reading_map(self, view: CompiledView) -> Reading[tuple[list[MapBand], list[Named]]]:
        tree = Tree(self.visit, view, CARDS)
        page = yield from ask_for(first_by_name(tree.roots, MAPS))
        roots = [row.identity for row in page if self._is_map(self.visit.reader.types[row.type].key)]
        children = yield from tree.children_of(roots)
        parts = [each for each in children if self._is_map(self.visit.reader.types[each.type].key)]
        opened = [each.element for each in (*roots, *parts[: MAPS * CARDS])]
        branches = yield from tree.grow(roots, opened, lambda place: "")
        bands = [band for branch in branches for band in self._bands(branch)]
        with_bands = {band.link.element for band in bands} | {
            branch.link.element for branch in branches if any(each.below for each in branch.below)
        }
        return bands, [each.link for each in branches if each.link.element not in with_bands]

    def _bands(self, branch: Branch) -> Iterable[MapBand]:
        """Return the processes of a map itself, and those of each of its parts, in the order of the tree."""
        own = [each.link for each in branch.below if not self._is_map(each.link.type.key)]
        if own:
            yield MapBand(branch.link, own, branch.has_more)
        for part in branch.below:
            if part.below and self._is_map(part.link.type.key):
                yield MapBand(part.link, [each.link for each in part.below], part.has_more)

    def _is_map(self, key: str) -> bool:
        """Tell whether diagrams of a type show nothing but elements that exist outside of diagrams."""
        types = self.visit.configuration.types
        inside = [types[each] for each in types[key].insertables if each in types]
        return types[key].has_diagram and bool(inside) and not any(each.lives_in_diagrams for each in inside)

    def _reading_lists(self) -> Reading[tuple[Released, dict[str, list[Identity]], dict[str, Named]]]:
        """Read the versions that were released last, and the first elements of the facets where people start."""
        listed = [each for each in self.facets if each.name in ENTRY_FACETS]
        released, *pages = yield [self._released_last(), *(self._first(each) for each in listed)]
        firsts = {entry.name: [row.identity for row in page] for entry, page in zip(listed, pages, strict=True)}
        shown = [each for each, _ in released] + [each for some in firsts.values() for each in some]
        names = yield from ask_for(version_names_of({each.version for each in shown}))
        return released, firsts, {each.element: each for each in self.visit.links(shown, names)}

    def _released_last(self) -> Question[Released]:
        names = {each.name for each in self.facets}
        ids = self.visit.configuration.type_ids
        types = [str(ids[key]) for key, type in self.visit.configuration.types.items() if type.facet in names]
        sql = f"""SELECT {IDENTITY}, n.released_on FROM (SELECT r.id, r.element_id, r.released_on
                FROM elements_elementversion r WHERE r.released_on IS NOT NULL
                ORDER BY r.released_on DESC LIMIT {RECENT}) AS n
            JOIN elements_element e ON e.id = n.element_id AND e.published_id = n.id
            JOIN elements_elementversion v ON v.id = n.id
            WHERE e.type_id = ANY(%s::uuid[]) ORDER BY n.released_on DESC, e.id LIMIT {NEWS}"""  # noqa: S608  constants
        return Question(
            sql,
            [id_array(types)],
            lambda rows: [(Identity(*identity), released_on) for *identity, released_on in rows],
        )

    def _first(self, entry: FacetEntry) -> Question[list[VersionRow]]:
        ids = self.visit.configuration.type_ids
        types = [str(ids[each.key]) for each in entry.types if not each.lives_in_diagrams]
        return first_by_name(selecting.of_types(self.visit.reader.audience, types), ENTRIES + 1)
