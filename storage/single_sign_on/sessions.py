"""Sessions that began at a provider: their start, and signing out there as well (D507)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import structlog
from django.conf import settings
from django.contrib.auth import login
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from storage.models import IdentityProvider, ProviderSession, StaffAccount
from storage.single_sign_on.outgoing_requests import ProviderFailed, metadata_of
from storage.single_sign_on.provider_sessions import note_session
from storage.single_sign_on.providers import hold_provider, provider_with

# In the session of Django.
PROVIDER, ID_TOKEN = "sign_on_provider", "sign_on_id_token"
# Tokens with many groups would make an address that servers refuse. Without it, the provider asks the person.
LONGEST_HINT = 4000
# Seconds for which allauth accepts a state.
STATE_SECONDS = 600
BACKEND = "django.contrib.auth.backends.ModelBackend"
log = structlog.get_logger("sign-on")


def limit_session(request: HttpRequest) -> None:
    """Prepare a session for the state of a sign-in, which is stored in it: storing must not prolong the session (D149),
    and the sessions of strangers must not fill the database."""
    if not request.user.is_authenticated:
        request.session.set_expiry(STATE_SECONDS)
    elif held := Session.objects.filter(session_key=request.session.session_key).first():
        request.session.set_expiry(held.expire_date)


@transaction.atomic
def begin_session(
    request: HttpRequest,
    provider: IdentityProvider,
    account: StaffAccount,
    claims: dict[str, Any],
    id_token: str,
    began_on: datetime | None = None,
) -> None:
    """Sign in an account, with a new session as after a password. The provider can end it from the first moment on;
    `began_on` is when the person signed in there, if not now."""
    hold_provider(provider)
    login(request, account, backend=BACKEND)
    request.session.set_expiry(None)
    request.session[PROVIDER], request.session[ID_TOKEN] = str(provider.pk), id_token
    request.session.save()
    now = timezone.now()
    ProviderSession.objects.filter(
        account=account, began_on__lt=now - timedelta(seconds=settings.SESSION_COOKIE_AGE)
    ).delete()
    note_session(request.session.session_key, provider, account, claims, began_on or now)
    log.info("signed in", provider=provider.key, account=account.pk)


def sign_out_address(request: HttpRequest, back: str) -> str:
    """Return the address that ends the session at the provider, before the session here ends; empty if there is none.

    The provider may be away, which must not keep anybody from signing out here.
    """
    held = request.session.get(PROVIDER)
    provider = provider_with(held) if held else None
    if provider is None:
        return ""
    ProviderSession.objects.filter(session_key=request.session.session_key).delete()
    try:
        address = metadata_of(provider).get("end_session_endpoint")
    except ProviderFailed as problem:
        log.warning("provider did not answer", provider=provider.key, problem=str(problem))
        return ""
    if address is None:
        return ""
    given = {"client_id": provider.client_id, "post_logout_redirect_uri": back}
    hint = request.session.get(ID_TOKEN, "")
    if len(hint) <= LONGEST_HINT:
        given["id_token_hint"] = hint
    return f"{address}{'&' if '?' in str(address) else '?'}{urlencode(given)}"
