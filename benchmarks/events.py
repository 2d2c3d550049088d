"""The change feed (D325 to D327): a page among few and many events, and the cost of recording.

`python -m benchmarks.events` runs alone, in one process, with an embedded database of its own. Rounds are interleaved,
so that whatever else the machine does disturbs both sides alike.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import uuid4

from repository_site.core.environment import PROJECT_DIR

FEW, MANY = 10_000, 1_000_000
PAGE, ROUNDS, WRITES = 100, 300, 1_000
MOST_PAGE, MOST_RECORDING = 1.5, 1.05
FILL = """INSERT INTO storage_event (id, number, type, time, subject_id, version_id, facet, element_type, state,
        caller_label, request_id, is_public, data)
    SELECT gen_random_uuid(), n, 'element.changed', now() - (%s - n) * interval '1 second', gen_random_uuid(),
        gen_random_uuid(), 'it', 'system', 'inProcess', 'token', 'request', n %% 2 = 0,
        '{"attributes": ["name"], "contexts": []}'::jsonb FROM generate_series(1, %s) AS n"""


def set_up(folder: Path) -> None:
    os.environ |= {"REPOSITORY_DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "repository_site.settings"}
    import django
    from django.core.management import call_command

    django.setup()
    from django.conf import settings

    settings.ALLOWED_HOSTS = ["testserver"]
    logging.disable(logging.INFO)
    call_command("migrate", verbosity=0)


def storage_with(events: int) -> Any:
    """Return the storage with so many events, from an earlier run or made now."""
    from django.db import connection, transaction

    from storage.models import EventLog
    from storage.provisioning.provision import StorageRequest, provision_storage
    from storage.tenancy.contexts import read_storage
    from storage.tenancy.scope import tenant_scope

    key = f"s{events}"
    if (found := read_storage("bench", key)) is not None:
        return found
    with transaction.atomic(), connection.cursor() as cursor:
        storage = provision_storage(StorageRequest(collection="bench", key=key))
        with tenant_scope(storage):
            cursor.execute(FILL, [events, events])
            EventLog.objects.create(id=uuid4(), last_number=events)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE storage_event")
    return storage


def median_times(sides: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """Return the median milliseconds of each side, in interleaved rounds."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 20):
        for name, work in sides.items():
            began = time.perf_counter()
            work()
            if number >= 20:
                taken[name].append(time.perf_counter() - began)
    return {name: statistics.median(times) * 1000 for name, times in taken.items()}


def measure_pages(few: int, many: int) -> None:
    from storage.events.cursors import Cursor, mark_of
    from storage.events.numbering import number_events
    from storage.events.reading import read_page
    from storage.models import Event, EventLog
    from storage.tenancy.scope import tenant_scope

    def page_of(events: int) -> Callable[[], None]:
        """Return a function that reads the page in the middle."""
        storage, number = storage_with(events), events // 2
        with tenant_scope(storage):
            cursor = Cursor(EventLog.objects.get().epoch, number, mark_of(Event.objects.get(number=number).id))

        def read() -> None:
            number_events(storage)
            with tenant_scope(storage):
                read_page(cursor, PAGE)

        return read

    taken = median_times({f"{count:,} events": page_of(count) for count in (few, many)}, ROUNDS)
    slow, quick = max(taken.values()), taken[f"{few:,} events"]
    report("page of 100", taken, slow / quick, MOST_PAGE)


def measure_recording() -> None:
    from django.test import Client

    from storage.access.tokens import issue_token
    from storage.options import Role
    from storage.tenancy.contexts import Context, ContextType

    storage = storage_with(FEW)
    token = issue_token(Context(ContextType.STORAGE, storage.collection, storage), "bench", [Role.ARCHITECT]).value
    address = f"/bench/{storage.key}/_api/rest/facets/it/views/detail/elements"
    client = Client(headers={"Authorization": f"Bearer {token}"})

    def send(element: dict[str, Any]) -> Any:
        response = client.post(address, {"elements": [element]}, content_type="application/json")
        if response.status_code != 200:
            sys.exit(f"error: {response.content.decode()}")
        return response.json()["elements"][0]["id"]

    element = send({"type": "system", "attributes": {"name": {"1033": "First"}}})

    def write() -> None:
        send({"id": element, "attributes": {"name": {"1033": str(uuid4())}}})

    def write_without() -> None:
        with patch("elements.writing.history.event_statements", lambda author, events: []):
            write()

    taken = median_times({"without events": write_without, "with events": write}, WRITES)
    report("update of one element", taken, taken["with events"] / taken["without events"], MOST_RECORDING)


def report(title: str, taken: dict[str, float], ratio: float, most: float) -> None:
    columns = ", ".join(f"{name} {milliseconds:.3f} ms" for name, milliseconds in taken.items())
    verdict = "ok" if ratio <= most else "TOO SLOW"
    sys.stdout.write(f"{title}: {columns}; ratio {ratio:.3f}, at most {most}: {verdict}\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.events", description=__doc__)
    parser.add_argument("--folder", type=Path, default=PROJECT_DIR / "var" / "benchmark" / "events")
    parser.add_argument("--many", type=int, default=MANY, help="events of the large storage")
    options = parser.parse_args()
    set_up(options.folder)
    measure_pages(FEW, options.many)
    measure_recording()


if __name__ == "__main__":
    main()
