"""Rotating a token (D147): a new value for the same token, while the one before is still taken for a while.

Clients then change over one by one and nothing of the token changes: its id, roles, user, element and share of
requests stay. When the old value was used last is noted apart, which tells whether somebody still has it.
"""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from repository_site.core.problems import Conflict, Invalid, placed
from storage.access.tokens import IssuedToken, new_value, token_digest
from storage.models import ApiToken, TokenState

DEFAULT_OVERLAP = timedelta(days=1)
LONGEST_OVERLAP = timedelta(days=30)


@transaction.atomic
def rotate_token(token: ApiToken, overlap: timedelta = DEFAULT_OVERLAP) -> IssuedToken:
    """A new value for a token as the caller has read it; without an overlap the old value ends at once.

    Of two who rotate at the same time the second is refused: the first holds a value that must stay good.
    """
    if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
        text = _("between none and %(days)d days.") % {"days": LONGEST_OVERLAP.days}
        raise Invalid(_("The token cannot be rotated."), [placed("overlap", text)])
    now = timezone.now()
    row = ApiToken.objects.select_for_update().get(pk=token.pk)
    if row.state(now) in (TokenState.REVOKED, TokenState.EXPIRED):
        raise Conflict(_("The token has ended; issue a new one."))
    if row.rotated_on != token.rotated_on:
        raise Conflict(_("The token has been rotated already. Its value is shown once only."))
    if overlap and row.old_value_holds(now):
        raise Conflict(_("The value before the last rotation is still taken. End it first, or rotate without overlap."))
    value = new_value()
    row.old_digest = row.digest if overlap else None
    row.old_valid_until = now + overlap if overlap else None
    row.old_last_used_on = row.last_used_on if overlap else None
    row.digest, row.last_used_on, row.rotated_on = token_digest(value, settings.SECRET_KEY), None, now
    row.save()
    return IssuedToken(row, value)


@transaction.atomic
def end_old_value(token: ApiToken) -> bool:
    """The old value is refused from the next request on; False when it has ended before."""
    now = timezone.now()
    holding = ApiToken.objects.filter(pk=token.pk, old_digest__isnull=False, old_valid_until__gt=now)
    return bool(holding.update(old_digest=None, old_valid_until=now))
