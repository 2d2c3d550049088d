"""State of the content of a storage."""

from __future__ import annotations

from elements.reading.content_state import content_state
from storage.models import Storage
from storage.tenancy.scope import tenant_scope


def state(storage: Storage) -> str:
    with tenant_scope(storage):
        return content_state().content
