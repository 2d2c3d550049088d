"""Real worker processes: alone, beside a server, stopped, and several at once."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest

from tests.deployment_programs import program
from tests.server_process import DataFolders, free_port
from tests.working_jobs.installation import JobInstallation

pytestmark = [pytest.mark.server, pytest.mark.long]


@pytest.fixture
def installed(tmp_path: Path, data_folders: DataFolders) -> Iterator[JobInstallation]:
    installation = JobInstallation(tmp_path, data_folders)
    yield installation
    installation.close()


def test_a_worker_runs_retries_and_keeps_order(installed: JobInstallation) -> None:
    worker = installed.work("--jobs", "3")
    installed.wait_for(lambda: len(worker_rows(installed)) == 1, 30, "no worker")
    installed.enqueue("count", [{"number": number} for number in range(20)])
    installed.enqueue("count", [{"number": number} for number in range(5)], "rival")
    installed.enqueue("in_order", [{"topic": "a", "number": number} for number in range(10)])
    installed.enqueue("fail_twice", [{"number": 1}])
    installed.wait_for(lambda: installed.is_idle() and failures(installed) == 1, 60, "jobs wait")
    assert installed.notes("acme") == Counter(range(20))
    assert installed.notes("rival") == Counter(range(5))
    order = "SELECT array_agg(number ORDER BY at) FROM job_notes WHERE name = 'a'"
    assert installed.server.ask(order) == list(range(10))
    error = "SELECT error || ' ' || attempts FROM storage_jobfailure JOIN procrastinate_jobs ON id = job_id"
    assert installed.server.ask(error) == "ValueError: always, 1 2"
    connections = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'repository'"
    assert 2 <= installed.server.ask(connections) <= 12
    worker.terminate()
    assert worker.wait(60) == 0
    assert worker_rows(installed) == []


def test_a_worker_finishes_or_returns_its_jobs(installed: JobInstallation) -> None:
    installed.enqueue("count", [{"number": 1, "seconds": 3}, {"number": 2, "seconds": 40}])
    worker = installed.work("--jobs", "2")
    running = "SELECT count(*) FROM procrastinate_jobs WHERE status = 'doing' AND task_name = 'working.count'"
    installed.wait_for(lambda: installed.server.ask(running) == 2, 30, "the jobs do not start")
    began = time.monotonic()
    worker.terminate()
    assert worker.wait(60) == 0
    # Less than the longer of the two jobs.
    assert 8 < time.monotonic() - began < 35
    assert installed.notes("acme") == Counter([1])
    # Without its worker, the job is taken by the next one at once. It need not wait this time.
    quicker = """UPDATE procrastinate_jobs SET args = jsonb_set(args, '{arguments,seconds}', '0')
        WHERE task_name = 'working.count' AND worker_id IS NULL RETURNING status"""
    assert installed.server.ask(quicker) == "doing"
    installed.work()
    installed.wait_for(lambda: installed.notes("acme") == Counter([1, 2]), 20, "the job was not returned")


def test_periodic_jobs_run_once_on_two_machines(installed: JobInstallation) -> None:
    for _ in range(2):
        installed.work("--jobs", "2")
    installed.wait_for(lambda: len(worker_rows(installed)) == 2, 40, "no workers")
    began = installed.server.ask("SELECT clock_timestamp()")
    ticks = f"SELECT count(*) FROM job_notes WHERE name = 'tick' AND at > '{began.isoformat()}'"
    installed.wait_for(lambda: installed.server.ask(ticks) >= 5, 60, "no ticks")
    number, now = installed.server.ask(ticks), installed.server.ask("SELECT clock_timestamp()")
    # One every two seconds, and one that may have waited; two machines would make twice as many.
    assert number <= (now - began).total_seconds() / 2 + 2
    assert installed.server.ask("SELECT count(*) FROM storage_lifecyclerun WHERE ended_on IS NOT NULL") == 2
    assert installed.server.ask("SELECT count(*) FROM storage_storagesize") == 2


def test_a_server_keeps_a_worker(installed: JobInstallation) -> None:
    installed.server.start("serve", "--workers", "1", "--jobs", "2")
    installed.wait_for(lambda: len(worker_rows(installed)) == 1, 30, "no worker")
    [first], known = job_processes(installed), set(worker_rows(installed))
    first.kill()
    installed.wait_for(lambda: not known.issuperset(worker_rows(installed)), 30, "the worker is not restarted")
    installed.enqueue("count", [{"number": 1}])
    installed.wait_for(lambda: installed.notes("acme") == Counter([1]), 20, "the job does not run")
    [second] = job_processes(installed)
    assert installed.server.stop(signal.SIGTERM) == 0
    assert not second.is_running()
    assert len(worker_rows(installed)) <= 1


def test_a_worker_ends_with_a_killed_server(installed: JobInstallation) -> None:
    installed.server.start("serve", "--workers", "1", "--jobs", "2")
    installed.wait_for(lambda: len(worker_rows(installed)) == 1, 30, "no worker")
    [worker] = job_processes(installed)
    assert installed.server.process is not None
    os.kill(installed.server.process.pid, signal.SIGKILL)
    installed.wait_for(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE, 20, "it still runs")


def test_an_idle_worker_does_next_to_nothing(installed: JobInstallation) -> None:
    installed.server.environ["DJANGO_SETTINGS_MODULE"] = "repository_site.settings"
    process = psutil.Process(installed.work().pid)
    installed.wait_for(lambda: len(worker_rows(installed)) == 1, 30, "no worker")
    installed.wait_for(lambda: installed.server.ask("SELECT count(*) FROM procrastinate_jobs") == 0, 60, "jobs wait")
    # PostgreSQL counts the transactions of a session some seconds later.
    time.sleep(15)
    before = transactions(installed), sum(process.cpu_times()[:2])
    time.sleep(20)
    after = transactions(installed), sum(process.cpu_times()[:2])
    # Also those of PostgreSQL itself, which analyses new tables, and those of this test.
    assert after[0] - before[0] < 120
    assert after[1] - before[1] < 1
    assert process.memory_info().rss < 150_000_000


@pytest.mark.parametrize("is_direct", [True, False])
def test_a_worker_works_through_pgbouncer(installed: JobInstallation, tmp_path: Path, is_direct: bool) -> None:
    """Notifications come by the direct connection. Without one, the worker asks every five seconds."""
    direct = f"postgresql://repository@/repository?host={quote(str(installed.postgres.socket_dir), safe='')}&port=5432"
    with pgbouncer(tmp_path, installed.postgres.socket_dir) as address:
        installed.server.environ |= {"DATABASE_URL": address, "DATABASE_PREPARE": "off"}
        if is_direct:
            installed.server.environ["DATABASE_LISTEN_URL"] = direct
        installed.server.environ["DJANGO_SETTINGS_MODULE"] = "tests.working_jobs.settings"
        worker = installed.work("--jobs", "3")
        installed.wait_for(lambda: len(worker_rows(installed)) == 1, 30, "no worker")
        time.sleep(2)
        installed.enqueue("count", [{"number": number} for number in range(20)])
        installed.wait_for(lambda: installed.notes("acme") == Counter(range(20)), 20, "the jobs do not run")
        listening = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query = 'SELECT 1'"
        # For jobs, and for events.
        assert (installed.server.ask(listening) == 2) or not is_direct
        report = installed.server.manage("doctor", "--only", "listening").stdout
        assert ("arrive through DATABASE_LISTEN_URL" in report) is is_direct
        assert ("no notification arrives through DATABASE_URL" in report) is not is_direct
        worker.terminate()
        assert worker.wait(60) == 0


@contextmanager
def pgbouncer(folder: Path, socket_dir: Path) -> Iterator[str]:
    """Run PgBouncer in transaction mode, with two connections for all clients."""
    port = free_port()
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\nrepository = host={socket_dir} port=5432 user=repository\n[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n"
        "default_pool_size = 2\nignore_startup_parameters = extra_float_digits\n"
    )
    folder.chmod(0o755)
    owner = pwd.getpwuid(socket_dir.stat().st_uid).pw_name
    words = ["-u", owner] if os.getuid() == 0 else []
    name = program("pgbouncer", "REPOSITORY_REPLICATION_REQUIRED", "make replication")
    with (folder / "pgbouncer.log").open("wb") as log:
        process = subprocess.Popen([name, *words, str(folder / "pgbouncer.ini")], stdout=log, stderr=log)
    try:
        yield f"postgresql://repository@127.0.0.1:{port}/repository"
    finally:
        process.terminate()
        process.wait(60)


def transactions(installed: JobInstallation) -> int:
    """Return how many transactions the database has ended."""
    sql = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'repository'"
    return int(installed.server.ask(sql))


def worker_rows(installed: JobInstallation) -> list[int]:
    return installed.server.ask("SELECT array_agg(id) FROM procrastinate_workers") or []


def failures(installed: JobInstallation) -> int:
    return int(installed.server.ask("SELECT count(*) FROM procrastinate_jobs WHERE status = 'failed'"))


def job_processes(installed: JobInstallation) -> list[psutil.Process]:
    assert installed.server.process is not None
    children = psutil.Process(installed.server.process.pid).children()
    return [each for each in children if "work" in each.cmdline()]
