"""What a page has to say on the next one, kept apart for each storage: two tabs may hold two tenants."""

from __future__ import annotations

from typing import Any

from django.contrib.messages.storage.session import SessionStorage
from django.http import HttpRequest


class StorageMessages(SessionStorage):
    """Messages of one storage, or of the site, are seen nowhere else."""

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        storage = getattr(request, "storage", None)
        self.session_key = f"messages of {storage.id if storage else 'the site'}"
