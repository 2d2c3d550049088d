"""Staff accounts as callers of a storage (D4), for the API, the back office and the reader pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from repository_site.core.database.prepared import Row
from repository_site.core.database.statements import Question, ask
from storage.access.callers import Caller, CallerKind, find_user
from storage.accounts.visitors import known_membership
from storage.models import StaffAccount, Storage, StorageMembership
from storage.options import Role

LABEL = "staff:"


def staff_caller(account: Any, storage: Storage | None) -> Caller | None:
    """Return the caller for a signed-in account in a storage, or in the administrative contexts (`storage` is None).

    The result is None for accounts without access. A membership can name a user element of the storage. That user is
    then the caller, as with tokens: with the roles that its role attributes also grant, and with none while inactive.
    """
    if not isinstance(account, StaffAccount) or not account.is_active or not account.is_staff:
        return None
    membership = _membership(account, storage) if storage is not None else None
    roles = frozenset(Role(role) for role in membership.roles) if membership else frozenset[Role]()
    user_id = membership.user_id if membership else None
    if storage is not None and user_id is not None:
        grant = find_user(storage, user_id)
        if grant is None or grant.is_inactive:
            roles, user_id = frozenset(), None
        else:
            roles &= grant.roles
    if account.is_superuser:
        roles = frozenset(Role)
    if not roles:
        return None
    return Caller(CallerKind.STAFF, f"{LABEL}{account.pk}", roles, user_id, f"{LABEL}{account.pk}")


def _membership(account: StaffAccount, storage: Storage) -> StorageMembership | None:
    is_known, found = known_membership(account, storage.id)
    return found if is_known else StorageMembership.objects.filter(account=account, storage=storage).first()


def staff_names(labels: Iterable[str]) -> dict[str, str]:
    """Return the names of staff accounts by the label that logs show, with at most one statement."""
    return ask(staff_names_of(labels))


def staff_names_of(labels: Iterable[str]) -> Question[dict[str, str]]:
    numbers = sorted({int(each.removeprefix(LABEL)) for each in labels if each.startswith(LABEL)})
    sql = """SELECT a.id, a.username, a.first_name, a.last_name FROM storage_staffaccount a
        WHERE a.id = ANY(%s::bigint[])"""

    def understand(rows: list[Row]) -> dict[str, str]:
        return {f"{LABEL}{id}": f"{first} {last}".strip() or name for id, name, first, last in rows}

    return Question(sql if numbers else "", [numbers], understand)
