"""The end of sessions that began at a provider, by its message or with the provider itself (D507)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Q, QuerySet

from storage.models import AccountSession, IdentityProvider, ProviderSession, StaffAccount
from storage.single_sign_on.signed_tokens import session_of


def note_session(
    key: str | None, provider: IdentityProvider, account: StaffAccount, claims: dict[str, Any], began_on: datetime
) -> None:
    """Let a provider end a session, or a sign-in that waits for its second factor."""
    known = {"provider": provider, "account": account, "subject": claims["sub"], "sid": session_of(claims)}
    ProviderSession.objects.update_or_create(session_key=key, defaults={**known, "began_on": began_on})


@transaction.atomic
def end_by_logout_token(provider: IdentityProvider, claims: dict[str, Any]) -> int:
    """End the sessions that a checked logout token names, and that began before it; return how many."""
    # A sign-in that is being completed holds the provider; its session is found afterwards.
    IdentityProvider.objects.select_for_update(no_key=True).filter(pk=provider.pk).first()
    found = ProviderSession.objects.filter(provider=provider)
    if sid := session_of(claims):
        # Some providers name the session in logout tokens only.
        known = Q(sid=sid) | Q(sid="") if "sub" in claims else Q(sid=sid)
        found = found.filter(known)
    if "sub" in claims:
        found = found.filter(subject=claims["sub"])
    # The second of the token may have begun before the session did.
    issued = datetime.fromtimestamp(int(claims["iat"]) + 1, UTC)
    return _end(found.filter(began_on__lte=issued))


def follow_session(before: str | None, after: str | None) -> None:
    """Keep the entries of a session that has got another key, as after a change of the password."""
    if before and after and before != after:
        for entries in (ProviderSession.objects, AccountSession.objects):
            entries.filter(session_key=before).update(session_key=after)


def end_sessions(provider: IdentityProvider) -> int:
    return _end(ProviderSession.objects.filter(provider=provider))


def _end(found: QuerySet[ProviderSession]) -> int:
    keys = list(found.values_list("session_key", flat=True))
    Session.objects.filter(session_key__in=keys).delete()
    ProviderSession.objects.filter(session_key__in=keys).delete()
    return len(keys)
