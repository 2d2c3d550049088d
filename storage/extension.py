"""The extension point of this app: everything that `facets` and `elements` add to storages and access.

Without an extension a storage works alone: it has no users, no configuration and no content.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

from repository_site.core.database.narrowing import Narrowing
from repository_site.core.extension_point import ExtensionPoint
from storage.jobs.declaring import AnyJob
from storage.models import ApiToken, Storage, TenantModel
from storage.options import Role


@dataclass(frozen=True, slots=True)
class UserGrant:
    """The roles that a user element grants to tokens and memberships of that user."""

    roles: frozenset[Role]
    is_inactive: bool


class LimitedCaller(Protocol):
    """A caller whom permission sets may limit, as `storage.access.callers` knows it."""

    @property
    def roles(self) -> frozenset[Role]: ...

    @property
    def element_id(self) -> UUID | None: ...


@dataclass(frozen=True, slots=True)
class UserDirectory:
    """Names of user elements, and the address of the back-office page that suggests users while somebody types."""

    names: Callable[[Storage, Collection[UUID]], dict[UUID, str]]
    choices: Callable[[], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageExtension:
    """Additions of one higher app. Where only one can apply, the app that was registered last wins."""

    template_sections: frozenset[str] = frozenset()
    """Names of the template sections that `provision` reads."""
    provision: Callable[[Storage, Mapping[str, Any]], None] | None = None
    """Fills a new storage from the sections of its template, in the scope and the transaction of the storage."""
    find_user: Callable[[Storage, UUID], UserGrant | None] | None = None
    find_users: Callable[[Storage, str, str], list[UUID]] | None = None
    """Returns up to two user elements whose attribute has a text, without regard to letter case."""
    user_directory: UserDirectory | None = None
    limits_of: Callable[[Storage, Callable[[], LimitedCaller | None]], Narrowing | None] | None = None
    """Returns what permission sets hide from a caller and deny (D491). Looks for the caller only if the storage has
    sets. Called in the scope."""
    mirror_token: Callable[[Storage, ApiToken], None] | None = None
    """Keeps the element of a token up to date; called in the transaction that issues or revokes the token."""
    counted_models: Mapping[str, type[TenantModel]] = field(default_factory=dict)
    """Models that a measurement counts, by field of `StorageSize`."""
    count_files: str = ""
    """Query that counts the files of the storage of the scope. It is part of the statement that counts everything."""
    uses_of_file: str = ""
    """Query of the uses of the file `f` in the storage of the scope. A file with a use is not removed (D454)."""
    over_limits: Callable[[], Iterable[str]] | None = None
    """Returns what exceeds a limit of the installation in the storage of the scope."""
    derived_models: tuple[type[TenantModel], ...] = ()
    """Models that triggers fill from other tables, or that unfinished work uses; backups leave them out."""
    show_versions: Callable[[Storage, Sequence[str]], Mapping[str, bytes]] | None = None
    """Returns versions as JSON, as an administrator reads them in the API; without deleted and very large ones."""
    filter_names: Callable[[Storage], Mapping[str, Collection[str]]] | None = None
    """Returns the facets, element types and states of a storage, by the names of filters for events."""
    jobs: tuple[AnyJob, ...] = ()
    """Jobs that a worker can run (D333)."""


storage_extensions: ExtensionPoint[StorageExtension] = ExtensionPoint()
