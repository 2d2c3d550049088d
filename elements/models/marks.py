from __future__ import annotations

from storage.models import TenantModel


class ContentMark(TenantModel):
    """Identifies a state of a storage's content: equal marks mean equal content (see `reading/content_state.py`).

    Triggers write the marks. A transaction that changes elements, versions, references or diagrams adds a new unique
    mark and deletes those that it sees. It waits for no other transaction and skips marks that another one is deleting,
    so there are as many marks as transactions that changed the storage concurrently.
    """

    def __str__(self) -> str:
        return str(self.id)


class StructureMark(TenantModel):
    """Identifies a state of a storage's content without the attributes of versions: which elements and versions there
    are, with their types, states and places (D607). Triggers write these marks as they do for `ContentMark`."""

    def __str__(self) -> str:
        return str(self.id)
