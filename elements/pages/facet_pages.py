"""The page of a facet: its tree if it has one, else its elements by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from elements.pages.lists import Listing, read_listing
from elements.pages.navigation import ReaderTree, TypeEntry, read_tree
from elements.pages.visits import Visit
from elements.presentation.searching import begins_with
from elements.presentation.trees import tree_view
from elements.reading import selection as selecting
from elements.reading.rows import VersionRow
from facets.configuration import CompiledFacet
from repository_site.core.problems import NotFound
from storage.localisation.culture_names import language_names


@dataclass(frozen=True, slots=True)
class FacetQuery:
    """`opened` is the element at which the tree is open; the other fields are about the list."""

    is_list: bool = False
    type: str = ""
    prefix: str = ""
    after: str = ""
    opened: VersionRow | None = None


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
        asked = {"type": self.query.type, "begins": self.query.prefix}
        given = {"after": after} if self.tree else {"as": "list", **asked, "after": after}
        query = urlencode({name: value for name, value in given.items() if value})
        return f"{self.address}?{query}" if query else self.address

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
            selection = selection.matching(begins_with(self.query.prefix))
        return read_listing(self.visit, selection, self.query.after)

    def _listed_types(self) -> list[str]:
        """Types that exist only in diagrams are listed if selected."""
        if not self.query.type:
            own = [each.key for each in self.types if not each.lives_in_diagrams]
            return own or [each.key for each in self.types]
        if self.query.type not in self.visit.configuration.types:
            raise NotFound(_("This type does not exist."))
        return [each.key for each in self.types if each.key == self.query.type]
