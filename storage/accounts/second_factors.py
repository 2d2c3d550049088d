"""Second factors of accounts: one-time codes, recovery codes and passkeys, computed and checked by allauth (D553).

allauth and its libraries are imported when somebody uses a factor. Its functions read the session of the request.
"""

from __future__ import annotations

import base64
import json
import struct
from typing import TYPE_CHECKING, Any

import structlog
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest

from repository_site.core.sealing import Unsealable, seal, unseal
from repository_site.core.wording import clean_text
from storage.models import StaffAccount, StorageMembership
from storage.options import Role

if TYPE_CHECKING:
    from allauth.mfa.models import Authenticator

TOTP, PASSKEY, RECOVERY = "totp", "webauthn", "recovery_codes"
FACTORS = (TOTP, PASSKEY)
# Where a factor has its encrypted secret. A passkey has none: the service knows a public key.
SECRETS = {TOTP: "secret", RECOVERY: "seed"}
MOST_PASSKEYS = 10
LONGEST_ANSWER = 20_000
# Raised for answers of a browser that are wrong, damaged or hostile.
UNREADABLE = (ValidationError, ValueError, TypeError, LookupError, AttributeError, RecursionError, struct.error)
# The secret of an app that is being set up, encrypted in the session.
NEW_SECRET, PURPOSE = "new_totp", "new second factor"
log = structlog.get_logger("second-factor")


def factors_of(account: StaffAccount) -> list[Authenticator]:
    """Return the factors of an account, without its recovery codes."""
    from allauth.mfa.models import Authenticator

    return list(Authenticator.objects.filter(user_id=account.pk, type__in=FACTORS).order_by("created_at", "pk"))


def has_factor(account: StaffAccount) -> bool:
    from allauth.mfa.models import Authenticator

    return bool(Authenticator.objects.filter(user_id=account.pk, type__in=FACTORS).exists())


def needs_factor(account: StaffAccount) -> bool:
    """Tell whether the installation requires a factor: of site administrators, and of administrators of storages."""
    if settings.SECOND_FACTOR != "administrators":
        return False
    administered = StorageMembership.objects.filter(account=account, roles__contains=[Role.ADMINISTRATOR.value])
    return account.is_superuser or administered.exists()


def is_vouched(claims: dict[str, Any]) -> bool:
    """Tell whether a provider says that the person has signed in with several factors (RFC 8176)."""
    methods = claims.get("amr")
    return isinstance(methods, list) and "mfa" in methods


def check_code(account: StaffAccount, code: str) -> bool:
    """Tell whether a one-time code or a recovery code is right. Each works once."""
    from allauth.mfa.models import Authenticator

    typed = "".join(code.split())[:20]
    with transaction.atomic():
        # Two requests with the same code come one after the other.
        held = Authenticator.objects.select_for_update().filter(user_id=account.pk, type__in=(TOTP, RECOVERY))
        for each in held.order_by("pk"):
            if _is_readable(each) and _is_right(each, typed):
                _note_use(account, each)
                return True
    return False


def _note_use(account: StaffAccount, factor: Authenticator) -> None:
    """Note the use of a factor, and encrypt the secrets of the account with the current key (D360)."""
    from allauth.mfa.models import Authenticator
    from allauth.mfa.utils import decrypt, encrypt

    factor.record_usage()
    for each in Authenticator.objects.filter(user_id=account.pk, type__in=SECRETS):
        if _is_readable(each):
            name = SECRETS[each.type]
            each.data[name] = encrypt(decrypt(each.data[name]))
            each.save(update_fields=["data"])
    log.info("second factor used", account=account.pk, kind=factor.type)


def _is_readable(factor: Authenticator) -> bool:
    """Tell whether this installation has the key of a secret. A factor that it cannot read is never right."""
    from allauth.mfa.utils import decrypt

    try:
        decrypt(factor.data[SECRETS[factor.type]])
    except Unsealable:
        log.warning("second factor encrypted with another key", account=factor.user_id, kind=factor.type)
        return False
    return True


def _is_right(factor: Authenticator, code: str) -> bool:
    if factor.type == RECOVERY:
        return bool(factor.wrap().validate_code(code))
    counter = _counter_of(_secret_of(factor), code)
    # allauth remembers used codes in the memory of one process.
    if counter is None or counter <= factor.data.get("counter", 0):
        return False
    factor.data["counter"] = counter
    factor.save(update_fields=["data"])
    return True


def _secret_of(factor: Authenticator) -> str:
    from allauth.mfa.utils import decrypt

    return str(decrypt(factor.data["secret"]))


def _counter_of(secret: str, code: str) -> int | None:
    """Return the number of the half minute to which a code belongs; None for a wrong code."""
    from allauth.core.internal.cryptokit import compare_user_code
    from allauth.mfa.totp.internal import auth

    for counter in auth.yield_hotp_counters_from_time():
        if compare_user_code(actual=code, expected=auth.format_hotp_value(auth.hotp_value(secret, counter))):
            return int(counter)
    return None


# One-time codes


