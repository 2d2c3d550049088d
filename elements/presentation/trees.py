"""The tree of a facet, as far as it is open, in a fixed number of statements: the children of everything that is open,
which of all these have children themselves, and their names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from elements.presentation.labels import Labels, Named
from elements.reading.assembly.response_addresses import REPORTING
from elements.reading.lists import selection as selecting
from elements.reading.lists.selection import Selection
from elements.reading.names import version_names_of
from elements.reading.rows import BY_POSITION, IDENTITY, Audience, Identity
from facets.configuration import CompiledFacet, CompiledView
from repository_site.core.database.prepared import Row
from repository_site.core.database.statements import Question, Reading, ask_for, id_array

# Levels of a tree that are shown: the templates call themselves for each level, and Python limits that.
LEVELS = 64


@dataclass(frozen=True, slots=True)
class AddableType:
    name: str
    color: str
    address: str


@dataclass(frozen=True, slots=True)
class Branch:
    """An element in a tree. `toggle` is the address that opens or closes it, empty without children; `has_more` says
    that only its first children are shown."""

    link: Named
    toggle: str
    is_open: bool
    below: Sequence[Branch]
    has_more: bool
    offers: Sequence[AddableType] = ()
    moves: Mapping[str, object] | None = None
    """Moves by one step, by direction; None if the element cannot move."""
    parent: str = ""


@dataclass(frozen=True, slots=True)
class TreeStep:
    """An element in an open tree, with those to which it can move by one step."""

    link: Named
    parent: Named | None
    grandparent: Named | None
    previous: Named | None
    following: Named | None


@dataclass(frozen=True, slots=True)
class TreePlace:
    element: str
    parent: str
    is_open: bool


def tree_view(facet: CompiledFacet) -> CompiledView | None:
    """Return the first hierarchical view, except the one of reporting, which has another use (D14)."""
    views = (each for each in facet.views.values() if each.view.is_hierarchical)
    return next((each for each in views if each.view.name.casefold() != REPORTING), None)


class Tree:
    """The tree that one view shows. `siblings` limits the children shown of one parent."""

    def __init__(self, labels: Labels, view: CompiledView, siblings: int) -> None:
        self.labels = labels
        self.audience = labels.reader.audience
        self.siblings = siblings
        ids = labels.configuration.type_ids
        self.types = [str(ids[key]) for key, shown in view.types.items() if not shown.type.lives_in_diagrams]
        self.root_types = [str(ids[key]) for key, shown in view.types.items() if shown.is_root]

    @property
    def roots(self) -> Selection:
        return selecting.roots_of_types(self.audience, self.root_types)

    def children_of(self, parents: Sequence[Identity]) -> Reading[list[Identity]]:
        question = _below(self.audience, [each.element for each in parents], self.types, self.siblings)
        below = yield from ask_for(question)
        return [each for parent in parents for each in below.get(parent.element, ())]

    def grow(
        self,
        roots: Sequence[Identity],
        opened: Sequence[str],
        toggle: Callable[[TreePlace], str],
        offers: Callable[[Named], Sequence[AddableType]] = lambda link: (),
        moves: Callable[[TreeStep], Mapping[str, object] | None] = lambda at: None,
    ) -> Reading[list[Branch]]:
        below = yield from ask_for(_below(self.audience, opened, self.types, self.siblings + 1))
        shown = [*roots, *(each for some in below.values() for each in some)]
        parents, names = yield [
            _parents_among(self.audience, [each.element for each in shown], self.types),
            version_names_of({each.version for each in shown}),
        ]
        links = {each.element: each for each in self.labels.links(shown, names)}
        growing = _Growing(below, parents, links, frozenset(opened), self.siblings, toggle, offers, moves)
        return growing.branches(roots, ())


@dataclass(frozen=True, slots=True)
class _Growing:
    below: Mapping[str, Sequence[Identity]]
    parents: Collection[str]
    links: Mapping[str, Named]
    opened: Collection[str]
    siblings: int
    toggle: Callable[[TreePlace], str]
    offers: Callable[[Named], Sequence[AddableType]]
    moves: Callable[[TreeStep], Mapping[str, object] | None]

    def branches(self, siblings: Sequence[Identity], above: tuple[Named, ...]) -> list[Branch]:
        """Return the branches of siblings, whose ancestors are `above`, nearest last."""
        links = [self.links[each.element] for each in siblings]
        parent, grandparent = (above[-1] if above else None), (above[-2] if len(above) > 1 else None)
        found = []
        for number, link in enumerate(links):
            previous = links[number - 1] if number else None
            following = links[number + 1] if number + 1 < len(links) else None
            found.append(self.branch(TreeStep(link, parent, grandparent, previous, following), above))
        return found

    def branch(self, at: TreeStep, above: tuple[Named, ...]) -> Branch:
        link, parent = at.link, at.parent.element if at.parent else ""
        element = link.element
        children = self.below.get(element, ())
        shown = children[: self.siblings] if len(above) + 1 < LEVELS else ()
        is_open = element in self.opened and bool(children)
        return Branch(
            link,
            self.toggle(TreePlace(element, parent, is_open)) if element in self.parents else "",
            is_open,
            self.branches(shown, (*above, link)),
            len(children) > len(shown),
            self.offers(link),
            self.moves(at),
            parent,
        )


def _below(
    audience: Audience, parents: Sequence[str], types: Sequence[str], limit: int
) -> Question[dict[str, list[Identity]]]:
    sql = f"""SELECT c.* FROM unnest(%s::uuid[]) AS p(id) CROSS JOIN LATERAL (
            SELECT e.parent_id::text AS parent, e.position AS place, e.rank, e.id AS own, {IDENTITY}
            FROM elements_element e JOIN elements_elementversion v ON v.id = e.{audience.pointer}
            WHERE e.parent_id = p.id AND e.type_id = ANY(%s::uuid[]) ORDER BY {BY_POSITION} LIMIT %s) AS c
        ORDER BY c.parent, c.place, c.rank, c.own"""  # noqa: S608  constants

    def understand(rows: list[Row]) -> dict[str, list[Identity]]:
        found: dict[str, list[Identity]] = {}
        for parent, _place, _rank, _own, *identity in rows:
            found.setdefault(parent, []).append(Identity(*identity))
        return found

    return Question(sql if parents else "", [id_array(parents), id_array(types), limit], understand)


def _parents_among(audience: Audience, elements: Sequence[str], types: Sequence[str]) -> Question[set[str]]:
    wanted = list(dict.fromkeys(elements))
    # With the order the planner uses the index, however many children it expects.
    sql = f"""SELECT p.id::text FROM unnest(%s::uuid[]) AS p(id) CROSS JOIN LATERAL (
            SELECT FROM elements_element e WHERE e.parent_id = p.id AND e.type_id = ANY(%s::uuid[])
            AND e.{audience.pointer} IS NOT NULL ORDER BY {BY_POSITION} LIMIT 1) AS one"""  # noqa: S608  constants
    return Question(sql if wanted else "", [id_array(wanted), id_array(types)], lambda rows: {row[0] for row in rows})
