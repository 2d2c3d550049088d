"""Reminders before the tokens of a storage end (D486)."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from storage.events.recording import record_token
from storage.models import ApiToken, EventType, Storage

STAGES = (timedelta(days=14), timedelta(days=2))


def ending_soon(now: datetime) -> Q:
    """Return the condition of tokens that end within the first stage."""
    return Q(revoked_on__isnull=True, valid_until__gt=now, valid_until__lte=now + STAGES[0])


def remind_of_ends(storage: Storage, now: datetime) -> None:
    """Record that tokens end soon; once for each stage of a token."""
    for token in ApiToken.objects.filter(ending_soon(now), storage=storage):
        stage = _stage_of(token, now)
        if stage is not None:
            with transaction.atomic():
                _remind(token, stage)


def _stage_of(token: ApiToken, now: datetime) -> int | None:
    """Return the days of the stage that the token has reached; None if it was issued or rotated within the stage."""
    end, start = token.valid_until, max(token.valid_from, token.rotated_on or token.created_on)
    if end is None:
        return None
    stage = min(each for each in STAGES if end - now <= each)
    return stage.days if end - start > stage else None


def _remind(token: ApiToken, stage: int) -> None:
    is_due = Q(reminded_days=None) | Q(reminded_days__gt=stage)
    # Another process may have reminded of it meanwhile, or somebody may have rotated the token.
    found = ApiToken.objects.filter(is_due, pk=token.pk, valid_until=token.valid_until, revoked_on=None)
    if found.update(reminded_days=stage):
        record_token(token, EventType.TOKEN_EXPIRING)
