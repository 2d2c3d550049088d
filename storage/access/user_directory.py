"""The users of a storage by name, for tokens and memberships that stand for one of them.

Users are elements, and elements stand above this app. The app that keeps them hangs itself in here; until then a
storage has no users, which is the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from uuid import UUID

from storage.models import Storage


@dataclass(frozen=True, slots=True)
class UserDirectory:
    """`choices` is the address of a page, inside the storage of the request, that finds users while one types."""

    names: Callable[[Storage, Collection[UUID]], dict[UUID, str]]
    choices: Callable[[], str]


_directory: UserDirectory | None = None


def set_user_directory(directory: UserDirectory | None) -> None:
    global _directory
    _directory = directory


def user_names(storage: Storage, users: Collection[UUID]) -> dict[UUID, str]:
    """Those that exist."""
    return _directory.names(storage, users) if _directory and users else {}


def user_choices() -> str:
    return _directory.choices() if _directory else ""
