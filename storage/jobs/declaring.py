"""Declarations of jobs, which need neither procrastinate nor a worker: web processes only enqueue."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Concatenate, Generic, ParamSpec

from django.utils import timezone

from storage.jobs.enqueueing import QUEUE, NewJob, enqueue_all
from storage.models import Storage

P = ParamSpec("P")
# Retries of many jobs that failed for the same reason are spread over this share of their distance.
JITTER = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageJob(Generic[P]):
    """Work inside one storage. A worker may run it more than once, so doing it twice must do no harm."""

    name: str
    function: Callable[Concatenate[Storage, P], None]
    lock: tuple[str, ...] | None
    once: bool
    retry: tuple[float, ...]
    own_scope: bool
    queue: str
    on_events: bool
    after_events: float | None
    on_failure: Callable[..., None] | None

    def __call__(self, storage: Storage, *args: P.args, **kwargs: P.kwargs) -> None:
        self.function(storage, *args, **kwargs)

    def enqueue(self, storage: Storage, *args: P.args, **kwargs: P.kwargs) -> None:
        """Add the job in the transaction of the caller: it runs if that commits. Arguments are named, and JSON."""
        if args:
            raise TypeError(f"{self.name}: name all arguments of the job.")
        self.enqueue_all(storage, [kwargs])

    def enqueue_all(
        self, storage: Storage, calls: Iterable[Mapping[str, Any]], *, not_before: datetime | None = None
    ) -> None:
        """Add a job for each set of arguments, in one statement."""
        enqueue_all(self._new(str(storage.pk), arguments, not_before) for arguments in calls)

    def new_after_events(self, storage: str) -> NewJob:
        """Return the job of a storage that has new events, without arguments."""
        return self._new(storage, {}, timezone.now() + timedelta(seconds=self.after_events or 0))

    def delay_after(self, attempts: int) -> float | None:
        return _delay_after(self.retry, attempts)

    def _new(self, storage: str, arguments: Mapping[str, Any], not_before: datetime | None) -> NewJob:
        lock = None
        if self.lock is not None:
            lock = self.lock_of(storage, *(str(arguments[name]) for name in self.lock))
        args = {"storage": storage, "arguments": dict(arguments)}
        return NewJob(self.queue, self.name, args, lock, lock if self.once else None, not_before)

    def lock_of(self, storage: str, *values: str) -> str:
        return ":".join([self.name, storage, *values])


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteJob(Generic[P]):
    """Work of the installation that a request causes, outside any storage. Doing it twice must do no harm."""

    name: str
    function: Callable[P, None]
    retry: tuple[float, ...]
    queue: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        self.function(*args, **kwargs)

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Add the job in the transaction of the caller. Arguments are named, and JSON."""
        if args:
            raise TypeError(f"{self.name}: name all arguments of the job.")
        enqueue_all([NewJob(self.queue, self.name, {"arguments": dict(kwargs)}, None, None, None)])

    def delay_after(self, attempts: int) -> float | None:
        return _delay_after(self.retry, attempts)


def _delay_after(retry: tuple[float, ...], attempts: int) -> float | None:
    """Return the seconds until the next attempt after this many earlier ones; None if there is no further one."""
    if attempts >= len(retry):
        return None
    return retry[attempts] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311  not a secret


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodicJob:
    """Work of the installation at fixed times, such as `*/5 * * * *` (UTC). Of all workers, one runs it, once.

    It runs outside any storage: row-level security refuses tenant tables until it opens the scope of one.
    """

    name: str
    function: Callable[[], None]
    cron: str

    def __call__(self) -> None:
        self.function()


AnyJob = StorageJob[Any] | SiteJob[Any] | PeriodicJob


def job(
    name: str,
    *,
    lock: tuple[str, ...] | None = None,
    once: bool = False,
    retry: tuple[float, ...] = (),
    own_scope: bool = False,
    queue: str = QUEUE,
    on_events: bool = False,
    after_events: float | None = None,
    on_failure: Callable[..., None] | None = None,
) -> Callable[[Callable[Concatenate[Storage, P], None]], StorageJob[P]]:
    """Declare a function as a job. It gets its storage, whose scope is open: all of it is one transaction.

    `lock` names arguments: jobs of a storage with equal values run one after the other, in the order in which they were
    enqueued; `()` means all jobs of this name in the storage. With `once`, a job is not added while an equal one waits.
    `retry` has the seconds to wait after each failed attempt; after the last one the job stays in the queue as failed.
    With `own_scope` the function opens `tenant_scope` itself, because it does more than work with the database: no
    transaction may be open while it waits for the network. Workers call `on_failure`, in the scope of the storage, when
    the last attempt has failed.

    Jobs of the queues `NETWORK` and `MAIL` wait for other machines, those of `TEXTS` for other processes; they have
    places of their own (D351, D367, D530). Workers bring the waiting job of a storage with new events forward, if it is
    declared with `on_events` (D368). With `after_events` they add the job to such a storage, unless it waits already;
    it runs after this many seconds (D371).
    """
    if once and lock is None:
        raise TypeError(f"{name}: `once` needs a lock, which tells which jobs are equal.")
    if (on_events or after_events is not None) and not (once and lock == ()):
        option = "on_events" if on_events else "after_events"
        raise TypeError(f"{name}: `{option}` needs one waiting job for each storage: `lock=(), once=True`.")

    def declare(function: Callable[Concatenate[Storage, P], None]) -> StorageJob[P]:
        return StorageJob(
            name=name,
            function=function,
            lock=lock,
            once=once,
            retry=retry,
            own_scope=own_scope,
            queue=queue,
            on_events=on_events,
            after_events=after_events,
            on_failure=on_failure,
        )

    return declare


def site_job(
    name: str, *, retry: tuple[float, ...] = (), queue: str = QUEUE
) -> Callable[[Callable[P, None]], SiteJob[P]]:
    def declare(function: Callable[P, None]) -> SiteJob[P]:
        return SiteJob(name=name, function=function, retry=retry, queue=queue)

    return declare


def periodic_job(name: str, *, cron: str) -> Callable[[Callable[[], None]], PeriodicJob]:
    def declare(function: Callable[[], None]) -> PeriodicJob:
        return PeriodicJob(name=name, function=function, cron=cron)

    return declare
