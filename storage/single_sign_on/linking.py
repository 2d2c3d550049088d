"""The account of a person who has signed in at a provider, and its memberships from rules (D501, D502, D504).

`sign_on` is the only function that writes accounts, subjects and memberships for a provider.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from repository_site.core.problems import Forbidden
from repository_site.core.wording import clean_text
from storage.access.callers import find_user
from storage.accounts.invitations import is_invited
from storage.extension import storage_extensions
from storage.messages.recipients import adopt_messages
from storage.messages.writing import tell_of_memberships
from storage.models import AccessRule, DirectoryPerson, IdentityProvider, StaffAccount, Storage, StorageMembership
from storage.single_sign_on.directory import with_directory
from storage.single_sign_on.providers import hold_provider
from storage.single_sign_on.rules import MOST_RULES, Claims, Grant, grants_of

Grants = Mapping[UUID, Grant]
log = structlog.get_logger("sign-on")


@dataclass(frozen=True, slots=True)
class SignedOnPerson:
    """A subject of a provider, with the address that the provider has verified, or none."""

    subject: str
    address: str
    claims: Claims


def person_of(provider: IdentityProvider, claims: Claims) -> SignedOnPerson:
    """Return the person with these claims. Rules and user elements must not depend on an unverified address either."""
    address = verified_address(provider, claims)
    trusted = {name: value for name, value in claims.items() if name != "email"} | (
        {"email": address} if address else {}
    )
    return SignedOnPerson(str(claims.get("sub", "")), address, trusted)


def verified_address(provider: IdentityProvider, claims: Claims) -> str:
    """Return the address of a person in lower case; empty if nobody has verified it, or the domain is not assigned."""
    address = claims.get("email")
    # Some other letters become the same letter as an ASCII one when their case is ignored.
    if not isinstance(address, str) or len(address) > 254 or not address.isascii():
        return ""
    # Providers send a boolean; some send a text.
    is_verified = claims.get("email_verified") in (True, "true") or (
        provider.verifies_addresses and "email_verified" not in claims
    )
    try:
        validate_email(address)
    except ValidationError:
        return ""
    lower = address.lower()
    return lower if is_verified and _is_assigned(provider, lower) else ""


def _is_assigned(provider: IdentityProvider, address: str) -> bool:
    """Tell whether a provider may speak for the domain of an address: it was assigned to this provider or, without any
    domains, to no other one (D501)."""
    domain = domain_of(address)
    if provider.mail_domains or provider.collection_id is not None:
        return domain in provider.mail_domains
    return not IdentityProvider.objects.filter(mail_domains__contains=[domain]).exists()


def domain_of(address: str) -> str:
    return address.rpartition("@")[2].lower()


def rules_of(provider: IdentityProvider, storage: Storage | None = None) -> list[AccessRule]:
    """Return the rules of a provider, or those for one storage. Those of a collection count in its storages only,
    whatever is stored."""
    found = AccessRule.objects.filter(provider=provider, **({"storage": storage} if storage else {}))
    if provider.collection_id is not None:
        found = found.filter(storage__collection_id=provider.collection_id)
    return list(found.order_by("position", "id")[:MOST_RULES])


def sign_on(provider: IdentityProvider, person: SignedOnPerson) -> StaffAccount:
    """Return the account of a person, after its memberships have been refreshed; raise Forbidden without access."""
    try:
        return _sign_on(provider, person)
    except IntegrityError:
        # The same person signs in twice at the same time, for the first time: the other attempt has made the account.
        return _sign_on(provider, person)


def _sign_on(provider: IdentityProvider, person: SignedOnPerson) -> StaffAccount:
    rules = rules_of(provider)
    with transaction.atomic():
        hold_provider(provider)
        account = find_account(provider, person)
        grants = grants_of(rules, with_directory(provider, account, person.claims))
        account = account or _new_account(provider, person, grants)
        if reason := refuses_account(provider, account):
            raise Forbidden(reason)
        _remember(provider, person, account)
        refresh_memberships(provider, {account: grants})
    return account


def find_account(provider: IdentityProvider, person: SignedOnPerson) -> StaffAccount | None:
    """Return the account of a person, by subject, then by verified address (D502); raise Forbidden if it is somebody
    else's."""
    from allauth.socialaccount.models import SocialAccount

    found = SocialAccount.objects.filter(provider=str(provider.pk), uid=person.subject).first()
    return StaffAccount.objects.get(pk=found.user_id) if found else _account_by_address(provider, person)


