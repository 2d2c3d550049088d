"""Wake the processes that wait for events (D330): one thread notifies, one listens, each with its own connection."""

from __future__ import annotations

import atexit
import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import structlog
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

from repository_site.core.cores import run_anywhere

CHANNEL = "repository_events"
# Seconds between two notifications of a process.
PAUSE = 0.05
# Seconds without events after which the thread that notifies ends and closes its connection.
IDLE = 60.0
# Seconds after which everybody who waits asks the database, in case that a notification got lost.
POLL = 5.0
# Seconds for which an ending process tries to send its last notification.
LAST_TRY = 2.0
# PostgreSQL takes less than 8,000 bytes; more storages than this in 50 ms are announced one notification later.
MOST_STORAGES = 200
# Seconds and milliseconds after which an unreachable server counts as lost. The system would wait for many minutes.
# Nothing is prepared: without DATABASE_LISTEN_URL, a pooler may be in between (D231).
OPTIONS: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "tcp_user_timeout": 15_000,
    "prepare_threshold": None,
}
log = structlog.get_logger("events")


class Watcher:
    """Waits for events of one storage, or of any."""

    def __init__(self, storage: str | None) -> None:
        self.storage = storage
        self.found: set[str] = set()
        self._changed = threading.Condition()

    def notice(self, storages: Iterable[str]) -> None:
        wanted = {each for each in storages if self.storage in (None, each)}
        if wanted:
            with self._changed:
                self.found |= wanted
                self._changed.notify_all()

    def wait(self, seconds: float) -> set[str]:
        """Return the storages with new events since the last call; none if the time is over or the process stops."""
        with self._changed:
            self._changed.wait_for(lambda: self.found or _stopping.is_set(), seconds)
            found, self.found = self.found, set()
        return found

    def stop(self) -> None:
        with self._changed:
            self._changed.notify_all()


_watchers: set[Watcher] = set()
_noted: set[str] = set()
_lock = threading.Lock()
_to_send = threading.Event()
_stopping = threading.Event()
_notifier: threading.Thread | None = None
_listener: threading.Thread | None = None


def announce(storages: Iterable[str]) -> None:
    """Wake this process at once and the others within a moment. Call this after the commit."""
    _wake(storages)
    with _lock:
        _noted.update(storages)
        _to_send.set()
        _start_notifier()


@contextmanager
def watching(storage: str | None = None) -> Iterator[Watcher]:
    """Collect announcements from now on. Look for events after this begins: none can be missed then."""
    watcher = Watcher(storage)
    with _lock:
        _watchers.add(watcher)
        _start_listener()
    try:
        yield watcher
    finally:
        with _lock:
            _watchers.discard(watcher)


def is_stopping() -> bool:
    return _stopping.is_set()


def stop_waiting() -> None:
    """Let everybody who waits go on: the process is about to end."""
    _stopping.set()
    with _lock:
        watchers = [*_watchers]
    for each in watchers:
        each.stop()


def _wake(storages: Iterable[str]) -> None:
    with _lock:
        watchers = [*_watchers]
    for each in watchers:
        each.notice(storages)


def _wake_all() -> None:
    """Let everybody who waits ask the database."""
    with _lock:
        watchers = [*_watchers]
    for each in watchers:
        each.notice([each.storage] if each.storage else [])


def _start_notifier() -> None:
    global _notifier
    if _notifier is None or not _notifier.is_alive():
        _notifier = threading.Thread(target=_notify, name="events-notify", daemon=True)
        _notifier.start()


def _start_listener() -> None:
    global _listener
    if _listener is None or not _listener.is_alive():
        _listener = threading.Thread(target=_listen, name="events-listen", daemon=True)
        _listener.start()


def notifications_arrive(seconds: float) -> bool:
    """Return whether a notification of another connection to the database arrives where this process listens.

    Raise psycopg.Error if no connection is possible. The channel is of no use to others.
    """
    channel, text = f"{CHANNEL}_check", secrets.token_hex(8)
    with _connect() as listener, psycopg.connect(**OPTIONS | _own_address(), autocommit=True) as sender:
        listener.execute(f"LISTEN {channel}")
        sender.execute("SELECT pg_notify(%s, %s)", [channel, text])
        return any(each.payload == text for each in listener.notifies(timeout=seconds, stop_after=1))


def _connect() -> psycopg.Connection[Any]:
    if settings.EMBEDDED_POSTGRES is not None:
        # Otherwise a server that this thread has to start would share the core of this worker.
        run_anywhere()
        settings.EMBEDDED_POSTGRES.ensure_running()
    options = settings.LISTEN_ADDRESS or _own_address()
    return psycopg.connect(**OPTIONS | options, autocommit=True)


def _own_address() -> dict[str, Any]:
    """Return the database of this process, which in a test is another one than the settings say."""
    known = connections.settings[DEFAULT_DB_ALIAS]
    wanted = connections[DEFAULT_DB_ALIAS].get_connection_params()
    names = ("dbname", "user", "password", "host", "port")
    others = {name: value for name, value in known["OPTIONS"].items() if name != "pool"}
    return {**others, **{name: wanted[name] for name in names if wanted.get(name)}}


def _take_noted() -> list[str]:
    with _lock:
        taken = sorted(_noted)[:MOST_STORAGES]
        _noted.difference_update(taken)
    return taken


def _end_sending() -> None:
    with _lock:
        if not _noted:
            _to_send.clear()


def _notify() -> None:
    global _notifier
    connection: psycopg.Connection[Any] | None = None
    while True:
        if not _to_send.wait(IDLE):
            with _lock:
                if not _to_send.is_set():
                    _notifier = None
                    _close(connection)
                    return
        storages = _take_noted()
        try:
            if connection is None or connection.closed:
                connection = _connect()
            connection.execute("SELECT pg_notify(%s, %s)", [CHANNEL, ",".join(storages)])
        except Exception as problem:
            # The others ask by themselves within seconds, but a connection that has died is replaced at once.
            was_idle = connection is not None
            with _lock:
                _noted.update(storages)
            _report("cannot announce events", problem)
            _close(connection)
            connection = None
            time.sleep(PAUSE if was_idle else POLL)
        _end_sending()
        time.sleep(PAUSE)


def _listen() -> None:
    global _listener
    connection: psycopg.Connection[Any] | None = None
    while True:
        with _lock:
            if not _watchers:
                _listener = None
                _close(connection)
                return
        try:
            if connection is None or connection.closed:
                connection = _connect()
                connection.execute(f"LISTEN {CHANNEL}")
                # What was announced before is not known here.
                _wake_all()
            for found in connection.notifies(timeout=POLL):
                _wake(found.payload.split(","))
            # A connection that has died without a word fails here.
            connection.execute("SELECT 1")
        except Exception as problem:
            _report("cannot listen for events", problem)
            _close(connection)
            connection = None
            time.sleep(POLL)


def _close(connection: psycopg.Connection[Any] | None) -> None:
    if connection is not None:
        connection.close()


def _report(what: str, problem: Exception) -> None:
    text = str(problem)
    log.warning(what, error=text.splitlines()[0] if text else type(problem).__name__)


def _send_last() -> None:
    """Give the thread of an ending process, such as a command, a moment to send what it has noted."""
    end = time.monotonic() + LAST_TRY
    while time.monotonic() < end and _to_send.is_set():
        time.sleep(PAUSE / 2)


atexit.register(_send_last)
