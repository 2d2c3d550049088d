"""Names of the users of a storage, for the pages about tokens and memberships. `storage.extension` provides them."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from storage.extension import UserDirectory, storage_extensions
from storage.models import Storage


def user_names(storage: Storage, users: Collection[UUID]) -> dict[UUID, str]:
    """Return the names of the users that exist."""
    directory = _directory()
    return directory.names(storage, users) if directory and users else {}


def user_choices() -> str:
    """Return the address of the page that suggests users, or an empty text."""
    directory = _directory()
    return directory.choices() if directory else ""


def _directory() -> UserDirectory | None:
    found = [extension.user_directory for extension in storage_extensions if extension.user_directory]
    return found[-1] if found else None
