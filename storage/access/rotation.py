"""Token rotation (D147): a new value for the same token, while the old value stays valid for a while.

Clients can change over one by one. Id, roles, user, element and rate limit of the token stay the same. The last use of
the old value is recorded separately, which shows whether a client still sends it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from repository_site.core.problems import Conflict, Invalid, placed
from storage.access.revocations import remember
from storage.access.tokens import IssuedToken, end_problems, mirror, new_value, token_digest
from storage.events.recording import record_token
from storage.models import ApiToken, EventType, TokenState
from storage.options import DEFAULT_OVERLAP

LONGEST_OVERLAP = timedelta(days=30)


@transaction.atomic
def rotate_token(
    token: ApiToken,
    overlap: timedelta = DEFAULT_OVERLAP,
    *,
    valid_until: datetime | None = None,
    never_expires: bool = False,
) -> IssuedToken:
    """Give a token a new value; without an overlap the old value ends at once. The token keeps its end unless another
    one is given (D485).

    Of two concurrent rotations the second is refused: the value of the first must stay valid.
    """
    now = timezone.now()
    problems = end_problems(valid_until, max(token.valid_from, now)) if valid_until else []
    if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
        text = _("expected 0 to %(days)d days.") % {"days": LONGEST_OVERLAP.days}
        problems.append(placed("overlap", text))
    if problems:
        raise Invalid(_("The token cannot be rotated."), problems)
    row = ApiToken.objects.select_for_update().get(pk=token.pk)
    if row.state(now) in (TokenState.REVOKED, TokenState.EXPIRED):
        raise Conflict(_("The token has expired or is revoked. Issue a new one."))
    if row.rotated_on != token.rotated_on:
        raise Conflict(_("The token has already been rotated. A value is shown only once."))
    if overlap and row.has_valid_old_value(now):
        raise Conflict(_("The value before the last rotation is still valid. End it first, or rotate without overlap."))
    value = new_value()
    row.old_digest = row.digest if overlap else None
    row.old_valid_until = now + overlap if overlap else None
    row.old_last_used_on = row.last_used_on if overlap else None
    row.digest, row.last_used_on, row.rotated_on = token_digest(value, settings.SECRET_KEY), None, now
    if valid_until or never_expires:
        row.valid_until, row.reminded_days = valid_until, None
    row.save()
    if row.valid_until != token.valid_until:
        mirror(row)
    remember(row, rotated_on=now)
    record_token(row, EventType.TOKEN_ROTATED)
    return IssuedToken(row, value)


@transaction.atomic
def end_old_value(token: ApiToken) -> bool:
    """Refuse the old value from the next request on; return False if it had already ended."""
    now = timezone.now()
    holding = ApiToken.objects.filter(pk=token.pk, old_digest__isnull=False, old_valid_until__gt=now)
    remember(token, old_ended_on=now)
    if not holding.update(old_digest=None, old_valid_until=now):
        return False
    token.refresh_from_db()
    record_token(token, EventType.TOKEN_ROTATED)
    return True
