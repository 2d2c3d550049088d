"""Writes events in many transactions, whatever happens to the database: `python -m tests.working_jobs.event_writer`.

The arguments are the collection, the number of the first event, of events and of subjects, and the seconds between two.
"""

from __future__ import annotations

import sys
import time
from uuid import NAMESPACE_URL, uuid5

import django


def main(collection: str, first: int, events: int, subjects: int, pause: float) -> None:
    django.setup()

    from django.db import connection
    from django.utils import timezone

    from storage.events.recording import announce_after_commit
    from storage.models import Event
    from storage.tenancy.contexts import storage_at
    from storage.tenancy.scope import tenant_scope

    def write(number: int) -> None:
        id = uuid5(NAMESPACE_URL, f"{collection} {number}")
        with tenant_scope(storage_at(collection, "handbook")):
            # The attempt before may have committed.
            if not Event.objects.filter(pk=id).exists():
                Event.objects.create(
                    id=id,
                    type="element.changed",
                    time=timezone.now(),
                    subject_id=uuid5(NAMESPACE_URL, f"subject {number % subjects}"),
                    caller_label="writer",
                    request_id="",
                    is_public=False,
                    data={"place": number},
                )
                announce_after_commit()

    for number in range(first, first + events):
        while True:
            try:
                write(number)
                break
            except Exception as problem:
                # Killed: somebody starts it again.
                sys.stderr.write(f"{number}: {' '.join(str(problem).split())[:200]}\n")
                connection.close()
                time.sleep(0.2)
        time.sleep(pause)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
