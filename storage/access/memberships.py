"""Memberships of staff accounts in a storage, as its administrators manage them (D120)."""

from __future__ import annotations

import base64
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _

from repository_site.core.problems import Conflict, Forbidden, Invalid, Warned, placed
from storage.access.callers import find_user
from storage.messages.recipients import adopt_messages
from storage.messages.writing import tell_of_membership
from storage.models import StaffAccount, Storage, StorageMembership
from storage.options import Role


@dataclass(frozen=True, slots=True)
class MembershipTerms:
    """The roles of a membership, and the user element of the account in the storage."""

    roles: Collection[Role]
    user_id: UUID | None = None


def admission_code(account: StaffAccount) -> str:
    """Return the code with which the owner of an account lets a storage add it, such as `K5TF-QX2A` (D218)."""
    digest = salted_hmac("storage.access.admission", f"{account.pk}:{account.username}", algorithm="sha256").digest()
    text = base64.b32encode(digest[:5]).decode()
    return f"{text[:4]}-{text[4:]}"


def admit(storage: Storage, username: str, code: str, terms: MembershipTerms, by: StaffAccount) -> StorageMembership:
    """Add an existing account to the storage. Only site administrators create accounts, and need no code.

    Unknown names, wrong codes, inactive accounts and site administrators are refused alike: an administrator of a
    storage must not learn which accounts exist (D208, D218).
    """
    name = username.strip()
    account = StaffAccount.objects.filter(username=name).first()
    problems = _problems(storage, terms)
    if StorageMembership.objects.filter(storage=storage, account__username=name).exists():
        problems.insert(0, f"account: {_already(name)}")
    elif not _can_be_added(account, code, by):
        text = _("no account with this name and code can be added here; ask the owner of the account.")
        problems.insert(0, f"account: {text}")
    if problems or account is None:
        raise Invalid(_("The account cannot be added."), problems)
    try:
        with transaction.atomic():
            made = StorageMembership.objects.create(
                storage=storage, account=account, roles=_stored(terms.roles), user_id=terms.user_id
            )
            tell_of_membership(made)
            return made
    except IntegrityError:
        raise Conflict(_already(name)) from None


def _can_be_added(account: StaffAccount | None, code: str, by: StaffAccount) -> bool:
    # A code is compared for every name, so that the time does not tell which accounts exist.
    expected = admission_code(account or StaffAccount(pk=0))
    is_allowed = constant_time_compare(_letters(code), _letters(expected)) or by.is_superuser
    if account is None or not account.is_active or not account.is_staff:
        return False
    return is_allowed and not _is_out_of_reach(account, by)


def _letters(code: str) -> str:
    return "".join(each for each in code.upper() if each.isalnum())


def _already(account: str) -> str:
    return _("%(account)s is already a member.") % {"account": account}


def change_membership(
    membership: StorageMembership, terms: MembershipTerms, by: StaffAccount, *, is_confirmed: bool = False
) -> None:
    """Change what was granted by hand (D504). Raises `Warned` until administrators confirm that they give up their own
    administration."""
    _refuse_site_administrators(membership.account, by)
    if problems := _problems(membership.storage, terms, membership):
        raise Invalid(_("The membership cannot be changed."), problems)
    kept = MembershipTerms({*terms.roles, *map(Role, membership.roles_by_rules)}, terms.user_id)
    loses = membership.account == by and not by.is_superuser and not _administers(membership.storage, kept)
    if loses and not is_confirmed:
        raise Warned(_("You would no longer be an administrator of this storage and could not undo this yourself."))
    with transaction.atomic():
        # A sign-in may be refreshing the roles from rules.
        held = StorageMembership.objects.select_for_update().filter(pk=membership.pk).first()
        if held is None:
            raise Conflict(_("The membership no longer exists."))
        membership.roles, membership.origins = held.roles, held.origins
        membership.set_roles(StorageMembership.BY_HAND, terms.roles)
        membership.user_id = terms.user_id
        membership.save(update_fields=["roles", "origins", "user_id"])
        adopt_messages(membership)


def dismiss(membership: StorageMembership, by: StaffAccount) -> None:
    """Remove an account from the storage; the account itself remains."""
    _refuse_site_administrators(membership.account, by)
    membership.delete()


def _refuse_site_administrators(account: StaffAccount, by: StaffAccount) -> None:
    """Only site administrators change their own memberships: these only name their user element in the storage."""
    if _is_out_of_reach(account, by):
        raise Forbidden(_("Only site administrators can change this membership."))


def _is_out_of_reach(account: StaffAccount, by: StaffAccount) -> bool:
    return account.is_superuser and not by.is_superuser


def _administers(storage: Storage, terms: MembershipTerms) -> bool:
    """Tell whether the membership alone makes an account an administrator; see `staff_caller`."""
    if Role.ADMINISTRATOR not in terms.roles:
        return False
    grant = find_user(storage, terms.user_id) if terms.user_id else None
    return grant is None or (Role.ADMINISTRATOR in grant.roles and not grant.is_inactive)


def _problems(storage: Storage, terms: MembershipTerms, membership: StorageMembership | None = None) -> list[str]:
    has_others = membership is not None and membership.roles_by_rules
    problems = [] if terms.roles or has_others else [placed("roles", _("a membership needs at least one role."))]
    if terms.user_id is not None and find_user(storage, terms.user_id) is None:
        words = {"id": terms.user_id, "storage": storage}
        problems.append(placed("user", _("there is no user %(id)s in %(storage)s.") % words))
    return problems


def _stored(roles: Collection[Role]) -> list[str]:
    return [role.value for role in Role if role in roles]
