"""Invitations: making, sending, withdrawing and accepting them (D550)."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import structlog
from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core import signing
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone, translation
from django.utils.crypto import get_random_string
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from repository_site.core.problems import Conflict, Forbidden, Invalid, TooManyRequests, placed
from repository_site.core.wording import clean_text
from storage.access.staff import staff_caller
from storage.jobs import site_job
from storage.jobs.enqueueing import MAIL
from storage.messages.mailing import RETRY, is_mail_address, new_mail, send_mail
from storage.messages.writing import tell_of_membership
from storage.models import IdentityProvider, Invitation, StaffAccount, Storage, StorageCollection, StorageMembership
from storage.options import Role
from storage.single_sign_on.providers import offered_providers, refuses_password

log = structlog.get_logger("invitations")
SALT = "storage.accounts.invitations"
MOST_OPEN = 200
MOST_NEW = 100
DAY = timedelta(days=1)
# Mails to one address: five at once, then one in this time.
MOST_AT_ONCE = 5
DISTANCE = timedelta(hours=6)
# Days for which withdrawn and expired invitations count for the limits.
KEPT_DAYS = 30


@dataclass(frozen=True, slots=True)
class OpenedInvitation:
    """The invitation of a valid link. A mailed link proves that its holder reads the mails of the address."""

    invitation: Invitation
    is_mailed: bool


def invitations_of(place: Storage | StorageCollection) -> QuerySet[Invitation]:
    if isinstance(place, Storage):
        return Invitation.objects.filter(storage=place)
    return Invitation.objects.filter(collection=place, storage=None)


def open_invitations(now: datetime) -> QuerySet[Invitation]:
    return Invitation.objects.filter(withdrawn_on=None, valid_until__gt=now)


@transaction.atomic
def invite(
    place: Storage | StorageCollection, address: str, roles: Collection[Role], by: StaffAccount, *, again: bool = False
) -> Invitation:
    """Invite an address, and mail the link if there is a mail server. Sending again ends the former link."""
    _require_administrator(place, by)
    wanted = address.strip().lower()
    problems = (
        [] if is_mail_address(wanted) else [placed("address", _("expected an address such as name@example.org."))]
    )
    if not roles:
        problems.append(placed("roles", _("choose at least one role.")))
    if problems:
        raise Invalid(_("The invitation is not valid."), problems)
    now = timezone.now()
    # Sending again waits for somebody who is accepting the invitation.
    found = invitations_of(place).select_for_update().filter(address=wanted).first()
    is_open = found is not None and found.withdrawn_on is None and found.valid_until > now
    if is_open and not again:
        text = _("this address is invited already; the list of invitations can send the link again.")
        raise Invalid(_("The invitation is not valid."), [placed("address", text)])
    if not is_open:
        _check_limits(place, now, is_new=found is None)
    if found is None:
        found = Invitation(
            collection=place.collection if isinstance(place, Storage) else place,
            storage=place if isinstance(place, Storage) else None,
            address=wanted,
            made_on=now,
        )
    try:
        with transaction.atomic():
            return _send(found, roles, by, now)
    except IntegrityError:
        raise Conflict(_("Somebody else has just invited this address.")) from None


def _require_administrator(place: Storage | StorageCollection, by: StaffAccount) -> None:
    if not _administers(place, by):
        raise Forbidden(_("Only administrators can invite people."))


def _administers(place: Storage | StorageCollection, account: StaffAccount | None) -> bool:
    caller = staff_caller(account, place if isinstance(place, Storage) else None)
    return caller is not None and Role.ADMINISTRATOR in caller.roles


def _check_limits(place: Storage | StorageCollection, now: datetime, *, is_new: bool) -> None:
    own = invitations_of(place)
    if own.filter(withdrawn_on=None, valid_until__gt=now).count() >= MOST_OPEN:
        raise Conflict(_("There are %d open invitations. Withdraw some of them first.") % MOST_OPEN)
    if is_new and own.filter(made_on__gt=now - DAY).count() >= MOST_NEW:
        raise Conflict(_("%d people have been invited within a day. Try again tomorrow.") % MOST_NEW)


def _send(invitation: Invitation, roles: Collection[Role], by: StaffAccount, now: datetime) -> Invitation:
    if settings.MAIL_SERVER is not None:
        # The mails are spread over this time, as those that confirm an address (D353).
        invitation.mails_until = max(invitation.mails_until or now, now) + DISTANCE
        if (wait := invitation.mails_until - now - MOST_AT_ONCE * DISTANCE) > timedelta(0):
            raise TooManyRequests(_too_many(math.ceil(wait / timedelta(hours=1))), math.ceil(wait.total_seconds()))
    invitation.roles = [role.value for role in Role if role in roles]
    invitation.invited_by, invitation.language = by, get_language() or settings.LANGUAGE_CODE
    invitation.valid_until, invitation.withdrawn_on = now + timedelta(days=settings.INVITATION_DAYS), None
    invitation.sendings += 1
    invitation.save()
    if settings.MAIL_SERVER is not None:
        mail_invitation.enqueue(invitation=str(invitation.pk), sending=invitation.sendings)
    log.info("invited", invitation=str(invitation.pk), place=str(invitation.place), by=by.pk)
    return invitation


def _too_many(hours: int) -> str:
    text = ngettext(
        "This address has received too many mails; try again in %(hours)d hour.",
        "This address has received too many mails; try again in %(hours)d hours.",
        hours,
    )
    return text % {"hours": hours}


@transaction.atomic
def withdraw(invitation: Invitation, by: StaffAccount) -> None:
    """End an invitation. The row stays for a while, so that its mails still count."""
    _require_administrator(invitation.place, by)
    # The person may have accepted it a moment ago.
    Invitation.objects.filter(pk=invitation.pk).update(withdrawn_on=timezone.now())
    log.info("invitation withdrawn", invitation=str(invitation.pk), by=by.pk)


def link_path(invitation: Invitation, *, is_mailed: bool) -> str:
    """Return the path of the link. It contains neither the address nor a secret that is stored anywhere."""
    value = signing.dumps([invitation.pk.hex, invitation.sendings, is_mailed], salt=SALT)
    return f"/admin/invitation/{value}/"


@site_job("accounts.invite", retry=RETRY, queue=MAIL)
def mail_invitation(invitation: str, sending: int) -> None:
    """Mail the link of an invitation, unless it was sent again or withdrawn in the meantime."""
    wanted = open_invitations(timezone.now()).filter(pk=UUID(invitation), sendings=sending)
    found = wanted.select_related("storage__collection", "collection", "invited_by").first()
    if found is None or found.invited_by is None:
        return
    with translation.override(found.language), timezone.override(settings.DEFAULT_TIME_ZONE):
        title = place_name(found)
        context = {
            "subject": _("Invitation to %(storage)s") % {"storage": " ".join(title.split())},
            "language": found.language,
            "storage": title,
            "inviter": found.invited_by.get_full_name() or found.invited_by.get_username(),
            "link": f"{settings.PUBLIC_URL}{link_path(found, is_mailed=True)}",
            "end": found.valid_until,
        }
        send_mail(new_mail("invitation", found.address, context, uuid4()), invitation=invitation)


def place_name(invitation: Invitation) -> str:
    return str(invitation.place.title or invitation.place)


def open_link(value: str, *, lock: bool = False) -> OpenedInvitation | None:
    """Return the invitation of a link; None if the link is damaged, too old, used, replaced or withdrawn."""
    try:
        key, sending, is_mailed = signing.loads(value, salt=SALT)
    except signing.BadSignature:
        return None
    found = open_invitations(timezone.now()).filter(pk=UUID(key), sendings=sending)
    if lock:
        found = found.select_for_update(of=("self",))
    invitation = found.select_related("storage__collection", "collection", "invited_by").first()
    if invitation is None or not _administers(invitation.place, invitation.invited_by):
        return None
    return OpenedInvitation(invitation, bool(is_mailed))


def has_account(opened: OpenedInvitation) -> bool:
    """Tell whether the holder of a mailed link has an account already, even an inactive one. Nobody else is told."""
    return opened.is_mailed and StaffAccount.objects.filter(email__iexact=opened.invitation.address).exists()


def providers_for(invitation: Invitation) -> list[IdentityProvider]:
    """Return the providers that can sign in the invited person."""
    domain = invitation.address.rpartition("@")[2]
    offered = offered_providers(invitation.collection_id)
    return [each for each in offered if not each.mail_domains or domain in each.mail_domains]


def foreign_provider_of(invitation: Invitation) -> IdentityProvider | None:
    """Return the provider of another collection that alone signs in the invited person, because it has switched off
    passwords for the domain; sign-in pages here do not offer it."""
    found = refuses_password(invitation.address)
    return None if found is None or found.collection_id in (None, invitation.collection_id) else found


def is_invited(provider: IdentityProvider, address: str) -> bool:
    """Tell whether a provider can create an account for a verified address, because somebody has invited it."""
    found = open_invitations(timezone.now()).filter(address=address)
    if provider.collection_id is not None:
        found = found.filter(collection=provider.collection_id)
    return bool(address) and found.exists()


@transaction.atomic
def accept(value: str, account: StaffAccount) -> list[Storage]:
    """Give an account the roles of an invitation, in addition to those that it has; return the storages."""
    opened = open_link(value, lock=True)
    if opened is None:
        raise Conflict(_("The link is too old, has been used, or was withdrawn. Ask for a new one."))
    return _grant(opened.invitation, account)


@transaction.atomic
def accept_with_password(value: str, first_name: str, last_name: str, password: str) -> StaffAccount:
    """Create an account for the invited person, and give it the roles."""
    opened = open_link(value, lock=True)
    if opened is None:
        raise Conflict(_("The link is too old, has been used, or was withdrawn. Ask for a new one."))
    if has_account(opened) or refuses_password(opened.invitation.address):
        raise Conflict(_("Sign in to accept the invitation."))
    account = StaffAccount(
        username=_free_name(opened),
        # A copied link proves no address.
        email=opened.invitation.address if opened.is_mailed else "",
        first_name=clean_text(first_name, 150),
        last_name=clean_text(last_name, 150),
        language=opened.invitation.language if opened.is_mailed else "",
        is_staff=True,
    )
    try:
        validate_password(password, account)
    except ValidationError as problem:
        raise Invalid(
            _("The password cannot be used."), [placed("password", text) for text in problem.messages]
        ) from None
    account.set_password(password)
    account.save()
    _grant(opened.invitation, account)
    return account


def _free_name(opened: OpenedInvitation) -> str:
    """Return the address as the user name, unless the link proves none or somebody has this name."""
    address = opened.invitation.address
    if opened.is_mailed and len(address) <= 150 and not StaffAccount.objects.filter(username__iexact=address).exists():
        return address
    while True:
        name = f"{address.partition('@')[0][:140]}-{get_random_string(6, '0123456789')}"
        if not StaffAccount.objects.filter(username__iexact=name).exists():
            return name


def _grant(invitation: Invitation, account: StaffAccount) -> list[Storage]:
    inside = Storage.objects.filter(collection=invitation.collection_id).select_related("collection").order_by("key")
    storages = [invitation.storage] if invitation.storage else list(inside)
    held = StorageMembership.objects.select_for_update(of=("self",)).filter(account=account, storage__in=storages)
    memberships = {each.storage_id: each for each in held.order_by("pk")}
    for storage in storages:
        membership = memberships.get(storage.pk)
        is_new = membership is None
        membership = membership or StorageMembership(account=account, storage=storage, roles=[])
        membership.set_roles(StorageMembership.BY_HAND, {*membership.roles_by_hand, *invitation.roles})
        membership.save()
        if is_new:
            tell_of_membership(membership)
    log.info("invitation accepted", invitation=str(invitation.pk), account=account.pk)
    invitation.delete()
    return storages


def forget_old_invitations() -> None:
    Invitation.objects.filter(valid_until__lt=timezone.now() - timedelta(days=KEPT_DAYS)).delete()
