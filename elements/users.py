"""User elements as callers (D4): the roles that their role attributes grant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import orjson

from facets.blueprint.private_content import INACTIVE, ROLE_ATTRIBUTES, USER_TYPE
from repository_site.core.database.prepared import Row
from repository_site.core.database.repeating import repeated
from repository_site.core.database.statements import engine, look_up
from storage.extension import UserGrant
from storage.localisation.cultures import INVARIANT_CULTURE
from storage.models import Storage
from storage.tenancy.scope import reading_scope, tenant_scope, whole_content

# Every request with a user's token runs this; the ORM would take several times as long. The column is cast to text so
# that a migration which changes its type does not invalidate prepared plans.
_SQL = """SELECT v.attributes::text FROM elements_element e
    JOIN elements_elementversion v ON v.id = e.newest_id JOIN facets_elementtype t ON t.id = e.type_id
    WHERE e.id = %s AND t.key = %s"""


GROUPS = "userGroups"
_GROUPS = """SELECT r.target_id FROM elements_element e JOIN elements_reference r ON r.version_id = e.newest_id
    WHERE e.id = %s AND r.context = %s"""


def find_user(storage: Storage, user_id: UUID) -> UserGrant | None:
    def look() -> list[Row]:
        # A page asks within its scope, and needs no other one.
        with reading_scope(storage), whole_content():
            return look_up(_SQL, [user_id, USER_TYPE])

    # Only a whole transaction can be repeated.
    rows = look() if engine().in_atomic_block else repeated(look)
    return grant_of(orjson.loads(rows[0][0])) if rows else None


def groups_of(user: UUID | None) -> set[UUID]:
    """Return the groups of a user, even those that the caller of the scope does not see."""
    if user is None:
        return set()
    with whole_content():
        return {row[0] for row in look_up(_GROUPS, [user, GROUPS])}


def find_users(storage: Storage, attribute: str, text: str) -> list[UUID]:
    """Return up to two users that have a text in an attribute. Somebody's first sign-in looks for their element."""
    sql = """SELECT e.id FROM elements_element e
        JOIN elements_elementversion v ON v.id = e.newest_id JOIN facets_elementtype t ON t.id = e.type_id
        WHERE t.key = %s AND jsonb_typeof(v.attributes -> %s::text) = 'object' AND EXISTS (
            SELECT FROM jsonb_each_text(v.attributes -> %s::text) kept WHERE lower(kept.value) = lower(%s))
        ORDER BY e.id LIMIT 2"""

    def look() -> list[Row]:
        with tenant_scope(storage):
            return look_up(sql, [USER_TYPE, attribute, attribute, text])

    return [row[0] for row in repeated(look)]


def grant_of(attributes: Mapping[str, Mapping[str, Any]]) -> UserGrant:
    """Return the roles that the stored attributes of a user element grant."""
    granted = {name for name, values in attributes.items() if values.get(str(INVARIANT_CULTURE)) is True}
    roles = frozenset(role for name, role in ROLE_ATTRIBUTES.items() if name in granted)
    return UserGrant(roles, is_inactive=INACTIVE in granted)
