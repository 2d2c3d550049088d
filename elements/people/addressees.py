"""The people behind recipients of messages: their roles, and where their mail goes (D370)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

import orjson
from django.db.models import Q

from elements.users import grant_of
from facets.blueprint.private_content import USER_TYPE
from repository_site.core.database.statements import fetch
from storage.extension import UserGrant
from storage.messages.recipients import STAFF, USER
from storage.models import StaffAccount, Storage, StorageMembership
from storage.options import Role

_USERS = """SELECT e.id, v.attributes::text FROM elements_element e
    JOIN elements_elementversion v ON v.id = e.newest_id JOIN facets_elementtype t ON t.id = e.type_id
    WHERE e.id = ANY(%s::uuid[]) AND t.key = %s"""


@dataclass(frozen=True, slots=True)
class Addressee:
    """A person who can read in the storage. The address is that of the staff account, if the person has one."""

    key: str
    roles: frozenset[Role]
    account: StaffAccount | None = None

    @property
    def address(self) -> str:
        return self.account.email if self.account else ""

    @property
    def language(self) -> str:
        return self.account.language if self.account else ""

    @property
    def sees_drafts(self) -> bool:
        return bool(self.roles - {Role.VIEWER})


def read_addressees(storage: Storage, keys: Collection[str]) -> dict[str, Addressee]:
    """Return the people with these keys by key, without those who may not read. Call this in the scope."""
    users = [UUID(key.removeprefix(USER)) for key in keys if key.startswith(USER)]
    numbers = [int(key.removeprefix(STAFF)) for key in keys if key.startswith(STAFF)]
    grants = {user: grant_of(orjson.loads(held)) for user, held in fetch(_USERS, [users, USER_TYPE])} if users else {}
    members = _members(storage, users, numbers)
    found = [_user(user, grant, members) for user, grant in grants.items()] + _accounts(numbers, members)
    return {each.key: each for each in found if each.roles}


def _members(storage: Storage, users: list[UUID], numbers: list[int]) -> list[StorageMembership]:
    if not users and not numbers:
        return []
    wanted = Q(user_id__in=users) | Q(account_id__in=numbers)
    usable = StorageMembership.objects.filter(wanted, storage=storage, account__is_active=True, account__is_staff=True)
    members = list(usable.order_by("account_id"))
    # A join by Django leaves reference cycles.
    accounts = StaffAccount.objects.in_bulk({each.account_id for each in members})
    for each in members:
        each.account = accounts[each.account_id]
    return members


def _user(user: UUID, grant: UserGrant, members: Iterable[StorageMembership]) -> Addressee:
    """Return a user. Of several accounts with the same user, the first one with an address gets the mail."""
    own = sorted((each for each in members if each.user_id == user), key=lambda each: not each.account.email)
    key = f"{USER}{user}"
    if grant.is_inactive:
        return Addressee(key, frozenset())
    if not own:
        return Addressee(key, grant.roles)
    return Addressee(key, _roles(own[0], grant.roles), own[0].account)


def _accounts(numbers: list[int], members: Iterable[StorageMembership]) -> list[Addressee]:
    """Return the accounts without a user element. Site administrators need no membership."""
    found = {each.account_id: each for each in members if each.account_id in numbers}
    others = StaffAccount.objects.filter(pk__in=set(numbers) - found.keys(), is_active=True, is_staff=True)
    sites = others.filter(is_superuser=True)
    own = [
        Addressee(f"{STAFF}{number}", _roles(each, frozenset(Role)), each.account)
        for number, each in found.items()
        if each.user_id is None
    ]
    return [*own, *(Addressee(f"{STAFF}{each.pk}", frozenset(Role), each) for each in (sites if numbers else ()))]


def _roles(membership: StorageMembership, granted: frozenset[Role]) -> frozenset[Role]:
    if membership.account.is_superuser:
        return frozenset(Role)
    return frozenset(map(Role, membership.roles)) & granted
