"""The job worker and the database are killed in turn while others write: a client of the change feed and a job that
follows it get every event, once, and in the order of the changes."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import psycopg
import pytest

from tests import figures
from tests.faults.installation import STORAGE, Installation, wait_for
from tests.faults.load import SYSTEMS, Client
from tests.scale import scaled
from tests.server_process import DataFolders

pytestmark = [pytest.mark.server, pytest.mark.fault]
KILLS, EVENTS = scaled(100), scaled(10_000)
WRITERS, AT_ONCE = 4, 5
# Requests of all writers for each kill.
BATCH = -(-EVENTS // KILLS // AT_ONCE)
TABLES = """CREATE TABLE job_notes (name text, number int, at timestamptz DEFAULT clock_timestamp());
    CREATE TABLE followed AS SELECT coalesce(max(number), 0) AS number FROM storage_event;
    GRANT ALL ON job_notes, followed TO repository"""
ENQUEUE = """INSERT INTO procrastinate_jobs (queue_name, task_name, args)
    SELECT 'default', 'working.follow', json_build_object('storage', s.id, 'arguments', json_build_object())
    FROM storage_storage s JOIN storage_storagecollection c ON c.id = s.collection_id WHERE c.key = 'acme'
        AND (SELECT count(*) FROM procrastinate_jobs WHERE status = 'todo') < 10"""
NOTED = """SELECT e.subject_id::text, e.request_id FROM job_notes n JOIN storage_event e ON e.id::text = n.name
    WHERE e.type = 'element.changed' ORDER BY n.at"""
# The request of each change, by element, in their order.
Changes = dict[str, list[str]]


@pytest.fixture
def installed(tmp_path: Path, data_folders: DataFolders) -> Iterator[Installation]:
    settings = "tests.working_jobs.settings"
    found = Installation(tmp_path, DJANGO_SETTINGS_MODULE=settings, REPOSITORY_JOBS="4")
    data_folders.copy(found.server.data_dir, "migrate")
    found.postgres.ensure_running()
    with found.server.superuser() as connection:
        connection.execute(TABLES)
    try:
        found.serve()
        found.fill()
        yield found
    finally:
        found.postgres.release(wait=20)
        found.end()


class EventTraffic:
    """Writers that repeat each request until it succeeds, and a reader of the feed that sometimes forgets a page."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.permits = threading.Semaphore(0)
        self.written: Changes = {}
        self.read: Changes = defaultdict(list)
        self.all_written, self.is_over = threading.Event(), threading.Event()

    def send(self, client: Client, method: str, address: str, body: Any = None, **headers: str) -> Any:
        end = time.monotonic() + 90
        while True:
            answer = client.call(method, address, body, **headers)
            if answer.status == 200:
                return answer.body
            assert answer.is_refusal or answer.status == 409, answer
            assert time.monotonic() < end, answer
            time.sleep(random.uniform(0.05, 0.2))

    def write(self, requests: int) -> None:
        with closing(Client(self.installation, "write")) as client:
            self.write_by(client, requests)

    def write_by(self, client: Client, requests: int) -> None:
        new = [{"type": "system", "attributes": {"name": {"1033": str(uuid4())}}} for _ in range(AT_ONCE)]
        made = self.send(client, "POST", SYSTEMS, {"elements": new}, Idempotency_Key=str(uuid4()))
        elements = [each["id"] for each in made["elements"]]
        self.written |= {each: [] for each in elements}
        for _ in range(requests):
            self.permits.acquire()
            key = str(uuid4())
            body = {"elements": [{"id": each, "attributes": {"name": {"1033": key}}} for each in elements]}
            self.send(client, "POST", SYSTEMS, body, Idempotency_Key=key, X_Request_ID=key)
            for each in elements:
                self.written[each].append(key)

    def follow(self) -> None:
        with closing(Client(self.installation, "feed")) as client:
            self.follow_by(client)

    def follow_by(self, client: Client) -> None:
        cursor = ""
        while True:
            is_last = self.all_written.is_set()
            query = f"$pageSize=40&type=element.changed{f'&$after={cursor}' if cursor else ''}"
            page = self.send(client, "GET", f"{STORAGE}/_api/rest/changes?{query}")
            if random.random() < 0.1:
                continue
            for event in page["values"]:
                self.read[event["subject"]].append(event["data"]["requestId"])
            if is_last and page["next"] == cursor:
                return
            cursor = page["next"]

    def enqueue(self) -> None:
        while not self.is_over.wait(0.2):
            try:
                with self.installation.server.superuser() as connection:
                    connection.execute(ENQUEUE)
            except psycopg.OperationalError:
                """The database is away."""


def position(installed: Installation) -> int:
    """Return the number of the last event that the job has noted; -1 while the database is away."""
    try:
        return int(installed.server.ask("SELECT number FROM followed"))
    except psycopg.OperationalError:
        return -1


def job_worker(installed: Installation) -> list[psutil.Process]:
    assert installed.server.process is not None
    found = []
    for each in psutil.Process(installed.server.process.pid).children():
        with suppress(psutil.NoSuchProcess):
            found += [each] if "work" in each.cmdline() else []
    return found


def noted(installed: Installation) -> Changes:
    found: Changes = defaultdict(list)
    with installed.server.superuser() as connection:
        for subject, request in connection.execute(NOTED):
            found[subject].append(request)
    return found


def test_no_event_is_lost(installed: Installation) -> None:
    traffic = EventTraffic(installed)
    with ThreadPoolExecutor(WRITERS + 2) as threads:
        others = [threads.submit(traffic.follow), threads.submit(traffic.enqueue)]
        requests = KILLS * BATCH // WRITERS
        writers = [threads.submit(traffic.write, requests) for _ in range(WRITERS)]
        try:
            for number in range(KILLS):
                before = max(0, position(installed))
                traffic.permits.release(BATCH)
                wait_for(lambda before=before: position(installed) > before, 60, "the job does not follow")  # type: ignore[misc]
                time.sleep(random.uniform(0, 0.3))
                victims = job_worker(installed) if number % 2 else [installed.postmaster()]
                for victim in victims:
                    with suppress(psutil.NoSuchProcess):
                        victim.kill()
            began = time.monotonic()
            traffic.permits.release(BATCH)
            for each in writers:
                each.result(120)
            traffic.all_written.set()
            # A reader numbers the events.
            last = """SELECT count(*) = 0 FROM storage_event
                WHERE number IS NULL OR number > (SELECT number FROM followed)"""
            wait_for(lambda: position(installed) >= 0 and installed.server.ask(last), 120, "the job is behind")
        finally:
            traffic.permits.release(EVENTS)
            traffic.all_written.set()
            traffic.is_over.set()
        for each in others:
            each.result(60)
    seconds = round(time.monotonic() - began, 1)
    for name, found in (("the change feed", traffic.read), ("a job that follows", noted(installed))):
        compare(name, {each: found[each] for each in traffic.written}, traffic.written, seconds)


def compare(name: str, found: Changes, written: Changes, seconds: float) -> None:
    lost = sum((Counter(written[each]) - Counter(found[each])).total() for each in written)
    repeated = sum((Counter(found[each]) - Counter(written[each])).total() for each in written)
    disordered = sum(left != right for each in written for left, right in zip(found[each], written[each], strict=False))
    events = sum(map(len, written.values()))
    figures.note(
        "events", name, killed=KILLS, events=events, idle=seconds, repeated=repeated, disordered=disordered, lost=lost
    )
    assert (lost, repeated, disordered) == (0, 0, 0)
    assert found == written
