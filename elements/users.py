"""User elements as callers (D4): the roles that their role attributes grant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from elements.models import Element, people
from storage.callers import UserGrant
from storage.cultures import INVARIANT_CULTURE
from storage.models import Storage
from storage.roles import Role
from storage.tenancy import tenant_scope

USER_TYPE = people.USER_TYPE
ROLE_ATTRIBUTES = {f"role{role.value.capitalize()}": role for role in Role}
INACTIVE = "roleInactive"


def find_user(storage: Storage, user_id: UUID) -> UserGrant | None:
    with tenant_scope(storage):
        attributes = (
            Element.objects.filter(id=user_id, type__key=USER_TYPE).values_list("newest__attributes", flat=True).first()
        )
    return None if attributes is None else grant_of(attributes)


def grant_of(attributes: Mapping[str, Mapping[str, Any]]) -> UserGrant:
    """What the stored attributes of a user element grant."""
    granted = {name for name, values in attributes.items() if values.get(str(INVARIANT_CULTURE)) is True}
    roles = frozenset(role for name, role in ROLE_ATTRIBUTES.items() if name in granted)
    return UserGrant(roles, is_inactive=INACTIVE in granted)
