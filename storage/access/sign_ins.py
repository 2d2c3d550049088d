"""Signing in is guarded against guessing (D146): a name from one network, and one network, fail so often and no more.

Kept in the database, so that all worker processes count together. An attempt is counted before the password is looked
at, and taken back when it was right: of many that come at once no more get through than of many one after the other.
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

KEPT = timedelta(days=1)
ANY_NAME = b""
log = structlog.get_logger("sign-in")

# Whoever has used up the failures of a window changes nothing: the end does not move, so nobody is kept out for ever.
COUNT_SQL = """INSERT INTO storage_failedsignin AS kept (network, name_digest, account_id, failures, since, last_on)
    VALUES (%(network)s, %(digest)s, %(account)s, 1, %(now)s, %(now)s)
    ON CONFLICT (network, name_digest) DO UPDATE SET
        failures = CASE WHEN kept.since > %(start)s THEN kept.failures + 1 ELSE 1 END,
        since = CASE WHEN kept.since > %(start)s THEN kept.since ELSE excluded.since END,
        account_id = excluded.account_id,
        last_on = excluded.last_on
    WHERE kept.since <= %(start)s OR kept.failures < %(limit)s
    RETURNING 1"""
# What another process has in its hands is left for the next time.
FORGET_SQL = """DELETE FROM storage_failedsignin WHERE id IN
    (SELECT id FROM storage_failedsignin WHERE since < %s FOR UPDATE SKIP LOCKED LIMIT 1000)"""


class SignInBlocked(Exception):
    """Too many failures; `until` is when the next attempt will be looked at."""

    def __init__(self, until: datetime) -> None:
        super().__init__(until)
        self.until = until


@dataclass(frozen=True, slots=True)
class Attempt:
    """One that has been let through, and counts as failed until it is known to be right."""

    network: str
    digest: bytes
    account: StaffAccount | None

    def succeeded(self) -> None:
        """Clears the name. The network keeps its other failures: an account of one's own must not buy more guesses."""
        with transaction.atomic():
            row = FailedSignIn.objects.select_for_update().filter(network=self.network, name_digest=ANY_NAME).first()
            if row is not None:
                row.failures = max(row.failures - 1, 0)
                row.save(update_fields=["failures"])
            FailedSignIn.objects.filter(network=self.network, name_digest=self.digest).delete()

    def failed(self) -> None:
        log.warning("sign-in failed", network=self.network, account=self.account and self.account.get_username())
        with connection.cursor() as cursor:
            kept = max(KEPT, timedelta(minutes=settings.SIGN_IN_WINDOW))
            cursor.execute(FORGET_SQL, [timezone.now() - kept])


def begin_attempt(name: str, network: str) -> Attempt:
    """Counts an attempt to sign in; raises SignInBlocked when there have been too many."""
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


def name_digest(name: str) -> bytes:
    """Names that differ in case are one: they are for whoever guesses."""
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
    """Those with a name, from a network, or all. To a name belong the blocks of the networks that it was typed from:
    whoever has that name would be let in nowhere else."""
    found = FailedSignIn.objects.filter(network=network) if network else FailedSignIn.objects.all()
    if not name:
        return list(found)
    named = list(found.filter(name_digest=name_digest(name)))
    networks = {each.network for each in named} | ({network} if network else set())
    now = timezone.now()
    whole = FailedSignIn.objects.filter(network__in=networks, name_digest=ANY_NAME)
    return [*named, *(each for each in whole if each.blocked_until(now))]


def lift_blocks(failures: list[FailedSignIn]) -> int:
    """Forgets failures, so that the next attempt is looked at; answers how many of them blocked somebody."""
    now = timezone.now()
    blocking = sum(each.blocked_until(now) is not None for each in failures)
    FailedSignIn.objects.filter(pk__in=[each.pk for each in failures]).delete()
    log.info("sign-in blocks lifted", rows=[str(each) for each in failures])
    return blocking
