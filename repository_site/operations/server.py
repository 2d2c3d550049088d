"""The production server: granian with our own WSGI worker (D209), and a database connection pool in every worker
process."""

from __future__ import annotations

import copy
import ctypes
import gc
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Any

import psutil
from django.conf import settings
from django.db import connections

from repository_site.core.cores import all_run_anywhere, cores_for, free_core, keep_to
from repository_site.core.database.pool import enable_pool
from repository_site.core.database.prepared import pay_attention

# Workers share the memory of this module, so it is loaded before the fork.
from repository_site.core.fairness.admission import FOLLOWING_AT_ONCE
from repository_site.core.fairness.cost import start_measuring_statements
from repository_site.core.fairness.gate import WAITING_AT_ONCE
from repository_site.core.middleware import BODIES_AT_ONCE
from repository_site.core.ports import Bind
from repository_site.operations import balance
from repository_site.operations.job_process import job_process
from repository_site.operations.thread_state import keep_state_in_threads
from repository_site.operations.unread import close_unread_connections

if TYPE_CHECKING:
    from repository_site.operations.metrics.folder import MetricsFolder

LINUX_SET_PARENT_DEATH_SIGNAL = 1
# M_ARENA_MAX of glibc's mallopt.
GLIBC_MOST_ARENAS = -8
# Far more than connections in the pool: a thread that waits for the body of a slow client, or for its turn, uses no
# connection and must not block other requests. The server starts threads when it needs them, and ends idle ones.
THREADS = 2 * BODIES_AT_ONCE + WAITING_AT_ONCE + FOLLOWING_AT_ONCE + 32
# Connections of a worker, most of which are idle.
CONNECTIONS = 2 * THREADS
# How long a connection may be idle. Longer than a proxy keeps one (nginx: 60 s): otherwise the proxy could send a
# request into a connection that has just been closed here.
IDLE_MILLISECONDS = 75_000
# New objects until the garbage collector looks for reference cycles among them (D212), and how often it looks at older
# ones.
COLLECTOR_THRESHOLDS = (10_000, 20, 50)
# Seconds after which a thread must let another one run. With the usual 5 ms, a request waits that long after each trip
# to the database while another thread computes (D200).
SWITCH_SECONDS = 0.0005
# A worker that has not loaded by then has failed, and the log says why.
ANNOUNCE_SECONDS = 120

SERVICE = "repository_site.operations.server:worker_application"
# Set before the workers are forked.
_cores: list[int] = []
_workers = 0
_bind = Bind("127.0.0.1", 8000)
_announcement = ""
_metrics: MetricsFolder | None = None


def run_server(bind: Bind, workers: int, target: str = SERVICE, announcement: str = "", jobs: int = 0) -> None:
    """Serve until SIGINT or SIGTERM, and print the announcement once the server accepts connections.

    A worker process runs up to `jobs` background jobs at the same time.
    `target` names the function that returns the WSGI application in each worker; benchmarks give others.
    """
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels

    from repository_site.operations.metrics.folder import MetricsFolder
    from repository_site.operations.wsgi_worker import spawn_worker

    global _cores, _workers, _bind, _announcement, _metrics
    connections.close_all()
    share_one_arena()
    _metrics = MetricsFolder.make()
    _cores, _workers, _bind, _announcement = cores_for(workers), workers, bind, announcement
    balance.share_balance(workers)
    give_workers_their_own_signals()
    server = Granian(
        target,
        factory=True,
        address=bind.host,
        port=bind.port,
        interface=Interfaces.WSGI,
        workers=workers,
        blocking_threads=THREADS,
        backpressure=CONNECTIONS,
        # A client could block an HTTP/2 stream by flow control while it reads its socket (D166).
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=IDLE_MILLISECONDS),
        respawn_failed_workers=True,
        workers_kill_timeout=10,
        log_level=LogLevels.warning,
        log_dictconfig=copy.deepcopy(settings.LOGGING),
    )
    try:
        with job_process(jobs):
            server.serve(spawn_target=spawn_worker)
    finally:
        _metrics.remove()


