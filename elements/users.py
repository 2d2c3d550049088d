"""User elements as callers (D4): the roles that their role attributes grant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import orjson

from elements.models import people
from repository_site.core.database.statements import look_up
from storage.extension import UserGrant
from storage.localisation.cultures import INVARIANT_CULTURE
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope

USER_TYPE = people.USER_TYPE
ROLE_ATTRIBUTES = {f"role{role.value.capitalize()}": role for role in Role}
INACTIVE = "roleInactive"


# Every request with a user's token runs this; the ORM would take several times as long. The column is cast to text so
# that a migration which changes its type does not invalidate prepared plans.
_SQL = """SELECT v.attributes::text FROM elements_element e
    JOIN elements_elementversion v ON v.id = e.newest_id JOIN facets_elementtype t ON t.id = e.type_id
    WHERE e.id = %s AND t.key = %s"""


def find_user(storage: Storage, user_id: UUID) -> UserGrant | None:
    with tenant_scope(storage):
        rows = look_up(_SQL, [user_id, USER_TYPE])
    return grant_of(orjson.loads(rows[0][0])) if rows else None


def grant_of(attributes: Mapping[str, Mapping[str, Any]]) -> UserGrant:
    """Return the roles that the stored attributes of a user element grant."""
    granted = {name for name, values in attributes.items() if values.get(str(INVARIANT_CULTURE)) is True}
    roles = frozenset(role for name, role in ROLE_ATTRIBUTES.items() if name in granted)
    return UserGrant(roles, is_inactive=INACTIVE in granted)
