"""The disk of the database is full: writes are refused with the reason, reads continue, and free space is enough to recover."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.installation import Installation
from tests.faults.load import PROCESSES, Load
from tests.patience import BUSY_SECONDS

pytestmark = [pytest.mark.server, pytest.mark.fault]
NO_ROOM = (
    "The disk of the database is full, so nothing was changed; reading is still possible. Ask the operator of the"
    " installation to free disk space, then try again."
)
# Mounting needs root, or sudo without a password, as in the Makefile.
AS_ROOT = [] if os.geteuid() == 0 else ["env", "sudo", "--non-interactive"]
# The tables and indexes of all content.
TABLES = "SELECT format('ALTER TABLE %I SET TABLESPACE small', relname) FROM pg_class WHERE relkind = 'r' AND relname ~ '^elements_'"
INDEXES = "SELECT format('ALTER INDEX %I SET TABLESPACE small', relname) FROM pg_class WHERE relkind = 'i' AND relname ~ '^(elements_|version_)'"


@pytest.fixture
def small_disk(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Mount a file system of 48 MB with all tables and indexes of elements."""
    disk, owner = tmp_path_factory.mktemp("disk"), installation.postgres.data_dir.stat()
    options = f"size=48m,mode=755,uid={owner.st_uid},gid={owner.st_gid}"
    mounted = subprocess.run(
        [*AS_ROOT, "mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"NO DISK TO FILL: mounting one is not permitted here ({mounted.stderr.strip()})")
    try:
        (disk / "space").mkdir()
        os.chown(disk / "space", owner.st_uid, owner.st_gid)
        move(installation, disk / "space", "small")
        yield disk
        move(installation, disk / "space", "pg_default")
    finally:
        subprocess.run([*AS_ROOT, "umount", "--lazy", str(disk)], check=True)


def move(installation: Installation, place: Path, name: str) -> None:
    with installation.server.superuser() as connection:
        if name == "small":
            connection.execute(f"CREATE TABLESPACE small OWNER repository LOCATION '{place}'")
        for sql in (TABLES, INDEXES):
            for (statement,) in connection.execute(sql).fetchall():
                connection.execute(statement.replace("TABLESPACE small", f"TABLESPACE {name}"))
        if name != "small":
            connection.execute("DROP TABLESPACE small")


def fill(disk: Path) -> Path:
    """Fill the remaining space."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while file.write(b"x" * size):
                    pass
    return ballast


def test_the_disk_of_the_database_is_full(installation: Installation, small_disk: Path) -> None:
    with Load(installation, "full") as load:
        ballast = fill(small_disk)
        full = time.monotonic()
        load.run_until(lambda: sum(each.is_refusal for each in load.answers) > 5)
        reads = load.count("read")
        load.run_until(lambda: load.count("read") > reads + 20)
        told = load.ready_between(full, time.monotonic())
        ballast.unlink()
        over = time.monotonic()
        load.run_for(2)
    refused = [each for each in load.answers if each.is_refusal]
    assert {(each.kind, each.status, each.retry_after) for each in refused} == {("write", 503, "30")}
    assert {each.body["message"].partition(" The request id")[0] for each in refused} == {NO_ROOM}
    # The service stays ready: taking it out of load balancing would stop reads, too.
    assert told.keys() == {200}
    load.settle(since=over, within=5 + BUSY_SECONDS, alike="the disk of the database full")
    assert installation.server.request("GET", f"{PROCESSES}?$pageSize=1")[0] == 200
