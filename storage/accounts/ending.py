"""The end of all sessions of an account, and of the API tokens of its user elements (D545)."""

from __future__ import annotations

from django.db.models import F, Q
from django.utils import timezone

from storage.access.tokens import revoke_token
from storage.accounts.sessions import end_sessions
from storage.models import ApiToken, ProviderSession, StaffAccount


def end_all_sessions(account: StaffAccount) -> int:
    """End every session of an account, on all servers, from the next request on; also those that no list shows, and
    sign-ins that wait for a second factor. Return how many the list has shown."""
    StaffAccount.objects.filter(pk=account.pk).update(ended_sessions=F("ended_sessions") + 1)
    account.refresh_from_db(fields=["ended_sessions"])
    ended = end_sessions(account)
    ProviderSession.objects.filter(account=account).delete()
    return ended


def end_access(account: StaffAccount) -> int:
    """End the sessions of an account, and revoke the tokens of its user elements; return how many tokens."""
    end_all_sessions(account)
    users = account.memberships.exclude(user_id=None).values_list("storage_id", "user_id")
    wanted = Q(pk=None)
    for storage, user in users:
        wanted |= Q(storage_id=storage, user_id=user)
    now = timezone.now()
    unended = Q(valid_until=None) | Q(valid_until__gt=now)
    found = ApiToken.objects.filter(wanted, unended, revoked_on=None).select_related("storage__collection")
    return sum(revoke_token(token) for token in found.order_by("pk"))
