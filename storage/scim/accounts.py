"""Accounts and memberships follow the people of a directory (D543 to D545).

Everything here runs in the transaction of the change, which has locked the provider.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import structlog
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from repository_site.core.wording import clean_text
from storage.accounts.ending import end_access
from storage.models import DirectoryPerson, IdentityProvider, StaffAccount
from storage.single_sign_on.directory import claims_of
from storage.single_sign_on.linking import Grants, domain_of, out_of_reach, refresh_memberships, rules_of
from storage.single_sign_on.rules import Claims, grants_of

BATCH = 500
log = structlog.get_logger("scim")


def address_of(person: DirectoryPerson) -> str:
    """Return the address that decides about the account: the primary one, else the first one, else the user name."""
    mails = [each for each in person.attributes.get("emails", []) if each.get("value")]
    chosen = next((each for each in mails if each.get("primary")), mails[0] if mails else {"value": person.user_name})
    address = str(chosen["value"]).strip().lower()
    try:
        validate_email(address)
    except ValidationError:
        return ""
    return address if len(address) <= 254 else ""


def settle_account(provider: IdentityProvider, person: DirectoryPerson) -> None:
    """Find or create the account of a person, let it follow the person, and refresh its memberships."""
    account = _account_of(provider, person)
    if account is None:
        return
    if reason := out_of_reach(provider, account):
        log.warning("account left alone", person=str(person.pk), account=account.pk, reason=reason)
        follow_rules(provider, [person])
        return
    _describe(provider, account, person)
    if not person.is_active:
        _deactivate(provider, account)
    elif not account.is_active and account.deactivated_by_id == provider.pk:
        account.is_active, account.deactivated_by = True, None
        log.info("account activated", account=account.pk)
    account.save(update_fields=["email", "first_name", "last_name", "is_active", "deactivated_by"])
    follow_rules(provider, [person])


def release_account(provider: IdentityProvider, person: DirectoryPerson) -> None:
    """Deactivate the account of a person whom the directory deletes."""
    person.is_active = False
    if person.account_id is not None:
        settle_account(provider, person)


def _account_of(provider: IdentityProvider, person: DirectoryPerson) -> StaffAccount | None:
    """Return the locked account of a person; None if the directory may not have one for this address."""
    locked = StaffAccount.objects.select_for_update().order_by("pk")
    if person.account_id is not None:
        return locked.filter(pk=person.account_id).first()
    address = address_of(person)
    if not address or domain_of(address) not in provider.mail_domains:
        log.warning("person without an account", person=str(person.pk), reason="The mail domain is not assigned.")
        return None
    found = list(locked.filter(email__iexact=address)[:2])
    reason = _unlinkable(provider, found)
    if reason:
        log.warning("person without an account", person=str(person.pk), reason=reason)
        return None
    if not found and not person.is_active:
        return None
    account = found[0] if found else _new_account(provider, person, address)
    person.account = account
    person.save(update_fields=["account"])
    return account


def _unlinkable(provider: IdentityProvider, found: list[StaffAccount]) -> str:
    if len(found) > 1:
        return "Several accounts have the address."
    if found and DirectoryPerson.objects.filter(provider=provider, account=found[0]).exists():
        return "The account belongs to another person of the directory."
    return out_of_reach(provider, found[0]) if found else ""


def _new_account(provider: IdentityProvider, person: DirectoryPerson, address: str) -> StaffAccount:
    # An account with the same name is another person, who gets no namesake to be mistaken for.
    is_taken = StaffAccount.objects.filter(username__iexact=address).exists()
    name = f"{provider.key}:{person.pk}" if is_taken else clean_text(address, 150)
    account = StaffAccount(username=name, email=address, is_staff=True)
    account.set_unusable_password()
    account.save()
    log.info("account created", account=account.pk, person=str(person.pk))
    return account


def _describe(provider: IdentityProvider, account: StaffAccount, person: DirectoryPerson) -> None:
    """Give the account the name and the address of its person; the address only within the assigned domains."""
    name: dict[str, Any] = person.attributes.get("name") or {}
    first, last = clean_text(name.get("givenName") or "", 150), clean_text(name.get("familyName") or "", 150)
    whole = clean_text(person.attributes.get("displayName") or name.get("formatted") or "", 150)
    if first or last or whole:
        account.first_name, account.last_name = (first, last) if first or last else ("", whole)
    address = address_of(person)
    if not address or address == account.email.lower():
        return
    others = StaffAccount.objects.filter(email__iexact=address).exclude(pk=account.pk)
    if domain_of(address) not in provider.mail_domains or others.exists():
        log.warning("address not changed", account=account.pk, person=str(person.pk))
    else:
        account.email = address


def _deactivate(provider: IdentityProvider, account: StaffAccount) -> None:
    # Also for an account that a site administrator has deactivated: that keeps somebody from signing in only.
    tokens = end_access(account)
    if account.is_active or tokens:
        log.info("account deactivated", account=account.pk, revoked_tokens=tokens)
    if account.is_active:
        account.is_active, account.deactivated_by = False, provider


def follow_rules(provider: IdentityProvider, people: Sequence[DirectoryPerson]) -> None:
    """Refresh the roles that the rules of the provider give to people. Inactive people have none."""
    rules = rules_of(provider)
    with_account = [each for each in people if each.account_id is not None]
    for start in range(0, len(with_account), BATCH):
        some = with_account[start : start + BATCH]
        accounts = StaffAccount.objects.select_for_update().order_by("pk").in_bulk([each.account_id for each in some])
        signed_in = _signed_in_claims(provider, [*accounts])
        claims = claims_of(provider, some, signed_in)
        refreshed: dict[StaffAccount, Grants] = {}
        for person in some:
            account = accounts.get(person.account_id or 0)
            if account is None or account.is_superuser:
                continue
            has_access = account.is_active and person.is_active and not out_of_reach(provider, account)
            found = {**claims[person.pk], "email": account.email}
            refreshed[account] = grants_of(rules, found) if has_access else {}
        refresh_memberships(provider, refreshed)


def _signed_in_claims(provider: IdentityProvider, accounts: list[int]) -> dict[int, Claims]:
    from allauth.socialaccount.models import SocialAccount

    rows = SocialAccount.objects.filter(provider=str(provider.pk), user_id__in=accounts)
    return dict(rows.order_by("pk").values_list("user_id", "extra_data"))