def _account_by_address(provider: IdentityProvider, person: SignedOnPerson) -> StaffAccount | None:
    """Return the account with the verified address. Several accounts with one address are nobody's."""
    if not person.address:
        return None
    found = list(StaffAccount.objects.filter(email__iexact=person.address)[:2])
    if len(found) > 1:
        raise Forbidden(_("Several accounts have your address. Ask a site administrator to correct that."))
    if found and _has_subject(provider, found[0]):
        # A subject is never replaced: addresses are given to other people.
        raise Forbidden(_("Your account belongs to another person of this provider. Ask a site administrator."))
    return found[0] if found else None


def _has_subject(provider: IdentityProvider, account: StaffAccount) -> bool:
    from allauth.socialaccount.models import SocialAccount

    return bool(SocialAccount.objects.filter(provider=str(provider.pk), user_id=account.pk).exists())


def _new_account(provider: IdentityProvider, person: SignedOnPerson, grants: Grants) -> StaffAccount:
    if not grants and not is_invited(provider, person.address):
        raise Forbidden(_("No rule gives you access. Ask an administrator."))
    if not person.address and (provider.mail_domains or provider.collection_id is not None):
        raise Forbidden(_("The provider has not verified your address, or this provider is not for your mail domain."))
    claims = person.claims
    account = StaffAccount(
        username=_free_name(provider, person),
        email=person.address,
        first_name=_short(claims.get("given_name")),
        last_name=_short(claims.get("family_name")) or _short(claims.get("name")),
        is_staff=True,
    )
    account.set_unusable_password()
    account.save()
    return account


def _free_name(provider: IdentityProvider, person: SignedOnPerson) -> str:
    """Return a user name. An account with the same name is another person, who gets no namesake to be mistaken for."""
    plain = clean_text(f"{provider.key}:{person.subject}", 140)
    for name in filter(None, (person.address, plain)):
        if not StaffAccount.objects.filter(username__iexact=name).exists():
            return name
    return f"{plain}-{secrets.token_hex(4)}"


def _short(value: object) -> str:
    return clean_text(value, 150) if isinstance(value, str) else ""


def refuses_account(provider: IdentityProvider, account: StaffAccount) -> str:
    """Return why a provider may not sign in an account, although the subject is known (D501)."""
    if reason := out_of_reach(provider, account):
        return reason
    return "" if account.is_active and account.is_staff else _("This account cannot sign in.")


def out_of_reach(provider: IdentityProvider, account: StaffAccount) -> str:
    """Return why a provider, or its directory, has no power over an account."""
    is_assigned = bool(account.email) and domain_of(account.email) in provider.mail_domains
    if account.is_superuser and (provider.collection_id is not None or not is_assigned):
        return _("This provider does not sign in site administrators.")
    if provider.collection_id is not None and not is_assigned:
        return _("This provider is not for the mail domain of your account.")
    return ""


def _remember(provider: IdentityProvider, person: SignedOnPerson, account: StaffAccount) -> None:
    from allauth.socialaccount.models import SocialAccount

    kept = _storable(person.claims)
    SocialAccount.objects.update_or_create(
        provider=str(provider.pk),
        uid=person.subject,
        defaults={"extra_data": kept},
        create_defaults={"extra_data": kept, "user_id": account.pk},
    )


def _storable(value: Any) -> Any:
    """Return a value of JSON without characters that the database refuses."""
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_storable(name): _storable(each) for name, each in value.items()}
    return [_storable(each) for each in value] if isinstance(value, list) else value


def drop_stale_roles(account: StaffAccount) -> None:
    """Remove the roles from rules of providers where a person has not signed in for the time of a session. A sign-in
    with a password knows no groups, so it must not keep such roles alive (D512)."""
    origins = {
        origin
        for held in StorageMembership.objects.filter(account=account, origins__isnull=False)
        for origin in held.origins or ()
        if origin != StorageMembership.BY_HAND
    }
    if not origins:
        return
    from allauth.socialaccount.models import SocialAccount

    start = timezone.now() - timedelta(seconds=settings.SESSION_COOKIE_AGE)
    recent = SocialAccount.objects.filter(user_id=account.pk, provider__in=origins, last_login__gte=start)
    stale = origins - set(recent.values_list("provider", flat=True))
    left = IdentityProvider.objects.select_for_update(no_key=True).filter(pk__in=stale).order_by("pk")
    with transaction.atomic():
        for provider in left:
            # Otherwise the next change by a directory would bring these roles back (D562).
            SocialAccount.objects.filter(user_id=account.pk, provider=str(provider.pk)).update(extra_data={})
            refresh_memberships(provider, {account: _directory_grants(provider, account)})


