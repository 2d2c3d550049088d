"""Plan of a change to one element: the values to store, and the old values for the change history."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from elements.reading.rows import VersionRow
from elements.writing.inputs import PositionInput
from facets.blueprint.definitions import ElementType

Attributes = dict[str, dict[str, Any]]
# Date-time attributes that are columns of a version and that clients may set, with their columns.
VALIDITY = {"validFrom": "valid_from", "validUntil": "valid_until"}


@dataclass(slots=True)
class PlannedChange:
    """A new or changed element. `row` is the stored version, or None for a new element."""

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
    """Related contexts that change, each with its new targets."""
    parent: str | None = None
    growth: int = 0
    """Bytes by which the attributes grow, as JSON."""
    is_moved: bool = False
    """Whether the parent changes."""
    position: PositionInput | None = None
    """The wanted place among siblings; None puts an element that moves after them."""
    is_hidden: bool = False
    """The element lives in the diagram of a version that is not published."""
    changed: set[str] = field(default_factory=set)
    """Names of the properties that change."""
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)

    @property
    def is_new(self) -> bool:
        return self.row is None

    def note(self, part: str, name: str | None, old: Any, new: Any) -> None:
        """Note the old and new value of a part, or of one name in it, for the change history; absent is null."""
        if name is None:
            self.before[part], self.after[part] = old, new
        else:
            self.before.setdefault(part, {})[name] = old
            self.after.setdefault(part, {})[name] = new

    def move(self, parent: str | None) -> None:
        self.note("parent", None, self.parent, parent)
        self.parent, self.is_moved = parent, True

    def note_position(self, old: int | None, new: int) -> None:
        """Note a place among siblings. The history has the parent as well, because the number is below it."""
        if not self.is_moved:
            self.note("parent", None, self.parent, self.parent)
        self.note("position", None, old, new)
