"""User elements behind tokens: found in their own storage, by one prepared statement."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID, uuid4

import pytest

from elements import users
from elements.users import find_user
from repository_site.core.database.base import watch_trips
from repository_site.core.database.routing import with_storage
from storage.extension import UserGrant
from storage.models import Storage
from storage.options import Role
from tests.elements.handbook import ID
from tests.factories import StorageFactory

pytestmark = pytest.mark.django_db
ANNA, BEN, ERP = (UUID(ID[name]) for name in ("anna", "ben", "erp"))


def test_roles_that_users_grant(handbook: Storage) -> None:
    assert find_user(handbook, ANNA) == UserGrant(frozenset({Role.EDITOR}), is_inactive=False)
    assert find_user(handbook, BEN) == UserGrant(frozenset(), is_inactive=False)
    other = StorageFactory.create(key="other")
    assert [find_user(handbook, ERP), find_user(handbook, uuid4()), find_user(other, ANNA)] == [None] * 3


def test_one_statement_past_the_orm(handbook: Storage) -> None:
    told: list[str] = []

    def watch(kind: str, statements: Sequence[str], started: float, problem: BaseException | None) -> None:
        told.extend(text for text in statements if "elements_" in text)

    end = watch_trips(watch)
    try:
        find_user(handbook, ANNA)
    finally:
        end()
    assert told == [with_storage(users._SQL, [ANNA, ""], str(handbook.id))[0]]