def new_secret(request: HttpRequest) -> str:
    """Return the secret for an app that is being set up. A reload shows the same one."""
    from allauth.mfa.totp.internal.auth import generate_totp_secret

    try:
        return unseal(request.session.get(NEW_SECRET, ""), PURPOSE)
    except Unsealable:
        secret = str(generate_totp_secret())
        request.session[NEW_SECRET] = seal(secret, PURPOSE)
        return secret


def secret_picture(request: HttpRequest, account: StaffAccount, secret: str) -> str:
    """Return the QR code of a secret, as an address of an image."""
    from allauth.core import context
    from allauth.mfa.adapter import get_adapter

    with context.request_context(request):
        adapter = get_adapter()
        svg = adapter.build_totp_svg(adapter.build_totp_url(account, secret))
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def add_app(request: HttpRequest, account: StaffAccount, code: str) -> bool:
    """Add one-time codes if the typed one is right, instead of those of a former app."""
    from allauth.mfa.models import Authenticator
    from allauth.mfa.totp.internal.auth import TOTP as Codes

    secret = new_secret(request)
    counter = _counter_of(secret, "".join(code.split())[:20])
    if counter is None:
        return False
    with transaction.atomic():
        Authenticator.objects.filter(user_id=account.pk, type=TOTP).delete()
        made = Codes.activate(account, secret).instance
        made.data["counter"] = counter
        made.save(update_fields=["data"])
    request.session.pop(NEW_SECRET, None)
    log.info("second factor added", account=account.pk, kind=TOTP)
    return True


# Passkeys


def passkey_options(request: HttpRequest, account: StaffAccount, *, is_new: bool) -> dict[str, Any]:
    """Return what the browser needs to create a passkey, or to use one. The challenge is in the session."""
    from allauth.core import context
    from allauth.mfa.webauthn.internal import auth

    with context.request_context(request):
        found = auth.begin_registration(account, passwordless=False) if is_new else auth.begin_authentication(account)
    return dict(found)


def add_passkey(request: HttpRequest, account: StaffAccount, name: str, answer: str) -> bool:
    """Add the passkey that a browser has created."""
    from allauth.core import context
    from allauth.mfa.webauthn.internal import auth

    credential = _parsed(answer)
    passkeys = [each for each in factors_of(account) if each.type == PASSKEY]
    if credential is None or len(passkeys) >= MOST_PASSKEYS:
        return False
    with context.request_context(request):
        try:
            auth.parse_registration_response(credential)
            auth.complete_registration(credential)
        except UNREADABLE:
            return False
    auth.WebAuthn.add(account, clean_text(name, 50) or f"{len(passkeys) + 1}", credential)
    log.info("second factor added", account=account.pk, kind=PASSKEY)
    return True


def check_passkey(request: HttpRequest, account: StaffAccount, answer: str) -> bool:
    from allauth.core import context
    from allauth.mfa.webauthn.internal import auth

    credential = _parsed(answer)
    if credential is None:
        return False
    with context.request_context(request):
        try:
            auth.parse_authentication_response(credential)
            used = auth.complete_authentication(account, credential)
        except UNREADABLE:
            return False
    _note_use(account, used)
    return True


def _parsed(answer: str) -> dict[str, Any] | None:
    try:
        found = json.loads(answer) if len(answer) <= LONGEST_ANSWER and "\\u0000" not in answer else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


# Recovery codes, and the end of factors


def recovery_codes(account: StaffAccount, *, is_new: bool = False) -> list[str]:
    """Return the recovery codes that are left; make the first ones, or new ones that replace them."""
    from allauth.mfa.models import Authenticator
    from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes

    with transaction.atomic():
        held = Authenticator.objects.filter(user_id=account.pk, type=RECOVERY)
        if is_new or not all(map(_is_readable, held)):
            held.delete()
        return list(RecoveryCodes.activate(account).get_unused_codes())


def count_recovery_codes(account: StaffAccount) -> int:
    from allauth.mfa.models import Authenticator

    found = Authenticator.objects.filter(user_id=account.pk, type=RECOVERY).first()
    return len(found.wrap().get_unused_codes()) if found and _is_readable(found) else 0


def remove_factor(account: StaffAccount, number: int) -> bool:
    """Remove one factor, and the recovery codes with the last one. The last one stays where a factor is required."""
    from allauth.mfa.base.internal.flows import delete_dangling_recovery_codes
    from allauth.mfa.models import Authenticator

    with transaction.atomic():
        # Two requests must not remove the last two factors.
        StaffAccount.objects.select_for_update().get(pk=account.pk)
        if needs_factor(account) and len(factors_of(account)) == 1:
            return False
        removed, _ = Authenticator.objects.filter(user_id=account.pk, pk=number, type__in=FACTORS).delete()
        delete_dangling_recovery_codes(account)
    log.info("second factor removed", account=account.pk)
    return bool(removed)


def remove_all_factors(account: StaffAccount) -> int:
    from allauth.mfa.models import Authenticator

    removed, _ = Authenticator.objects.filter(user_id=account.pk).delete()
    log.info("second factors removed", account=account.pk, number=removed)
    return int(removed)
