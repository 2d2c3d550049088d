"""Jobs that note what they did in the table `job_notes`, in the transaction of their work."""

from __future__ import annotations

import time

from django.db import connection

from storage.events.numbering import number_events
from storage.events.reading import read_events
from storage.jobs import job, periodic_job
from storage.models import Storage
from storage.tenancy.scope import tenant_scope


def note(name: str, number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO job_notes (name, number) VALUES (%s, %s)", [name, number])


@job("working.count")
def count(storage: Storage, number: int, seconds: float = 0.0) -> None:
    """Note the number after a while; the scope makes sure that both happen in one transaction."""
    note(storage.collection.key, number)
    time.sleep(seconds)


@job("working.outside", own_scope=True)
def wait_outside(storage: Storage, number: int, seconds: float) -> None:
    note("started", number)
    time.sleep(seconds)
    note("ended", number)


@job("working.twice", retry=(0.5,))
def fail_twice(storage: Storage, number: int) -> None:
    raise ValueError(f"always, {number}")


@job("working.ordered", lock=("topic",))
def in_order(storage: Storage, topic: str, number: int) -> None:
    note(topic, number)


@periodic_job("working.tick", cron="* * * * * */2")
def tick() -> None:
    note("tick", 0)


@job("working.follow", own_scope=True)
def follow(storage: Storage) -> None:
    """Note the next events by their ids, and the position, in one transaction."""
    number_events(storage)
    with tenant_scope(storage), connection.cursor() as cursor:
        cursor.execute("SELECT number FROM followed FOR UPDATE")
        [position] = cursor.fetchone() or [0]
        events = read_events(storage, position, 200).events
        for each in events:
            note(str(each.id), each.number)
        if events:
            cursor.execute("UPDATE followed SET number = %s", [events[-1].number])


JOBS = (count, wait_outside, fail_twice, in_order, tick, follow)
