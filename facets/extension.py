"""The extension point of this app: `elements` reports the content that a configuration change would orphan, and knows
which permission sets apply to elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repository_site.core.extension_point import ExtensionPoint

if TYPE_CHECKING:
    from facets.blueprint.differences import Hazard
    from facets.permission_sets import PermissionSets


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetsExtension:
    describe_use: Callable[[Hazard], str | None] | None = None
    """Returns a clause such as "12 elements are of this type", or None; called in the scope of the storage."""
    replace_sets: Callable[[PermissionSets], None] | None = None
    """Writes the permission sets of a template (D522); called in the scope of the storage."""


facets_extensions: ExtensionPoint[FacetsExtension] = ExtensionPoint()
