"""The worker and the database are killed at random moments while events are delivered: none is lost, duplicates have the
same id, and the messages of each subject arrive in their order."""

from __future__ import annotations

import json
import random
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import psutil
import psycopg
import pytest
from standardwebhooks import Webhook as Verifier

from repository_site.core.embedded_postgres.paths import ServerPaths
from repository_site.core.embedded_postgres.state import read_postmaster
from tests import figures
from tests.receivers import ReceivedRequest, Receiver, receiving
from tests.scale import IS_FULL
from tests.server_process import DataFolders
from tests.working_jobs.webhook_installation import SECRET, WebhookInstallation

pytestmark = [pytest.mark.server, pytest.mark.fault]
KILLS, EVENTS = (100, 10_000) if IS_FULL else (8, 800)
SUBJECTS = 100
HOOKS = ("one", "two")
COLLECTIONS = ("acme", "rival")
# Seconds after the last fault until everything is delivered, with retries after about 5 and 30 seconds.
WITHIN = 180.0
NUMBERS = """SELECT array_agg(e.id::text) FROM storage_event e JOIN storage_storage s ON s.id = e.storage_id
    JOIN storage_storagecollection c ON c.id = s.collection_id WHERE c.key = %s"""

# Periodic jobs of other subjects may fail with the database.
FAILED = "SELECT count(*) FROM procrastinate_jobs WHERE status = 'failed' AND task_name LIKE 'webhooks.%'"


def is_refused(received: ReceivedRequest) -> bool:
    """Refuse one of a hundred requests; the next attempt has another timestamp."""
    return zlib.crc32((received.headers["webhook-id"] + received.headers["webhook-timestamp"]).encode()) % 100 == 0


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        found.refuses = is_refused
        yield found


@pytest.fixture
def installed(tmp_path: Path, data_folders: DataFolders, receiver: Receiver) -> Iterator[WebhookInstallation]:
    installation = WebhookInstallation(tmp_path, data_folders)
    for collection in COLLECTIONS:
        installation.add_webhooks(collection, [receiver.url(f"{collection}/{hook}") for hook in HOOKS])
    yield installation
    installation.close()


def test_worker_and_database_are_killed(installed: WebhookInstallation, receiver: Receiver) -> None:
    # The events last as long as the faults.
    pause = KILLS * 3.0 / EVENTS
    writers = [installed.write_events(each, EVENTS // 2, SUBJECTS, pause=2 * pause) for each in COLLECTIONS]
    worker = installed.work_impatiently(4)
    for number in range(KILLS):
        wait_for_deliveries(receiver)
        time.sleep(random.uniform(0, 1))
        if number % 2:
            kill_database(installed)
        else:
            worker.kill()
            worker.wait(60)
            worker = installed.work_impatiently(4)
    for writer in writers:
        writer.wait(300)
    began = time.monotonic()
    while not is_done(installed):
        assert time.monotonic() < began + WITHIN, installed.server.log.read_text()[-5000:]
        time.sleep(0.5)
    idle = time.monotonic() - began
    judge(installed, receiver, idle)


def wait_for_deliveries(receiver: Receiver) -> None:
    """Wait until something arrives, so that the fault hits work; but not forever, if everything is delivered."""
    before, end = len(receiver.requests), time.monotonic() + 30
    while len(receiver.requests) == before and time.monotonic() < end:
        time.sleep(0.02)


def kill_database(installed: WebhookInstallation) -> None:
    found = read_postmaster(ServerPaths(installed.postgres.data_dir))
    if found is not None:
        # The worker starts it again.
        with suppress(psutil.NoSuchProcess):
            psutil.Process(found.pid).kill()


def is_done(installed: WebhookInstallation) -> bool:
    behind = """SELECT count(*) FROM storage_webhook w JOIN storage_eventlog l ON l.storage_id = w.storage_id
        WHERE w.position < l.last_number"""
    try:
        counts = (
            installed.server.ask("SELECT count(*) FROM storage_event WHERE number IS NULL"),
            installed.server.ask(behind),
        )
        return counts == (0, 0) and installed.undelivered() == 0
    except psycopg.OperationalError:
        return False


def judge(installed: WebhookInstallation, receiver: Receiver, idle: float) -> None:
    accepted = [each for each in receiver.requests if not is_refused(each)]
    by_hook: defaultdict[str, list[ReceivedRequest]] = defaultdict(list)
    for each in accepted:
        assert is_signed(each)
        by_hook[each.line.split()[1]].append(each)
    lost = repeated = disordered = 0
    for collection in COLLECTIONS:
        with installed.server.superuser() as connection:
            (events,) = connection.execute(NUMBERS, [collection]).fetchone() or ([],)
        for hook in HOOKS:
            received = by_hook[f"/{collection}/{hook}"]
            lost += len(set(events) ^ {json.loads(each.body)["id"] for each in received})
            repeated += len(received) - len({each.headers["webhook-id"] for each in received})
            disordered += out_of_order(received)
            assert ids_by_event(received)
    messages = EVENTS // 2 * len(COLLECTIONS) * len(HOOKS)
    name = "worker and database killed in turn"
    noted = {"killed": KILLS, "events": EVENTS // 2 * len(COLLECTIONS), "messages": messages, "idle": round(idle, 1)}
    figures.note("webhooks", name, **noted, repeated=repeated, lost=lost, disordered=disordered)
    assert (lost, disordered) == (0, 0)
    assert installed.server.ask(FAILED) == 0


def is_signed(received: ReceivedRequest) -> bool:
    """Check the signature, but not how long ago it was made."""
    headers = received.headers
    moment = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
    return Verifier(SECRET).sign(headers["webhook-id"], moment, received.body.decode()) == headers["webhook-signature"]


def ids_by_event(received: list[ReceivedRequest]) -> bool:
    """Return whether each event has one id, and one text."""
    found: defaultdict[str, set[tuple[str, bytes]]] = defaultdict(set)
    for each in received:
        found[json.loads(each.body)["id"]].add((each.headers["webhook-id"], each.body))
    return all(len(each) == 1 for each in found.values())


def out_of_order(received: list[ReceivedRequest]) -> int:
    """Count messages that arrived first after a later message of their subject."""
    newest: dict[str, int] = {}
    seen: set[str] = set()
    wrong = 0
    for each in received:
        event = json.loads(each.body)
        if event["id"] in seen:
            continue
        seen.add(event["id"])
        place, subject = event["data"]["place"], event["subject"]
        wrong += place < newest.get(subject, -1)
        newest[subject] = max(place, newest.get(subject, -1))
    return wrong
