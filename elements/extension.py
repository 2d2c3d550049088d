"""The extension point of this app: `release` adds the lifecycle to the back office and to bulk changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from repository_site.core.extension_point import ExtensionPoint

if TYPE_CHECKING:
    from elements.admin.listing.type_filters import ElementFilter
    from elements.admin.panels import ElementPage, Panel
    from elements.bulk.steps import BulkStep
    from repository_site.core.database.statements import Reading
    from storage.pages import Fragment


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementsExtension:
    panels: tuple[Panel, ...] = ()
    """Tabs of the element page."""
    cards: tuple[Callable[[ElementPage], Reading[Callable[[], Fragment | None]]], ...] = ()
    """Cards beside the tabs, above the facts; None shows no card."""
    filters: tuple[type[ElementFilter], ...] = ()
    """Filters of the element list, after those of the state."""
    bulk_steps: Mapping[str, BulkStep] = field(default_factory=dict)
    """Operations of bulk changes, by their name."""


elements_extensions: ExtensionPoint[ElementsExtension] = ExtensionPoint()
