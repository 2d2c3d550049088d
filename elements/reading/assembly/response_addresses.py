"""Addresses in responses (D10), composed once for each request and type; the id of an element is appended."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from elements import derived
from facets.blueprint.definitions import ElementType
from facets.configuration import CompiledView, Configuration
from facets.rendering import segment
from storage.files import FILES_PATH

T = TypeVar("T")
DETAIL, REPORTING = "detail", "reporting"


class Addresses:
    """Addresses of one storage. `storage_address` is its scheme, host and path."""

    def __init__(self, configuration: Configuration, storage_address: str) -> None:
        self.configuration = configuration
        self.storage_address = storage_address
        self.files = f"{storage_address}/{FILES_PATH}"
        self.facets_address = f"{storage_address}/_api/rest/facets"
        self._details: dict[str, str] = {}
        self._reports: dict[str, str] = {}
        self._pages: dict[str, dict[str, str]] = {}

    def view(self, view: CompiledView) -> str:
        facet = segment(view.facet.name)
        return f"{self.facets_address}/{facet}/views/{segment(view.view.name)}/elements/"

    def leading_to(self, kind: str) -> Callable[[ElementType], str]:
        """Return the function that returns the addresses of this kind, `DETAIL` or `REPORTING`."""
        return self.report if kind == REPORTING else self.detail

    def detail(self, type: ElementType) -> str:
        """Return the view for a single element: `detail` of its facet, or else the first view that contains its
        type."""
        return _once(self._details, type.key, lambda: self.view(self.detail_view(type)))

    def report(self, type: ElementType) -> str:
        """Return the reporting address of an element, or its ordinary address if reporting does not show it."""
        return _once(self._reports, type.key, lambda: self._report(type))

    def pages(self, type: ElementType) -> dict[str, str]:
        return _once(self._pages, type.key, lambda: self._page_prefixes(type))

    def detail_view(self, type: ElementType) -> CompiledView:
        return detail_view_of(self.configuration, type)

    def _page_prefixes(self, type: ElementType) -> dict[str, str]:
        cultures = sorted(self.configuration.cultures.data)
        return {str(lcid): derived.page_prefix(self.storage_address, lcid, type.facet) for lcid in cultures}

    def _report(self, type: ElementType) -> str:
        view = self.configuration.facet(type.facet).views.get(REPORTING)
        if view is None or type.key not in view.types:
            return self.detail(type)
        return f"{self.facets_address}/{segment(type.facet)}/reporting/"


def _once(known: dict[str, T], key: str, make: Callable[[], T]) -> T:
    if key not in known:
        known[key] = make()
    return known[key]


def detail_view_of(configuration: Configuration, type: ElementType) -> CompiledView:
    """Return the view that shows elements of a type in detail."""
    views = configuration.facet(type.facet).views
    candidates = [*(views[name] for name in (DETAIL,) if name in views), *views.values()]
    return next((view for view in candidates if type.key in view.types), candidates[0])
