"""Who is calling, and with which roles (D4, D20)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _

from repository_site.core.client_network import client_network
from repository_site.core.problems import Forbidden
from storage.models import Storage
from storage.models.roles import Role


class CallerKind(StrEnum):
    ANONYMOUS = "anonymous"
    TOKEN = "token"
    STAFF = "staff"


@dataclass(frozen=True, slots=True)
class Caller:
    """`element_id` names the caller's element for changedBy and createdBy; `label` names the caller in logs."""

    kind: CallerKind
    label: str
    roles: frozenset[Role]
    element_id: UUID | None = None
    throttle_key: str = ""

    def require_role(self, role: Role) -> None:
        if role not in self.roles:
            raise Forbidden(_("This needs the role %(role)s.") % {"role": role})


def anonymous_reader(request: HttpRequest) -> Caller:
    """Whoever reads what a storage shows to anybody. They are counted with whoever shares their network."""
    key = f"address:{client_network(request)}"
    return Caller(CallerKind.ANONYMOUS, "anonymous", frozenset({Role.VIEWER}), None, key)


@dataclass(frozen=True, slots=True)
class UserGrant:
    """What a user element allows a token that was issued for it: the roles of its role attributes."""

    roles: frozenset[Role]
    is_inactive: bool


# Users are elements, and elements stand above this app. The app that keeps them hangs itself in here; until then a
# storage has no users, which is the truth.
UserLookup = Callable[[Storage, UUID], UserGrant | None]
_user_lookup: UserLookup | None = None


def set_user_lookup(lookup: UserLookup | None) -> UserLookup | None:
    """Install what finds user elements; answers the one before."""
    global _user_lookup
    before, _user_lookup = _user_lookup, lookup
    return before


def find_user(storage: Storage, user_id: UUID) -> UserGrant | None:
    return _user_lookup(storage, user_id) if _user_lookup else None
