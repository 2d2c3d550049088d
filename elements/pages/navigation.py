"""Navigation through a storage: its facets, their trees, and the same page in another language."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpRequest
from django.utils.encoding import escape_uri_path

from elements.appearance import appearance_of_scope
from elements.models import Appearance
from elements.pages.lists import cursor_of, read_by_name
from elements.pages.visits import Visit
from elements.presentation.labels import Kind
from elements.presentation.trees import Branch, Tree, TreePlace, tree_view
from elements.reading import rows
from elements.reading.assembly.assembler import ancestors
from elements.reading.rows import Audience, VersionRow
from facets.configuration import CompiledView
from repository_site.core.database.statements import Question, Reading, read_together
from storage.localisation.culture_names import language_names, language_tag

ROOTS = 100
# Children shown of one parent; the page of the parent shows all of them.
SIBLINGS = 100
# Up to this many roots are shown with their children.
FEW_ROOTS = 3


@dataclass(frozen=True, slots=True)
class TypeEntry:
    key: str
    kind: Kind
    lives_in_diagrams: bool


@dataclass(frozen=True, slots=True)
class FacetEntry:
    """A facet; `types` are those that have elements."""

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
    name: str
    tag: str
    address: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class ReaderTree:
    """`next` is the version after which the next page of roots begins. `is_part` says that only one root is shown,
    because the others are on other pages."""

    roots: Sequence[Branch]
    is_part: bool = False
    is_later: bool = False
    next: str = ""


@dataclass(frozen=True, slots=True)
class PageFrame:
    """Content of all reader pages: the facets with elements that the reader can see, in their order, and the look."""

    facets: Sequence[FacetEntry]
    appearance: Appearance


def reading_frame(visit: Visit) -> Reading[PageFrame]:
    filled, appearance = yield [_filled_types(visit.reader.audience), appearance_of_scope()]
    return PageFrame(_facets(visit, filled), appearance)


def _facets(visit: Visit, filled: Collection[str]) -> list[FacetEntry]:
    ids = visit.configuration.type_ids
    types = [type for key, type in visit.configuration.types.items() if str(ids[key]) in filled]
    found = []
    for compiled in visit.configuration.facets.values():
        facet = compiled.facet
        own = [type for type in types if type.facet == facet.name]
        if own:
            entries = [TypeEntry(type.key, visit.kind(type), type.lives_in_diagrams) for type in own]
            title, address = visit.facet(facet.name), visit.facet_address(facet.name)
            found.append(FacetEntry(facet.name, title, address, entries, tree_view(compiled) is not None))
    return found


def languages(request: HttpRequest, visit: Visit) -> list[Language]:
    cultures = visit.configuration.cultures.data
    names = language_names(cultures)
    place = escape_uri_path(request.path_info.lstrip("/").partition("/")[2])
    query = f"?{request.META['QUERY_STRING']}" if request.META.get("QUERY_STRING") else ""
    return [
        Language(names[lcid], language_tag(lcid), f"{visit.storage_path}/{lcid}/{place}{query}", lcid == visit.lcid)
        for lcid in cultures
    ]


def read_tree(visit: Visit, view: CompiledView, opened: VersionRow | None, after: str) -> ReaderTree:
    """Read the roots with one path open; if there are only a few roots, their children are shown as well."""
    audience, tree = visit.reader.audience, Tree(visit, view, SIBLINGS)
    cursor = cursor_of(audience, after)
    page = read_by_name(tree.roots, cursor, ROOTS)
    roots = [row.identity for row in page.rows]
    path = _path(opened) if opened is not None and opened.type in tree.types else []
    is_part = bool(path) and path[0] not in {root.element for root in roots}
    if is_part:
        own = rows.read_identities(audience, path[:1]).values()
        is_part = any(root.type in tree.root_types for root in own)
        roots = list(own) if is_part else roots
    few = [root.element for root in roots] if len(roots) <= FEW_ROOTS else []
    address = visit.facet_address(view.facet.name)

    def toggle(at: TreePlace) -> str:
        """A branch is closed by opening its parent instead."""
        target = at.parent if at.is_open else at.element
        return f"{address}?open={target}#e-{target}" if target else address

    [branches] = read_together(tree.grow(roots, list(dict.fromkeys([*path, *few])), toggle))
    return ReaderTree(branches, True) if is_part else ReaderTree(branches, False, cursor is not None, page.next)


def _path(opened: VersionRow) -> list[str]:
    parents = rows.read_parents({opened.parent} if opened.parent else ())
    return [*list(ancestors(opened.parent, parents))[::-1], opened.element]


def _filled_types(audience: Audience) -> Question[set[str]]:
    """Return the types that have elements. A loose index scan, because reading all elements would take too long."""
    one = f"""SELECT e.type_id FROM elements_element e WHERE e.{audience.pointer} IS NOT NULL AND e.type_id > %s::uuid
            ORDER BY e.type_id LIMIT 1"""  # noqa: S608  constants of ours
    sql = f"""WITH RECURSIVE filled AS (({one}) UNION ALL SELECT next.type_id FROM filled
            CROSS JOIN LATERAL ({one.replace("%s::uuid", "filled.type_id")}) AS next)
        SELECT type_id::text FROM filled"""  # noqa: S608  constants of ours
    return Question(sql, [str(UUID(int=0))], lambda rows: {row[0] for row in rows})
