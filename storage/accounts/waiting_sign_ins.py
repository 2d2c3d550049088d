"""Sign-ins that wait for a second factor (D553): the session names the account, and gives no access yet."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import login
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from storage.accounts.second_factors import has_factor, needs_factor
from storage.models import IdentityProvider, ProviderSession, StaffAccount
from storage.single_sign_on.provider_sessions import note_session
from storage.single_sign_on.providers import hold_provider
from storage.single_sign_on.sessions import BACKEND, begin_session

KEY = "waiting_sign_in"
MINUTES = 10
PAGE = "/admin/factor/"


@dataclass(frozen=True, slots=True)
class WaitingSignIn:
    account: StaffAccount
    next_address: str
    provider: dict[str, Any] | None


def must_wait(account: StaffAccount, *, is_password: bool) -> bool:
    """Tell whether a sign-in needs a second factor: one that the person has, or one that the installation requires."""
    return needs_factor(account) or (is_password and has_factor(account))


def let_wait(
    request: HttpRequest,
    account: StaffAccount,
    next_address: str,
    provider: IdentityProvider | None = None,
    claims: dict[str, Any] | None = None,
    id_token: str = "",
) -> None:
    """Remember a sign-in whose first factor was right, for ten minutes."""
    request.session.flush()
    named = {"sub": (claims or {}).get("sub"), "sid": (claims or {}).get("sid")}
    request.session[KEY] = {
        "account": account.pk,
        # A new password ends the sign-in.
        "hash": account.get_session_auth_hash(),
        "since": time.time(),
        "next": next_address,
        "provider": {"id": str(provider.pk), "claims": named, "id_token": id_token} if provider else None,
    }
    if provider:
        request.session.save()
        note_session(request.session.session_key, provider, account, named, timezone.now())


def waiting_sign_in(request: HttpRequest) -> WaitingSignIn | None:
    held = request.session.get(KEY)
    if not held or held["since"] < time.time() - MINUTES * 60:
        return None
    account = StaffAccount.objects.filter(pk=held["account"], is_active=True, is_staff=True).first()
    if account is None or account.get_session_auth_hash() != held["hash"]:
        return None
    provider = held["provider"]
    if provider and not IdentityProvider.objects.filter(pk=provider["id"], is_enabled=True).exists():
        return None
    return WaitingSignIn(account, held["next"], provider)


def complete_sign_in(request: HttpRequest, waiting: WaitingSignIn) -> None:
    """Begin the session, as after a sign-in with one factor. The session gets another key.

    A sign-in that its provider has ended in the meantime ends here, too.
    """
    request.session.pop(KEY, None)
    found = waiting.provider
    if found is None:
        login(request, waiting.account, backend=BACKEND)
        return
    provider = IdentityProvider.objects.get(pk=found["id"])
    with transaction.atomic():
        # Logout tokens wait for this lock, and then find the new session. Disabling a provider takes it
        # before it deletes entries, so the order must be the same here.
        hold_provider(provider)
        entry = ProviderSession.objects.filter(session_key=request.session.session_key).first()
        if entry is None:
            request.session.flush()
            return
        begin_session(request, provider, waiting.account, found["claims"], found["id_token"], entry.began_on)
        entry.delete()
