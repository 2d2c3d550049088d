"""Revocations that the installation remembers, so that restoring a backup does not revive these tokens (D205)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from storage.models import ApiToken, TokenRevocation


def remember(token: ApiToken, **moments: datetime) -> None:
    """Record `revoked_on`, `rotated_on`, `old_ended_on` or `limited_on` of a token, in the transaction of a change."""
    TokenRevocation.objects.update_or_create(token_id=token.pk, defaults=moments)


def end_revoked(tokens: Sequence[ApiToken]) -> list[ApiToken]:
    """End the tokens of a backup, and their old values, that ended after the backup was written; return the tokens.

    A rotated token ends as a whole: its earlier value must not be valid again, and the backup lacks the new one. A
    token whose limits were changed ends as well: its earlier ones may have been wider.
    """
    known = TokenRevocation.objects.in_bulk([each.pk for each in tokens])
    ended = []
    for token in tokens:
        found = known.get(token.pk)
        if found is None or token.revoked_on is not None:
            continue
        if found.old_ended_on is not None and token.rotated_on is not None and token.rotated_on <= found.old_ended_on:
            token.old_digest, token.old_valid_until = None, found.old_ended_on
        is_replaced = found.rotated_on is not None and (token.rotated_on is None or token.rotated_on < found.rotated_on)
        is_limited = found.limited_on is not None and (token.limited_on is None or token.limited_on < found.limited_on)
        if found.revoked_on is not None or is_replaced or is_limited:
            token.revoked_on = found.revoked_on or (found.rotated_on if is_replaced else found.limited_on)
            ended.append(token)
    return ended
