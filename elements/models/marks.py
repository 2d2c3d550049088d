from __future__ import annotations

from storage.models import TenantModel


class ContentMark(TenantModel):
    """Tells one state of a storage's content from every other: equal marks, equal content (see `reading/state.py`).

    The database writes them. A transaction that changes elements, versions, references or diagrams leaves a mark that
    nobody has had before, and takes away those it has seen. It waits for nobody: what another transaction is about to
    take away is left to it, so there are as many marks as transactions changed the storage side by side.
    """

    def __str__(self) -> str:
        return str(self.id)
