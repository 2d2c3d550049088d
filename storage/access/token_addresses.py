"""The networks that tokens are used from (D487).

A request costs one addition in memory. A thread of each worker process writes the log once a minute, so that a read
stays a read, and an unreachable database fails no request.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.utils import timezone

from repository_site.core.client_network import network_of
from storage.events.recording import record_token
from storage.models import ApiToken, EventType, TokenAddress

# Networks of a token that are kept, and the same number of those that its limit has refused.
MOST_KEPT = 20
# New networks of a token that are told within a day.
MOST_TOLD = 5
KEPT_DAYS = 90
# Uses collect while the database is unreachable. Beyond this many, new ones are dropped. A token has a part of them: it
# can be used from countless addresses of one network, and must not displace the uses of others.
MAX_WAITING = 10_000
MAX_OF_TOKEN = 200
DAY = timedelta(days=1)
log = structlog.get_logger("token-addresses")

Key = tuple[UUID, str, bool]
"""A token, an address or network, and whether the limit of the token has refused it."""


@dataclass(slots=True)
class Use:
    requests: int
    first: float
    last: float

    def add(self, other: Use) -> None:
        self.requests += other.requests
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)


class UseLog:
    """The uses of tokens that a process has not written yet, shared by its threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._uses: dict[Key, Use] = {}
        self._numbers: Counter[tuple[UUID, bool]] = Counter()

    def note(self, key: Key) -> None:
        now = time.time()
        with self._lock:
            use = self._uses.get(key)
            if use is not None:
                use.requests += 1
                use.last = now
            else:
                self._add(key, Use(1, now, now))

    def _add(self, key: Key, use: Use) -> None:
        whose = key[0], key[2]
        if len(self._uses) < MAX_WAITING and self._numbers[whose] < MAX_OF_TOKEN:
            self._uses[key] = use
            self._numbers[whose] += 1

    def take(self) -> dict[Key, Use]:
        """Return the uses since the last call, by network."""
        with self._lock:
            taken, self._uses = self._uses, {}
            self._numbers.clear()
        found: dict[Key, Use] = {}
        for (token, address, is_refused), use in taken.items():
            key = token, address if "/" in address else network_of(address), is_refused
            if key in found:
                found[key].add(use)
            else:
                found[key] = use
        return found

    def give_back(self, uses: Mapping[Key, Use]) -> None:
        """Add uses that could not be written, so that they are written with the next ones."""
        with self._lock:
            for key, use in uses.items():
                if key in self._uses:
                    self._uses[key].add(use)
                else:
                    self._add(key, use)


_log = UseLog()


def note_address(token: UUID, address: str, *, is_refused: bool = False) -> None:
    """Note the use of a token. Commands have no address and are not noted."""
    if address:
        _log.note((token, address, is_refused))


_KNOWN = """SELECT a.token_id, a.network, a.is_refused FROM storage_tokenaddress a
    JOIN unnest(%s::uuid[], %s::text[], %s::boolean[]) AS given (token, network, is_refused)
        ON a.token_id = given.token AND a.network = given.network AND a.is_refused = given.is_refused"""
# In a fixed order, so that two processes never deadlock, and only for tokens that still exist.
_ADD = """INSERT INTO storage_tokenaddress AS kept (token_id, network, is_refused, requests, first_on, last_on)
    SELECT given.* FROM unnest(%s::uuid[], %s::text[], %s::boolean[], %s::bigint[], %s::timestamptz[],
            %s::timestamptz[]) AS given (token, network, is_refused, requests, first_on, last_on)
        JOIN storage_apitoken t ON t.id = given.token
    ORDER BY given.token, given.network, given.is_refused
    ON CONFLICT (token_id, network, is_refused) DO UPDATE SET
        requests = kept.requests + excluded.requests,
        last_on = greatest(kept.last_on, excluded.last_on)
    RETURNING network, is_refused, xmax = 0"""
_PRUNE = """DELETE FROM storage_tokenaddress WHERE token_id = %s AND id NOT IN (SELECT id FROM (
        SELECT id, row_number() OVER (PARTITION BY is_refused ORDER BY last_on DESC, id) AS place
        FROM storage_tokenaddress WHERE token_id = %s) ranked WHERE place <= %s)"""


def write_addresses() -> None:
    """Write what was noted. Known networks take one statement for all tokens; new ones a transaction for each token,
    because their events belong to its storage."""
    uses = _log.take()
    if not uses:
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute(_KNOWN, [list(column) for column in zip(*uses, strict=True)])
            known = set(cursor.fetchall())
        _try_to_add({key: use for key, use in uses.items() if key in known})
    except Exception as problem:
        _failed(uses, problem)
        return
    new: dict[UUID, dict[Key, Use]] = defaultdict(dict)
    for key, use in uses.items():
        if key not in known:
            new[key[0]][key] = use
    for token, found in new.items():
        try:
            _add_new(token, found)
        except Exception as problem:
            _failed(found, problem)


def _failed(uses: Mapping[Key, Use], problem: Exception) -> None:
    # The log must go on, whatever the problem.
    _log.give_back(uses)
    log.warning("addresses of tokens not written", problem=" ".join(str(problem).split()))


def _try_to_add(uses: Mapping[Key, Use]) -> list[str]:
    """Add uses, and return the networks among them that are new and were not refused."""
    if not uses:
        return []
    rows = [
        (*key, use.requests, datetime.fromtimestamp(use.first, UTC), datetime.fromtimestamp(use.last, UTC))
        for key, use in uses.items()
    ]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_ADD, [list(column) for column in zip(*rows, strict=True)])
        return [network for network, is_refused, is_new in cursor.fetchall() if is_new and not is_refused]


@transaction.atomic
def _add_new(token_id: UUID, uses: Mapping[Key, Use]) -> None:
    """Add networks that a token has not used before, and tell of them (D487)."""
    token = ApiToken.objects.select_for_update(no_key=True).filter(pk=token_id).first()
    if token is None:
        return
    latest = sorted(uses.items(), key=lambda each: each[1].last, reverse=True)
    accepted = [each for each in latest if not each[0][2]][:MOST_KEPT]
    refused = [each for each in latest if each[0][2]][:MOST_KEPT]
    earlier = list(TokenAddress.objects.filter(token=token, is_refused=False).values_list("first_on", flat=True))
    new = _try_to_add(dict(accepted + refused))
    with connection.cursor() as cursor:
        cursor.execute(_PRUNE, [token_id, token_id, MOST_KEPT])
    start = timezone.now() - DAY
    left = MOST_TOLD - sum(moment > start for moment in earlier)
    _tell(token, _told(new, uses, is_first=not earlier)[: max(left, 0)])


def _told(new: Sequence[str], uses: Mapping[Key, Use], *, is_first: bool) -> list[tuple[str, float]]:
    """Return the new networks with their first use, in order, without the very first one of the token."""
    found = sorted(((key[1], use.first) for key, use in uses.items() if not key[2]), key=lambda each: each[1])
    return [each for each in found if each[0] in new][1 if is_first else 0 :]


def _tell(token: ApiToken, networks: Sequence[tuple[str, float]]) -> None:
    for network, used in networks:
        moment = datetime.fromtimestamp(used, UTC).replace(microsecond=0)
        record_token(token, EventType.TOKEN_NEW_ADDRESS, address=network, usedOn=moment)


def forget_old_addresses() -> None:
    TokenAddress.objects.filter(last_on__lt=timezone.now() - timedelta(days=KEPT_DAYS)).delete()
