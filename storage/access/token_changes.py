"""Changes of the limits and the end of a token that exists (D509)."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from repository_site.core.problems import Conflict, Invalid, placed
from storage.access.revocations import remember
from storage.access.token_limits import TokenLimits
from storage.access.tokens import context_of_token, directory_problems, end_problems, mirror, usual_end
from storage.events.recording import record_token
from storage.models import ApiToken, EventType, TokenState

CHANGED = gettext_lazy("Somebody else has changed the token since you opened this page. Open the page again.")


@transaction.atomic
def change_limits(
    token: ApiToken, limits: TokenLimits, *, valid_until: datetime | None = None, never_expires: bool = False
) -> bool:
    """Change the limits and the end of a token from the next request on; return False if nothing is different.

    Without an end it gets the usual one, as a new token does (D485). Of two concurrent changes the second is refused.
    """
    now = timezone.now()
    row = ApiToken.objects.select_for_update().get(pk=token.pk)
    if row.state(now) in (TokenState.REVOKED, TokenState.EXPIRED):
        raise Conflict(_("The token has expired or is revoked. Issue a new one."))
    if row.limited_on != token.limited_on:
        raise Conflict(str(CHANGED))
    stored, problems = limits.of_storage(row.storage, row.facets)
    if valid_until is not None and never_expires:
        problems.append(placed("valid until", _("a token that never expires has no end.")))
    elif valid_until is not None and valid_until != row.valid_until:
        problems += end_problems(valid_until, max(row.valid_from, now))
    if row.provider is not None:
        problems += directory_problems(row.provider, context_of_token(row), [], stored)
    if problems:
        raise Invalid(_("The token cannot be changed."), problems)
    end = None if never_expires else valid_until or usual_end(max(row.valid_from, now))
    before = (row.networks, row.is_read_only, row.facets, row.operations, row.valid_until)
    if before == (stored.networks, stored.is_read_only, stored.facets, stored.operations, end):
        return False
    if end != row.valid_until:
        row.valid_until, row.reminded_days = end, None
    row.networks, row.is_read_only, row.limited_on = [*stored.networks], stored.is_read_only, now
    row.facets, row.operations = [*stored.facets], [*stored.operations]
    row.save()
    mirror(row)
    remember(row, limited_on=now)
    scope = {"isReadOnly": row.is_read_only, "facets": row.facets, "operations": row.operations}
    record_token(row, EventType.TOKEN_CHANGED, networks=row.networks, **scope)
    return True
