"""The end of sessions that began at a provider, by its message or with the provider itself (D507)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib.sessions.models import Session
from django.db.models import QuerySet

from storage.models import IdentityProvider, ProviderSession


def end_by_logout_token(provider: IdentityProvider, claims: dict[str, Any]) -> int:
    """End the sessions that a checked logout token names, and that began before it; return how many."""
    found = ProviderSession.objects.filter(provider=provider)
    if isinstance(claims.get("sid"), str) and claims["sid"]:
        found = found.filter(sid=claims["sid"])
    if isinstance(claims.get("sub"), str) and claims["sub"]:
        found = found.filter(subject=claims["sub"])
    # The second of the token may have begun before the session did.
    issued = datetime.fromtimestamp(int(claims["iat"]) + 1, UTC)
    return _end(found.filter(began_on__lte=issued))


def end_sessions(provider: IdentityProvider) -> int:
    return _end(ProviderSession.objects.filter(provider=provider))


def _end(found: QuerySet[ProviderSession]) -> int:
    keys = list(found.values_list("session_key", flat=True))
    Session.objects.filter(session_key__in=keys).delete()
    ProviderSession.objects.filter(session_key__in=keys).delete()
    return len(keys)