def _directory_grants(provider: IdentityProvider, account: StaffAccount) -> Grants:
    """Return what the rules give to a person by the directory alone; nothing if it does not have the person."""
    people = account.directory_people.filter(provider=provider, is_active=True)
    if out_of_reach(provider, account) or not people.exists():
        return {}
    return grants_of(rules_of(provider), {**with_directory(provider, account, {}), "email": account.email})


def refresh_memberships(provider: IdentityProvider, grants_by_account: Mapping[StaffAccount, Grants]) -> None:
    """Replace the roles that a provider has granted to accounts. Roles of other origins stay (D504).

    The number of statements depends on the storages, not on the accounts, except for those that get a user element.
    """
    origin = str(provider.pk)
    rows = StorageMembership.objects.select_for_update().filter(account__in=[*grants_by_account])
    held = list(rows.order_by("pk"))
    # A directory may deactivate these accounts later (D561).
    with_user = {each.account_id for each in held if each.user_id is not None}
    people = DirectoryPerson.objects.filter(account__in=with_user)
    managed = set(people.values_list("account_id", flat=True))
    known: dict[int, dict[UUID, StorageMembership]] = {each.pk: {} for each in grants_by_account}
    for each in held:
        known[each.account_id][each.storage_id] = each
    wanted = {id for found in (*grants_by_account.values(), *known.values()) for id in found}
    storages = Storage.objects.select_related("collection").in_bulk(wanted)
    new: list[StorageMembership] = []
    changed: list[StorageMembership] = []
    gone: list[int] = []
    for account, grants in grants_by_account.items():
        memberships = known[account.pk]
        for storage_id in sorted((grants.keys() | memberships.keys()) & storages.keys()):
            grant = grants.get(storage_id)
            membership = memberships.get(storage_id) or StorageMembership(roles=[])
            if grant is None and membership.roles and origin not in (membership.origins or {}):
                continue
            membership.account, membership.storage = account, storages[storage_id]
            before = membership.roles, membership.origins, membership.user_id
            membership.set_roles(origin, grant.roles if grant else ())
            if membership.user_id is None and grant is not None:
                membership.user_id = free_user_of(membership.storage, grant)
            if membership.pk is None:
                new.append(membership)
            elif not membership.roles and not _can_be_handed_over(membership, managed):
                gone.append(membership.pk)
            elif before != (membership.roles, membership.origins, membership.user_id):
                changed.append(membership)
    StorageMembership.objects.filter(pk__in=gone).delete()
    StorageMembership.objects.bulk_create(new)
    tell_of_memberships(new)
    StorageMembership.objects.bulk_update(changed, ["roles", "origins", "user_id"], batch_size=500)
    for membership in changed:
        adopt_messages(membership)


def _can_be_handed_over(membership: StorageMembership, managed: Collection[int | None]) -> bool:
    """Tell whether a membership without roles stays: it alone knows the user element of its person, whose work pages
    offer (D545), and whose tokens a directory ends when it deactivates the person (D561)."""
    return membership.user_id is not None and (not membership.account.is_active or membership.account_id in managed)


def user_of(storage: Storage, grant: Grant) -> UUID | None:
    """Return the user element that a grant names, if exactly one has the value and is not inactive."""
    lookups = [each.find_users for each in storage_extensions if each.find_users]
    if not lookups or not grant.user_attribute:
        return None
    found = lookups[-1](storage, grant.user_attribute, grant.user_value)
    if len(found) != 1:
        return None
    held = find_user(storage, found[0])
    return found[0] if held is not None and not held.is_inactive else None


def free_user_of(storage: Storage, grant: Grant) -> UUID | None:
    """Return the user element that a grant names, unless it belongs to an account."""
    user = user_of(storage, grant)
    is_taken = user is not None and StorageMembership.objects.filter(storage=storage, user_id=user).exists()
    return None if is_taken else user


def tried_grants(
    provider: IdentityProvider, rules: list[AccessRule], claims: Claims
) -> list[tuple[Storage, Grant, UUID | None]]:
    """Return the access that rules would give, for the page that tries them out. Writes nothing."""
    grants = grants_of(rules, claims)
    storages = Storage.objects.filter(pk__in=grants).select_related("collection").order_by("collection__key", "key")
    return [(each, grants[each.pk], user_of(each, grants[each.pk])) for each in storages]
