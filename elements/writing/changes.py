"""One element of a request as it will be: what changes, and what it was before, for the record."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from elements.reading.rows import VersionRow
from facets.blueprint.definitions import ElementType

Attributes = dict[str, dict[str, Any]]


@dataclass(slots=True)
class Change:
    """`row` is what is stored; None when the element is new. `related` holds the contexts that change."""

    place: str
    type: ElementType
    element: str
    version: str
    row: VersionRow | None
    attributes: Attributes
    stereotype: str = ""
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    related: dict[str, list[str]] = field(default_factory=dict)
    parent: str | None = None
    is_moved: bool = False
    is_hidden: bool = False
    """It lives in the diagram of a version that is not published."""
    changed: set[str] = field(default_factory=set)
    """Names of the properties that change."""
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)

    @property
    def is_new(self) -> bool:
        return self.row is None

    def note(self, part: str, name: str | None, old: Any, new: Any) -> None:
        """For the record: a part of the element, or one name in it, before and after. What was not there is null."""
        if name is None:
            self.before[part], self.after[part] = old, new
        else:
            self.before.setdefault(part, {})[name] = old
            self.after.setdefault(part, {})[name] = new
