"""The job queue in the site's back office, in metrics and in the doctor."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import strip_tags
from prometheus_client import CollectorRegistry, generate_latest

from repository_site.operations.doctor.findings import HealthFinding, error, ok, warning
from repository_site.operations.doctor.schedule import WORKER, judge_jobs
from repository_site.operations.metrics.page import InstallationCollector
from storage.extension import StorageExtension, storage_extensions
from storage.jobs import job
from storage.jobs.queue_state import QueueState
from storage.models import QueuedJob, Storage
from tests.factories import StaffAccountFactory
from tests.jobs import run_jobs

pytestmark = pytest.mark.django_db
PAGE = "/admin/storage/queuedjob/"


@job("tests.deliver")
def deliver(storage: Storage, number: int) -> None:
    if number == 13:
        raise ValueError("<b>unlucky</b>")


@pytest.fixture(autouse=True)
def extension() -> Iterator[None]:
    with storage_extensions.extended_by(StorageExtension(jobs=(deliver,))):
        yield


@pytest.fixture
def failed(storage: Storage) -> QueuedJob:
    deliver.enqueue(storage, number=13)
    with pytest.raises(ValueError, match="unlucky"):
        run_jobs()
    return QueuedJob.objects.get()


def site_administrator() -> Client:
    browser = Client()
    browser.force_login(StaffAccountFactory.create(is_superuser=True))
    return browser


def test_the_page_shows_jobs_and_errors(failed: QueuedJob, other_storage: Storage) -> None:
    deliver.enqueue_all(other_storage, [{"number": 1}], not_before=timezone.now() + timedelta(hours=1))
    browser = site_administrator()
    page = browser.get(PAGE).content.decode()
    assert "ValueError: &lt;b&gt;unlucky&lt;/b&gt;" in page
    assert "acme/handbook" in page
    assert "rival/handbook" in page
    numbers = " ".join(strip_tags(page[page.index("access-tiles") :]).split())
    expected = "Waiting 0 Not due yet 1 Running 0 Failed 1 Oldest wait 0:00 Workers 0"
    assert expected in numbers
    only_failed = browser.get(f"{PAGE}?state=failed").content.decode()
    assert "acme/handbook" in only_failed
    assert "rival/handbook" not in only_failed
    assert browser.get(f"{PAGE}?state=nonsense").status_code == 200
    found = browser.get(f"{PAGE}?q={other_storage.pk}").content.decode()
    assert "rival/handbook" in found
    assert "acme/handbook" not in found


def test_the_page_speaks_german(failed: QueuedJob) -> None:
    page = site_administrator().get(PAGE, headers={"Accept-Language": "de"}).content.decode()
    assert "Fehlgeschlagen" in page
    assert "Aufträge" in page
    assert "Waiting" not in page


def test_statements_do_not_grow_with_the_list(failed: QueuedJob, storage: Storage, other_storage: Storage) -> None:
    browser = site_administrator()
    browser.get(PAGE)
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as counted:
            browser.get(PAGE)
        counts.append(len(counted))
        deliver.enqueue_all(other_storage, [{"number": number} for number in range(20)])
    assert counts[0] == counts[1]


def test_failed_jobs_can_be_retried_and_deleted(failed: QueuedJob) -> None:
    browser = site_administrator()
    given = {"action": "retry", "_selected_action": [failed.pk]}
    assert "1 job waits again." in browser.post(PAGE, given, follow=True).content.decode()
    assert QueuedJob.objects.get().status == QueuedJob.TODO
    QueuedJob.objects.update(status="doing")
    given["action"] = "remove"
    assert "0 jobs have been deleted." in browser.post(PAGE, given, follow=True).content.decode()
    QueuedJob.objects.update(status="failed")
    assert "1 job has been deleted." in browser.post(PAGE, given, follow=True).content.decode()
    assert not QueuedJob.objects.exists()


def test_only_site_administrators_see_jobs(failed: QueuedJob) -> None:
    browser = Client()
    browser.force_login(StaffAccountFactory.create())
    assert browser.get(PAGE).status_code == 403
    assert browser.post(PAGE, {"action": "remove", "_selected_action": [failed.pk]}).status_code == 403
    assert QueuedJob.objects.count() == 1


def test_metrics_show_the_queue(failed: QueuedJob, storage: Storage) -> None:
    deliver.enqueue(storage, number=1)
    QueuedJob.objects.filter(status="todo").update(scheduled_at=timezone.now() - timedelta(seconds=90))
    registry = CollectorRegistry()
    registry.register(InstallationCollector())
    lines = [line for line in generate_latest(registry).decode().splitlines() if line.startswith("repository_job")]
    oldest = [line for line in lines if "oldest" in line]
    assert [line for line in lines if line not in oldest] == [
        'repository_jobs{state="waiting"} 1.0',
        'repository_jobs{state="delayed"} 0.0',
        'repository_jobs{state="running"} 0.0',
        'repository_jobs{state="failed"} 1.0',
        "repository_job_workers 0.0",
    ]
    assert 90 <= float(oldest[0].split()[1]) < 120


OVERLOADED = "Jobs arrive faster than they are done, or block each other: raise `--jobs`, or add a worker."
HANGS = "Look at Jobs in the back office of the installation. If the job hangs, restart its worker."
OFFICE = "Jobs in the back office of the installation shows the errors, and can retry them."


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (QueueState(0, 0, 0, 0, 0.0, 0), [ok("no worker runs; 0 wait, 0 are not due yet, 0 run")]),
        (QueueState(3, 2, 1, 0, 20.0, 1), [ok("1 worker runs; 3 wait, 2 are not due yet, 1 run")]),
        (QueueState(3, 2, 1, 4, 20.0, 2), [warning("4 failed", OFFICE)]),
        (QueueState(0, 0, 1, 0, 0.0, 1, 7200.0), [warning("a job has been running for 120 minutes", HANGS)]),
        (
            QueueState(3, 0, 1, 0, 600.0, 2),
            [warning("the oldest job has waited for 10 minutes; 2 workers run", OVERLOADED)],
        ),
        (
            QueueState(3, 0, 0, 1, 600.0, 0),
            [
                warning("1 failed", OFFICE),
                error("no worker runs, and the oldest job has waited for 10 minutes", WORKER),
            ],
        ),
    ],
)
def test_the_doctor_judges_the_queue(state: QueueState, expected: list[HealthFinding]) -> None:
    assert list(judge_jobs(state)) == expected
