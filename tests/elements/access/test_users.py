"""User elements behind tokens: found in their own storage, by one prepared statement."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID, uuid4

import pytest

from elements import users
from elements.users import find_user, find_users
from repository_site.core.database.base import watch_trips
from repository_site.core.database.routing import with_storage
from storage.access.staff import staff_caller
from storage.access.user_directory import user_names
from storage.extension import UserGrant
from storage.models import AccessRule, IdentityProvider, Storage
from storage.options import Role
from storage.single_sign_on.linking import person_of, sign_on
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


def test_users_are_found_by_the_text_of_an_attribute(handbook: Storage) -> None:
    """Somebody's first sign-in links the user element that a rule names (D502)."""
    name = user_names(handbook, [ANNA])[ANNA]
    assert find_users(handbook, "name", name.upper()) == [ANNA]
    other = StorageFactory.create(key="other")
    unknown = [("name", "nobody"), ("unknown", name), ("", name), ("name", ""), ("roleEditor", "false")]
    assert [find_users(handbook, *each) for each in unknown] == [[]] * len(unknown)
    assert find_users(other, "name", name) == []


def test_the_first_sign_in_links_the_user(handbook: Storage) -> None:
    provider = IdentityProvider.objects.create(key="acme", name="Acme", issuer="https://x.example", client_id="c")
    name = user_names(handbook, [ANNA])[ANNA]
    AccessRule.objects.create(
        provider=provider, position=0, claim="sub", comparison="any", storage=handbook, roles=["editor"],
        user_claim="name", user_attribute="name",
    )  # fmt: skip
    first, second = (sign_on(provider, person_of(provider, {"sub": sub, "name": name})) for sub in ("one", "two"))
    assert [each.memberships.get().user_id for each in (first, second)] == [ANNA, None]
    caller = staff_caller(first, handbook)
    assert caller is not None
    assert (caller.element_id, caller.roles) == (ANNA, frozenset({Role.EDITOR}))
    AccessRule.objects.update(user_claim="sub")
    sign_on(provider, person_of(provider, {"sub": "one", "name": "another"}))
    assert first.memberships.get().user_id == ANNA
