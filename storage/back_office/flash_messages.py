"""Messages for the next page, separate for each storage: two browser tabs can show two tenants."""

from __future__ import annotations

from typing import Any

from django.contrib.messages.storage.session import SessionStorage
from django.http import HttpRequest


class StorageMessages(SessionStorage):
    """Session storage that shows messages of a storage, or of the site, only there."""

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        storage = getattr(request, "storage", None)
        self.session_key = f"messages of {storage.id if storage else 'the site'}"
