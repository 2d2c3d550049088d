"""Protection against password guessing (D146): limits on failed sign-ins per name and network, and per network.

The database counts for all worker processes. An attempt counts as failed before the password is checked and is taken
back if the password is right, so parallel attempts get no more guesses than sequential ones.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from storage.models import FailedSignIn, StaffAccount
from storage.models.sign_ins import ALL_NETWORKS

KEPT = timedelta(days=1)
ANY_NAME = b""
log = structlog.get_logger("sign-in")

# Attempts beyond the limit change nothing: the end of the window does not move, so a block always ends.
COUNT_SQL = """INSERT INTO storage_failedsignin AS kept (network, name_digest, account_id, failures, since, last_on)
    VALUES (%(network)s, %(digest)s, %(account)s, 1, %(now)s, %(now)s)
    ON CONFLICT (network, name_digest) DO UPDATE SET
        failures = CASE WHEN kept.since > %(start)s THEN kept.failures + 1 ELSE 1 END,
        since = CASE WHEN kept.since > %(start)s THEN kept.since ELSE excluded.since END,
        account_id = excluded.account_id,
        last_on = excluded.last_on
    WHERE kept.since <= %(start)s OR kept.failures < %(limit)s
    RETURNING 1"""
# Rows that another process has locked are left for the next run.
FORGET_SQL = """DELETE FROM storage_failedsignin WHERE id IN
    (SELECT id FROM storage_failedsignin WHERE since < %s FOR UPDATE SKIP LOCKED LIMIT 1000)"""


class SignInBlocked(Exception):
    """Raised after too many failures; `until` is the time of the next permitted attempt."""

    def __init__(self, until: datetime) -> None:
        super().__init__(until)
        self.until = until


@dataclass(frozen=True, slots=True)
class Attempt:
    """A permitted attempt to sign in, which counts as failed until it succeeds."""

    network: str
    digest: bytes
    account: StaffAccount | None

    def succeeded(self) -> None:
        """Clear the name. The network keeps its other failures: a valid account must not buy more guesses."""
        with transaction.atomic():
            row = FailedSignIn.objects.select_for_update().filter(network=self.network, name_digest=ANY_NAME).first()
            if row is not None:
                row.failures = max(row.failures - 1, 0)
                row.save(update_fields=["failures"])
            FailedSignIn.objects.filter(network=self.network, name_digest=self.digest).delete()

    def failed(self) -> None:
        log.warning("sign-in failed", network=self.network, account=self.account and self.account.get_username())
        forget_old_failures()


def forget_old_failures() -> None:
    with connection.cursor() as cursor:
        kept = max(KEPT, timedelta(minutes=settings.SIGN_IN_WINDOW))
        cursor.execute(FORGET_SQL, [timezone.now() - kept])


def begin_attempt(name: str, network: str) -> Attempt:
    """Count an attempt to sign in; raise SignInBlocked after too many."""
    account = StaffAccount.objects.filter(username=name).first()
    attempt = Attempt(network, name_digest(name), account)
    try:
        with transaction.atomic():
            _count(network, ANY_NAME, None, settings.SIGN_IN_FAILURES_PER_ADDRESS)
            _count(network, attempt.digest, account, settings.SIGN_IN_FAILURES)
    except SignInBlocked as blocked:
        named = account and account.get_username()
        log.warning("sign-in blocked", network=network, account=named, until=blocked.until.isoformat())
        raise
    return attempt


def begin_factor_attempts(account: StaffAccount, network: str) -> list[Attempt]:
    """Count an attempt with a second factor; raise SignInBlocked after too many, from this network or from all.

    Only somebody with the password can block the account here, so that nobody else locks out its owner.
    """
    attempt = begin_attempt(account.get_username(), network)
    everywhere = Attempt(ALL_NETWORKS, name_digest(account.get_username()), account)
    _count(ALL_NETWORKS, everywhere.digest, account, 2 * settings.SIGN_IN_FAILURES)
    return [attempt, everywhere]


def name_digest(name: str) -> bytes:
    """Return the digest of a name, ignoring case: variants of a name must not give more guesses."""
    key = hashlib.sha256(b"sign-in" + settings.SECRET_KEY.encode()).digest()
    return hmac.digest(key, name.casefold().encode(), "sha256")


def _count(network: str, digest: bytes, account: StaffAccount | None, limit: int) -> None:
    now, window = timezone.now(), timedelta(minutes=settings.SIGN_IN_WINDOW)
    row = {"network": network, "digest": digest, "account": account.pk if account else None}
    with connection.cursor() as cursor:
        cursor.execute(COUNT_SQL, {**row, "limit": limit, "now": now, "start": now - window})
        if cursor.fetchone():
            return
    since = FailedSignIn.objects.filter(network=network, name_digest=digest).values_list("since", flat=True).first()
    raise SignInBlocked((since or now) + window)


def failures_of(name: str | None, network: str | None) -> list[FailedSignIn]:
    """Return failures of a name, of a network, or all. Those of a name include the blocks of whole networks that tried
    it: otherwise its owner could still not sign in from there."""
    found = FailedSignIn.objects.filter(network=network) if network else FailedSignIn.objects.all()
    if not name:
        return list(found)
    named = list(found.filter(name_digest=name_digest(name)))
    networks = {each.network for each in named} | ({network} if network else set())
    now = timezone.now()
    whole = FailedSignIn.objects.filter(network__in=networks, name_digest=ANY_NAME)
    return [*named, *(each for each in whole if each.blocked_until(now))]


def lift_blocks(failures: list[FailedSignIn]) -> int:
    """Delete failures, so that the next attempt is permitted; return how many of them were blocks."""
    now = timezone.now()
    blocking = sum(each.blocked_until(now) is not None for each in failures)
    FailedSignIn.objects.filter(pk__in=[each.pk for each in failures]).delete()
    log.info("sign-in blocks lifted", rows=[str(each) for each in failures])
    return blocking
