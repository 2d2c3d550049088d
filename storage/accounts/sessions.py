"""Sessions of accounts: which there are, their last use, and their end on all servers at once (D552)."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

from repository_site.core.client_network import client_network, network_of
from repository_site.core.middleware import Middleware
from storage.models import AccountSession, ProviderSession, StaffAccount

# In the session: when the person has proved their identity, by signing in or by typing the password again.
CONFIRMED = "confirmed_on"
# Seconds for which that is enough to change what the safety of the account depends on.
RECENT = 15 * 60
# Sessions of an account that are listed, the last used first.
MOST_LISTED = 50
# Uses collect while the database is unreachable. Beyond this many, new ones are dropped.
MAX_WAITING = 10_000
# The first name that the text of a browser contains is the right one: most browsers name others as well.
BROWSERS = {"Edg": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "Chrome/": "Chrome", "Safari/": "Safari"}
SYSTEMS = {
    "Windows": "Windows",
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Mac OS": "macOS",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}
_NOTE = """UPDATE storage_accountsession kept
    SET last_on = greatest(kept.last_on, given.last_on), network = given.network
    FROM unnest(%s::text[], %s::timestamptz[], %s::text[]) AS given (key, last_on, network)
    WHERE kept.session_key = given.key"""
log = structlog.get_logger("sessions")


def device_of(agent: str) -> str:
    """Return a browser and its system, such as `Firefox, Windows`. Versions change with each update."""
    found = [next((name for part, name in known.items() if part in agent), "") for known in (BROWSERS, SYSTEMS)]
    return ", ".join(each for each in found if each)


def record_session(sender: object, request: HttpRequest, user: Any, **given: object) -> None:
    """Add the session that Django has just begun. Receives `user_logged_in`."""
    request.session[CONFIRMED] = time.time()
    if request.session.session_key is None:
        request.session.save()
    now = timezone.now()
    AccountSession.objects.update_or_create(
        session_key=request.session.session_key,
        defaults={
            "account": user,
            "network": client_network(request),
            "device": device_of(request.META.get("HTTP_USER_AGENT", "")[:500]),
            "began_on": now,
            "last_on": now,
        },
    )


def is_recent(request: HttpRequest) -> bool:
    """Tell whether the person has proved their identity recently: an open browser is not enough for some changes."""
    return float(request.session.get(CONFIRMED, 0)) > time.time() - RECENT


def sessions_of(account: StaffAccount) -> list[AccountSession]:
    """Return the sessions of an account that have not ended."""
    alive = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    found = AccountSession.objects.filter(account=account, session_key__in=alive)
    return list(found.order_by("-last_on", "-pk")[:MOST_LISTED])


def end_session(account: StaffAccount, number: int) -> bool:
    """End one session of an account, and return whether there was one."""
    keys = AccountSession.objects.filter(account=account, pk=number).values_list("session_key", flat=True)
    return _end(list(keys)) > 0


def end_sessions(account: StaffAccount, *, but: str | None = None) -> int:
    """End all sessions of an account, except the one with this key; return how many."""
    found = AccountSession.objects.filter(account=account).exclude(session_key=but or "")
    return _end(list(found.values_list("session_key", flat=True)))


@transaction.atomic
def _end(keys: Sequence[str]) -> int:
    Session.objects.filter(session_key__in=keys).delete()
    ProviderSession.objects.filter(session_key__in=keys).delete()
    ended, _ = AccountSession.objects.filter(session_key__in=keys).delete()
    return ended


def forget_old_sessions() -> None:
    """Delete the rows of sessions that have ended. A new password prolongs a session, which must stay in the list."""
    oldest = timezone.now() - timedelta(seconds=settings.SESSION_COOKIE_AGE)
    alive = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    AccountSession.objects.filter(began_on__lt=oldest).exclude(session_key__in=alive).delete()


class SessionUses:
    """The last uses of sessions that a process has not written yet, shared by its threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._uses: dict[str, tuple[float, str]] = {}

    def note(self, key: str, address: str) -> None:
        with self._lock:
            if key in self._uses or len(self._uses) < MAX_WAITING:
                self._uses[key] = time.time(), address

    def take(self) -> dict[str, tuple[float, str]]:
        with self._lock:
            taken, self._uses = self._uses, {}
        return taken


_uses = SessionUses()


class SessionUseMiddleware(Middleware):
    """Notes the use of a session in memory. Requests that read no session cost nothing."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        session = request.session
        if session.accessed and session.session_key and SESSION_KEY in session:
            _uses.note(session.session_key, request.META.get("REMOTE_ADDR", ""))
        return response


def write_session_uses() -> None:
    """Write the last uses, in one statement. Uses that cannot be written are lost: the next ones come soon."""
    uses = sorted(_uses.take().items())
    if not uses:
        return
    keys = [key for key, _ in uses]
    times = [datetime.fromtimestamp(moment, UTC) for _, (moment, _) in uses]
    networks = [network_of(address) for _, (_, address) in uses]
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_NOTE, [keys, times, networks])
    except Exception as problem:
        # The thread must go on, whatever the problem.
        log.warning("uses of sessions not written", problem=" ".join(str(problem).split()))
