"""Sessions that began at a provider: their start, and signing out there as well (D507)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import structlog
from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest
from django.utils import timezone

from storage.models import IdentityProvider, ProviderSession, StaffAccount
from storage.single_sign_on.outgoing_requests import ProviderFailed, is_web_address, metadata_of
from storage.single_sign_on.providers import provider_with

# In the session of Django.
PROVIDER, ID_TOKEN = "sign_on_provider", "sign_on_id_token"
BACKEND = "django.contrib.auth.backends.ModelBackend"
log = structlog.get_logger("sign-on")


def begin_session(
    request: HttpRequest, provider: IdentityProvider, account: StaffAccount, claims: dict[str, Any], id_token: str
) -> None:
    """Sign in an account, with a new session as after a password."""
    login(request, account, backend=BACKEND)
    request.session[PROVIDER], request.session[ID_TOKEN] = str(provider.pk), id_token
    request.session.save()
    now = timezone.now()
    sid = claims.get("sid")
    ProviderSession.objects.filter(
        account=account, began_on__lt=now - timedelta(seconds=settings.SESSION_COOKIE_AGE)
    ).delete()
    ProviderSession.objects.update_or_create(
        session_key=request.session.session_key,
        defaults={
            "provider": provider,
            "account": account,
            "subject": claims["sub"],
            "sid": sid[:255] if isinstance(sid, str) and sid.isprintable() else "",
            "began_on": now,
        },
    )
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
    if not is_web_address(address):
        return ""
    given = {
        "client_id": provider.client_id,
        "id_token_hint": request.session.get(ID_TOKEN, ""),
        "post_logout_redirect_uri": back,
    }
    return f"{address}{'&' if '?' in str(address) else '?'}{urlencode(given)}"
