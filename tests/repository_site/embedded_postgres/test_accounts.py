"""The account that the embedded PostgreSQL runs as."""

from __future__ import annotations

import logging
import os
import pwd
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from repository_site.core.embedded_postgres import (
    EmbeddedPostgres,
    EmbeddedPostgresError,
    accounts,
)
from repository_site.core.embedded_postgres.paths import ServerPaths
from tests.repository_site.embedded_postgres.server_processes import (
    PATIENCE,
    Users,
    answer,
    assert_gone,
    copy,
    keeper_process,
    leave,
    one_line,
    postmaster_pid,
    works,
)

pytestmark = pytest.mark.long
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as another account")


@as_root
def test_root_makes_a_closed_parent_folder_searchable_only(
    folder: Path, used: EmbeddedPostgres, caplog: pytest.LogCaptureFixture
) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    server = copy(used, closed / "postgres")
    with caplog.at_level(logging.INFO):
        server.ensure_running()
    assert closed.stat().st_mode & 0o777 == 0o701
    assert f"chmod o+x {closed}:" in caplog.text
    assert works(server)
    assert psutil.Process(postmaster_pid(server)).uids().real == server.data_dir.stat().st_uid != 0
    assert server.release(wait=PATIENCE)
    assert_gone(server)


@as_root
def test_programs_installed_with_a_closed_umask_become_readable(folder: Path) -> None:
    (folder / "bin").mkdir(mode=0o700)
    (folder / "bin" / "postgres").touch(mode=0o700)
    (folder / "bin" / "share").touch(mode=0o600)
    (folder / "bin" / "link").symlink_to("nowhere")
    accounts.make_readable(accounts.Account(12345, 12345), folder / "bin", folder / "absent")
    modes = [path.stat().st_mode & 0o777 for path in (folder / "bin", folder / "bin/postgres", folder / "bin/share")]
    assert modes == [0o705, 0o705, 0o604]


def ordinary_python() -> str:
    """Return an interpreter that other users can run, too: that of root may be below /root."""
    nobody = pwd.getpwnam("nobody").pw_uid
    for python in (sys.executable, "/usr/bin/python3.11", "/usr/bin/python3"):
        try:
            subprocess.run([python, "-c", "import tomllib"], user=nobody, check=True, capture_output=True, timeout=30)
        except (OSError, subprocess.SubprocessError):
            continue
        return python
    pytest.skip("no Python that an ordinary user can run")


@as_root
def test_an_ordinary_user_runs_it_as_itself(folder: Path, users: Users) -> None:
    python = ordinary_python()
    folder.chmod(0o755)
    home = folder / "home"
    home.mkdir()
    uid = pwd.getpwnam("daemon").pw_uid
    os.chown(home, uid, uid)
    server = EmbeddedPostgres(home / "postgres")
    process = users.begin(server.data_dir, python=python, uid=uid)
    assert psutil.Process(int(answer(process))).uids().real == uid
    assert keeper_process(server).uids().real == uid
    leave(process)
    assert_gone(server)
    with pytest.raises(
        EmbeddedPostgresError, match=r"belongs to daemon and.* by root: run as daemon.*DATABASE_URL"
    ) as raised:
        server.ensure_running()
    one_line(raised)


@as_root
def test_a_folder_of_root_is_refused_to_an_ordinary_user(server: EmbeddedPostgres, users: Users) -> None:
    python = ordinary_python()
    server.ensure_running()
    process = users.begin(server.data_dir, python=python, uid=pwd.getpwnam("daemon").pw_uid)
    _, errors = process.communicate(timeout=PATIENCE)
    last = errors.strip().splitlines()[-1]
    assert "EmbeddedPostgresError" in last
    assert "belongs to root and cannot be used by daemon: run as root, move" in last


def test_a_user_without_a_name_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(EmbeddedPostgresError, match="uid 54321, which has no name: add it to /etc/passwd"):
        accounts.server_account(ServerPaths(folder / "postgres"))
