"""Which staff accounts may enter a storage: what its administrators may change about that (D120)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from repository_site.core.problems import Conflict, Forbidden, Invalid, Warned, placed
from storage.access.callers import find_user
from storage.models import StaffAccount, Storage, StorageMembership
from storage.models.roles import Role


@dataclass(frozen=True, slots=True)
class Entry:
    """What a membership is to say."""

    roles: Collection[Role]
    user_id: UUID | None = None


def admit(storage: Storage, username: str, entry: Entry, by: StaffAccount) -> StorageMembership:
    """Let an account that exists work in the storage. Accounts are made by site administrators."""
    account = StaffAccount.objects.filter(username=username.strip()).first()
    problems = _problems(storage, entry)
    if account is None or not account.is_active or not account.is_staff:
        text = _("there is no active staff account of this name; site administrators make accounts.")
        problems.insert(0, f"account: {text}")
    elif StorageMembership.objects.filter(storage=storage, account=account).exists():
        problems.insert(0, f"account: {_already(account)}")
    if problems or account is None:
        raise Invalid(_("The account cannot be admitted."), problems)
    _refuse_site_administrators(account, by)
    try:
        with transaction.atomic():
            return StorageMembership.objects.create(
                storage=storage, account=account, roles=_stored(entry.roles), user_id=entry.user_id
            )
    except IntegrityError:
        raise Conflict(_already(account)) from None


def _already(account: StaffAccount) -> str:
    return _("%(account)s is a member already.") % {"account": account}


def change_membership(
    membership: StorageMembership, entry: Entry, by: StaffAccount, *, is_confirmed: bool = False
) -> None:
    """`Warned` when those who make the change would lose their own way back, until they confirm it."""
    _refuse_site_administrators(membership.account, by)
    if problems := _problems(membership.storage, entry):
        raise Invalid(_("The membership cannot be changed."), problems)
    loses = membership.account == by and not by.is_superuser and not _administers(membership.storage, entry)
    if loses and not is_confirmed:
        raise Warned(_("You would no longer administer this storage, and could not undo that yourself."))
    membership.roles, membership.user_id = _stored(entry.roles), entry.user_id
    membership.save(update_fields=["roles", "user_id"])


def dismiss(membership: StorageMembership, by: StaffAccount) -> None:
    """The account itself stays."""
    _refuse_site_administrators(membership.account, by)
    membership.delete()


def _refuse_site_administrators(account: StaffAccount, by: StaffAccount) -> None:
    """They administer every storage anyway; their membership only says which user they are, which is theirs to say."""
    if account.is_superuser and not by.is_superuser:
        text = _("%(account)s is a site administrator, whose memberships only site administrators change.")
        raise Forbidden(text % {"account": account})


def _administers(storage: Storage, entry: Entry) -> bool:
    """Whether somebody with this membership alone would be an administrator; see `staff_caller`."""
    if Role.ADMINISTRATOR not in entry.roles:
        return False
    grant = find_user(storage, entry.user_id) if entry.user_id else None
    return grant is None or (Role.ADMINISTRATOR in grant.roles and not grant.is_inactive)


def _problems(storage: Storage, entry: Entry) -> list[str]:
    problems = [] if entry.roles else [placed("roles", _("a membership needs at least one role."))]
    if entry.user_id is not None and find_user(storage, entry.user_id) is None:
        words = {"id": entry.user_id, "storage": storage}
        problems.append(placed("user", _("there is no user %(id)s in %(storage)s.") % words))
    return problems


def _stored(roles: Collection[Role]) -> list[str]:
    return [role.value for role in Role if role in roles]
