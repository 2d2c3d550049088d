"""Callers of the API and of pages, with their roles (D4, D20)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _

from repository_site.core.client_network import client_network
from repository_site.core.problems import Forbidden
from repository_site.core.rest.operation import Operation
from storage.extension import UserGrant, storage_extensions
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import narrow_scope


class CallerKind(StrEnum):
    ANONYMOUS = "anonymous"
    TOKEN = "token"
    STAFF = "staff"


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of its roles that a token may use (D489). None means all."""

    is_read_only: bool = False
    facets: frozenset[str] | None = None
    operations: frozenset[str] | None = None

    def require(self, operation: Operation, *, is_in_facet: bool) -> None:
        """Refuse an operation beyond the scope. Below a facet, callers see no facet but those of their scope."""
        if self.is_read_only and operation.writes:
            raise Forbidden("The token can only read.")
        if self.operations is not None and operation.id not in self.operations:
            raise Forbidden(f"The scope of the token does not include the operation {operation.id}.")
        if self.facets is not None and not (is_in_facet or operation.by_facet):
            raise Forbidden(f"The token is limited to facets and cannot use the operation {operation.id}.")


UNLIMITED = Scope()


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request. `element_id` is the element for changedBy and createdBy; logs show `label`."""

    kind: CallerKind
    label: str
    roles: frozenset[Role]
    element_id: UUID | None = None
    throttle_key: str = ""
    scope: Scope = UNLIMITED
    is_lasting: bool = True
    """Whether a background job can find the caller again, to continue with its work."""

    def require_role(self, role: Role) -> None:
        if role not in self.roles:
            raise Forbidden(_("This needs the role %(role)s.") % {"role": role})

    def require_lasting(self) -> None:
        """Refuse work for a background job by a caller whose rights nobody knows when it runs (D510)."""
        if not self.is_lasting:
            text = _("An access token of an identity provider cannot start a background job. Use an API token.")
            raise Forbidden(text)


def anonymous_reader(request: HttpRequest) -> Caller:
    """Return the anonymous reader of a storage. All anonymous readers of one network share a rate limit."""
    key = f"address:{client_network(request)}"
    return Caller(CallerKind.ANONYMOUS, "anonymous", frozenset({Role.VIEWER}), None, key)


def find_user(storage: Storage, user_id: UUID) -> UserGrant | None:
    """Return the roles of a user element, or None where the storage has no such user."""
    lookups = [extension.find_user for extension in storage_extensions if extension.find_user]
    return lookups[-1](storage, user_id) if lookups else None


def narrow_to(storage: Storage, find_caller: Callable[[], Caller | None]) -> bool:
    """Hide what the caller must not see from all statements of the scope, and return whether anything is limited
    (D491)."""
    lookups = [extension.limits_of for extension in storage_extensions if extension.limits_of]
    limits = lookups[-1](storage, find_caller) if lookups else None
    narrow_scope(limits)
    return limits is not None