def share_one_arena() -> None:
    """Let all threads of a worker allocate from one arena of glibc (D215); workers inherit this by the fork.

    By default glibc has eight arenas for each core. What one thread has freed is then of no use to the others.
    """
    with suppress(AttributeError):  # other C libraries have no arenas
        ctypes.CDLL(None).mallopt(GLIBC_MOST_ARENAS, 1)


def give_workers_their_own_signals() -> None:
    """Let a worker that is still loading end at once on SIGTERM.

    A forked worker inherits the signal handlers of the main process, which would swallow the signal; the main process
    would then wait for the worker until its timeout. During the fork itself the signal is blocked.
    """

    def hold() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def release() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

    def reset() -> None:
        # Ctrl-C goes to the whole process group of the terminal, but the main process decides when workers end.
        os.setpgrp()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        release()

    os.register_at_fork(before=hold, after_in_parent=release, after_in_child=reset)


def worker_application() -> Callable[..., Any]:
    """Return the WSGI application; granian calls this in each worker process."""
    die_with_parent(os.getppid())
    from elements.api.entity_tags import code_digest
    from repository_site.operations.metrics.instruments import start_recording
    from repository_site.operations.metrics.page import start_measuring
    from repository_site.wsgi import application
    from storage.access.agent_calls import write_calls
    from storage.access.token_addresses import write_addresses
    from storage.accounts.sessions import write_session_uses
    from storage.traffic import start_writing

    # Reads all files of the program: too long for a request, and an upgrade may replace them before the first one.
    code_digest()
    keep_state_in_threads()
    enable_pool(settings.POOL_SIZE)
    assert _metrics is not None  # noqa: S101  made before the workers are forked
    recorded = start_recording(_metrics)
    start_measuring_statements()
    if hasattr(os, "sched_yield"):
        pay_attention(balance.balance.is_alone)
    sys.setswitchinterval(SWITCH_SECONDS)
    start = keep_to_core()
    close_unread_connections(_bind.port, settings.STREAM_TIMEOUT, settings.STREAM_RATE)
    start_measuring(recorded)
    start_writing(write_addresses, write_calls, write_session_uses)
    if start == 0 and _announcement:
        threading.Thread(target=announce, args=(_bind, _announcement), daemon=True).start()
    # Loaded modules stay. Keep the garbage collector from traversing them, which makes some requests slow.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    return application


def announce(bind: Bind, text: str) -> None:
    """Print the text as soon as the server accepts connections, which is after its workers have loaded."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(bind.host, bind.host)  # noqa: S104  nothing is bound here
    end = time.monotonic() + ANNOUNCE_SECONDS
    while time.monotonic() < end:
        try:
            socket.create_connection((host, bind.port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
            return


def keep_to_core() -> int:
    """Bind this worker to a core of its own (D165), and return the number of workers that were started before it.

    Requests go to the threads of a worker in turn. On another core each would find nothing of what the one before had
    in the cache; and since only one of them runs Python at a time, they lose next to nothing by sharing a core.
    """
    assert _metrics is not None  # noqa: S101  made before the workers are forked
    start = _metrics.count_start()
    if _cores:
        keep_to(free_core(_cores, _bound_cores(), start) if start >= _workers else _cores[start % len(_cores)])
        # On a busy core, its end would take so long that the main process reports it as stuck.
        Finalize(None, all_run_anywhere, exitpriority=0)
    return start


def _bound_cores() -> list[list[int]]:
    """Return the cores of the workers; a worker may end at the same time."""
    found = []
    with suppress(psutil.Error, OSError):
        for each in psutil.Process(os.getppid()).children():
            with suppress(psutil.Error, OSError):
                found.append(each.cpu_affinity() or [])
    return found


def die_with_parent(parent: int, sent: signal.Signals = signal.SIGKILL) -> None:
    """End this worker with its main process; otherwise a killed main process would leave workers on the port."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(LINUX_SET_PARENT_DEATH_SIGNAL, sent)
        if os.getppid() != parent:
            os.kill(os.getpid(), sent)
        return

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.kill(os.getpid(), sent)

    threading.Thread(target=watch, daemon=True).start()
