"""The page of a facet: its tree if it has one, else its elements by name."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from elements.filters.conditions import Condition
from elements.pages.lists import Listing, read_listing
from elements.pages.navigation import ReaderTree, TypeEntry, read_tree
from elements.pages.visits import Visit
from elements.permalinks import selected_condition
from elements.presentation.trees import tree_view
from elements.reading.lists import selection as selecting
from elements.reading.lists.narrowing import narrowed
from elements.reading.rows import VersionRow
from facets.configuration import CompiledFacet
from repository_site.core.problems import NotFound
from storage.localisation.culture_names import language_names


@dataclass(frozen=True, slots=True)
class FacetQuery:
    """`opened` is the element at which the tree is open; the other fields are about the list. `view` and `filter` come
    from permalinks (D414)."""

    is_list: bool = False
    type: str = ""
    prefix: str = ""
    after: str = ""
    opened: VersionRow | None = None
    view: str = ""
    filter: str = ""


class FacetPage:
    """Reads the tree, or the list if there is no tree or it is empty."""

    def __init__(self, visit: Visit, facet: CompiledFacet, types: list[TypeEntry], query: FacetQuery) -> None:
        self.visit = visit
        self.facet = facet
        self.types = types
        self.query = query
        self.tree = self._tree()
        self.listing = None if self.tree else self._listing()

    @property
    def title(self) -> str:
        return self.visit.facet(self.facet.facet.name)

    @property
    def address(self) -> str:
        return self.visit.facet_address(self.facet.facet.name)

    @property
    def list_address(self) -> str:
        return f"{self.address}?as=list"

    @property
    def has_tree(self) -> bool:
        return tree_view(self.facet) is not None

    @property
    def own_address(self) -> str:
        """The first page of what is shown."""
        return self._address()

    @property
    def selection(self) -> str:
        """The filter that selects the elements of the list; empty for a whole facet or view, and for a tree."""
        query = self.query
        if self.tree:
            return ""
        if not (query.type or query.prefix):
            return query.filter
        named = [query.type] if query.type else [] if query.filter else self._listed_types()
        types = ", ".join(f"'{each}'" for each in named)
        quoted = query.prefix.replace("'", "''")
        parts = [
            f"({query.filter})" if query.filter else "",
            f"type -in ({types})" if types else "",
            f"StartsWith(name[{self.visit.configuration.cultures.default}], '{quoted}')" if quoted else "",
        ]
        return " AND ".join(each for each in parts if each)

    @property
    def view(self) -> str:
        """The view whose elements the list shows; empty for a whole facet, and for a tree."""
        return "" if self.tree else self.query.view

    @property
    def next_address(self) -> str:
        shown = self.tree or self.listing
        return self._address(shown.next) if shown and shown.next else ""

    @property
    def first_address(self) -> str:
        shown = self.tree or self.listing
        return self._address() if shown and shown.is_later else ""

    @cached_property
    def ordered_by(self) -> str:
        """The language that orders a long list, if the page is in another language."""
        cultures = self.visit.configuration.cultures
        is_other = self.listing is not None and self.listing.is_long and self.visit.lcid != cultures.default
        return language_names(cultures.data)[cultures.default] if is_other else ""

    def _address(self, after: str = "") -> str:
        query = self.query
        asked = {"view": query.view, "filter": query.filter, "type": query.type, "begins": query.prefix}
        given = {"after": after} if self.tree else {"as": "list", **asked, "after": after}
        text = urlencode({name: value for name, value in given.items() if value})
        return f"{self.address}?{text}" if text else self.address

    def _tree(self) -> ReaderTree | None:
        view = tree_view(self.facet)
        if view is None or self.query.is_list:
            return None
        tree = read_tree(self.visit, view, self.query.opened, self.query.after)
        return tree if tree.roots else None

    def _listing(self) -> Listing:
        ids = self.visit.configuration.type_ids
        selection = selecting.of_types(self.visit.reader.audience, [str(ids[key]) for key in self._listed_types()])
        if self.query.prefix:
            # `starts_with` is leakproof and can use the index.
            selection = selection.matching(Condition("starts_with(v.sort_name, %s)", (self.query.prefix.casefold(),)))
        if self.query.filter:
            condition = selected_condition(self.visit.reader, self.facet, self.query.view, self.query.filter)
            selection = selection.matching(narrowed(condition))
        return read_listing(self.visit, selection, self.query.after)

    def _listed_types(self) -> list[str]:
        """Types that exist only in diagrams are listed if selected."""
        if not self.query.type and self.query.view:
            return [*self.facet.view(self.query.view).types]
        if not self.query.type and self.query.filter:
            return [each.key for each in self.types]
        if not self.query.type:
            own = [each.key for each in self.types if not each.lives_in_diagrams]
            return own or [each.key for each in self.types]
        if self.query.type not in self.visit.configuration.types:
            raise NotFound(_("This type does not exist."))
        return [each.key for each in self.types if each.key == self.query.type]
