"""Ways through a storage: its facets, the trees in them, and the same place in another language."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpRequest
from django.utils.encoding import escape_uri_path

from elements.pages.lists import place_of, read_by_name
from elements.pages.visits import Kind, Link, Visit
from elements.reading import rows
from elements.reading import selection as selecting
from elements.reading.assembly.addresses import REPORTING
from elements.reading.assembly.assembler import ancestors
from elements.reading.names import ByCulture, read_version_names
from elements.reading.rows import IDENTITY, Audience, Identity, VersionRow
from facets.configuration import CompiledFacet, CompiledView
from repository_site.core.database.statements import fetch
from storage.localisation.culture_names import language_names, language_tag

ROOTS = 100
# Siblings shown of one parent; the parent's own page has all of them.
SIBLINGS = 100
# As many roots are shown with what is below them.
FEW_ROOTS = 3


@dataclass(frozen=True, slots=True)
class TypeEntry:
    key: str
    kind: Kind
    lives_in_diagrams: bool


@dataclass(frozen=True, slots=True)
class FacetEntry:
    """`types` are those that have elements."""

    name: str
    title: str
    address: str
    types: Sequence[TypeEntry]
    has_tree: bool

    @property
    def kinds(self) -> list[Kind]:
        return [each.kind for each in self.types if not each.lives_in_diagrams]


@dataclass(frozen=True, slots=True)
class Language:
    """The page being read, in another culture."""

    name: str
    tag: str
    address: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Branch:
    """An element in a tree. `below` is empty while it is closed; `has_more` says that only the first are shown."""

    element: str
    link: Link
    is_openable: bool
    is_open: bool
    parent: str
    below: Sequence[Branch] = ()
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """`next` is the version after which the next page of roots begins. `is_part` says that only one root is shown,
    since the others fill pages of their own."""

    roots: Sequence[Branch]
    is_part: bool = False
    is_later: bool = False
    next: str = ""


def read_facets(visit: Visit) -> list[FacetEntry]:
    """The facets that hold something the reader gets to see, in their order."""
    filled = _filled_types(visit.reader.audience)
    types = [type for row, type in visit.reader.types.items() if row in filled]
    found = []
    for compiled in visit.configuration.facets.values():
        facet = compiled.facet
        own = [type for type in types if type.facet == facet.name]
        if own:
            entries = [TypeEntry(type.key, visit.kind(type), type.lives_in_diagrams) for type in own]
            title, address = facet_title(visit, compiled), visit.facet(facet.name)
            found.append(FacetEntry(facet.name, title, address, entries, tree_view(compiled) is not None))
    return found


def facet_title(visit: Visit, facet: CompiledFacet) -> str:
    return visit.word(facet.facet.display_names, facet.facet.name)


def languages(request: HttpRequest, visit: Visit) -> list[Language]:
    """Each leads to this very place: the same path and the same question, under another culture."""
    cultures = visit.configuration.cultures.data
    names = language_names(cultures)
    place = escape_uri_path(request.path_info.lstrip("/").partition("/")[2])
    query = f"?{request.META['QUERY_STRING']}" if request.META.get("QUERY_STRING") else ""
    return [
        Language(names[lcid], language_tag(lcid), f"{visit.storage_path}/{lcid}/{place}{query}", lcid == visit.lcid)
        for lcid in cultures
    ]


def tree_view(facet: CompiledFacet) -> CompiledView | None:
    """The first hierarchical view; that of reporting has another use (D14)."""
    views = (each for each in facet.views.values() if each.view.is_hierarchical)
    return next((each for each in views if each.view.name.casefold() != REPORTING), None)


class TreeReader:
    """A tree as one view shows it, with one path open; everything deeper is a link away."""

    def __init__(self, visit: Visit, view: CompiledView) -> None:
        self.visit = visit
        self.view = view
        self.audience = visit.reader.audience
        ids = visit.configuration.type_ids
        self.types = [str(ids[key]) for key, shown in view.types.items() if not shown.type.lives_in_diagrams]
        self.root_types = [str(ids[key]) for key, shown in view.types.items() if shown.is_root]

    def read(self, opened: VersionRow | None, after: str) -> Tree:
        all_roots = selecting.roots_of_types(self.audience, self.root_types)
        place = place_of(self.audience, after)
        page = read_by_name(all_roots, place, ROOTS)
        roots = [row.identity for row in page.rows]
        path = self._path(opened) if opened is not None else []
        is_part = bool(path) and path[0] not in {root.element for root in roots}
        if is_part:
            own = rows.read_identities(self.audience, path[:1]).values()
            is_part = any(root.type in self.root_types for root in own)
            roots = list(own) if is_part else roots
        few = [root.element for root in roots] if len(roots) <= FEW_ROOTS else []
        open_ones = list(dict.fromkeys([*path, *few]))
        below = _read_below(self.audience, open_ones, self.types)
        shown = [*roots, *(each for some in below.values() for each in some)]
        parents = _parents_among(self.audience, [each.element for each in shown], self.types)
        names = read_version_names({each.version for each in shown})
        growing = _Growing(self.visit, below, parents, names, frozenset(open_ones))
        branches = [growing.branch(root, "") for root in roots]
        return Tree(branches, is_part=True) if is_part else Tree(branches, False, place is not None, page.next)

    def _path(self, opened: VersionRow) -> list[str]:
        """From the root down to what is to be open; empty when it does not stand in this tree."""
        parents = rows.read_parents({opened.parent} if opened.parent else ())
        above = list(ancestors(opened.parent, parents))[::-1]
        return [*above, opened.element] if opened.type in self.types else []


@dataclass(frozen=True, slots=True)
class _Growing:
    visit: Visit
    below: Mapping[str, Sequence[Identity]]
    parents: Collection[str]
    names: Mapping[str, ByCulture]
    open_ones: Collection[str]

    def branch(self, of: Identity, parent: str) -> Branch:
        children = self.below.get(of.element, ())
        return Branch(
            of.element,
            self.visit.link(of, self.names.get(of.version, {})),
            of.element in self.parents,
            of.element in self.open_ones and bool(children),
            parent,
            [self.branch(child, of.element) for child in children[:SIBLINGS]],
            len(children) > SIBLINGS,
        )


def _filled_types(audience: Audience) -> set[str]:
    """The types of which there is an element: from one to the next in the index, since reading all would take long."""
    one = f"""SELECT e.type_id FROM elements_element e WHERE e.{audience.pointer} IS NOT NULL AND e.type_id > %s::uuid
            ORDER BY e.type_id LIMIT 1"""  # noqa: S608  constants of ours
    sql = f"""WITH RECURSIVE filled AS (({one}) UNION ALL SELECT next.type_id FROM filled
            CROSS JOIN LATERAL ({one.replace("%s::uuid", "filled.type_id")}) AS next)
        SELECT type_id::text FROM filled"""  # noqa: S608  constants of ours
    return {row[0] for row in fetch(sql, [str(UUID(int=0))])}


def _read_below(audience: Audience, parents: Sequence[str], types: Sequence[str]) -> dict[str, list[Identity]]:
    """The first children of each, in their order, and one more than is shown."""
    if not parents:
        return {}
    sql = f"""SELECT c.* FROM unnest(%s::uuid[]) AS p(id) CROSS JOIN LATERAL (
            SELECT e.parent_id::text AS parent, e.position AS place, e.id AS own, {IDENTITY} FROM elements_element e
            JOIN elements_elementversion v ON v.id = e.{audience.pointer}
            WHERE e.parent_id = p.id AND e.type_id = ANY(%s::uuid[]) ORDER BY e.position, e.id LIMIT %s) AS c
        ORDER BY c.parent, c.place, c.own"""  # noqa: S608  constants of ours
    found: dict[str, list[Identity]] = {}
    for parent, _place, _own, *identity in fetch(sql, [list(parents), list(types), SIBLINGS + 1]):
        found.setdefault(parent, []).append(Identity(*identity))
    return found


def _parents_among(audience: Audience, elements: Iterable[str], types: Sequence[str]) -> set[str]:
    """Which of the elements have something below them that the reader gets to see."""
    wanted = list(dict.fromkeys(elements))
    if not wanted:
        return set()
    # The order makes the planner go by the index, however many children it expects there to be.
    sql = f"""SELECT p.id::text FROM unnest(%s::uuid[]) AS p(id) CROSS JOIN LATERAL (
            SELECT FROM elements_element e WHERE e.parent_id = p.id AND e.type_id = ANY(%s::uuid[])
            AND e.{audience.pointer} IS NOT NULL ORDER BY e.position, e.id LIMIT 1) AS one"""  # noqa: S608  constants of ours
    return {row[0] for row in fetch(sql, [wanted, list(types)])}
