"""Data folders, sockets, logs and locks of the embedded PostgreSQL."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from repository_site.core.embedded_postgres import (
    EmbeddedPostgres,
    EmbeddedPostgresError,
    accounts,
    file_locks,
    state,
)
from repository_site.core.embedded_postgres.paths import SOCKET_NAME, SOCKET_PATH_LIMIT, ServerPaths
from tests.repository_site.embedded_postgres.server_processes import (
    PATIENCE,
    PROJECT,
    assert_gone,
    copy,
    one_line,
    postmaster_pid,
    processes_in,
    wait_for,
    works,
)
from tests.scale import only_at_full_scale

pytestmark = pytest.mark.long


def test_a_long_path_moves_the_socket_to_a_safe_temporary_folder(folder: Path, used: EmbeddedPostgres) -> None:
    (folder / ("long" * 30)).mkdir()
    server = copy(used, folder / ("long" * 30) / "postgres")
    assert len(os.fsencode(server.socket_dir / SOCKET_NAME)) <= SOCKET_PATH_LIMIT
    server.socket_dir.symlink_to(folder)
    try:
        with pytest.raises(EmbeddedPostgresError, match="remove it and try again") as raised:
            server.ensure_running()
        one_line(raised)
    finally:
        server.socket_dir.unlink()
    server.ensure_running()
    assert works(server)
    assert server.socket_dir.stat().st_mode & 0o777 == 0o700
    assert server.release(wait=PATIENCE)
    assert_gone(server)
    assert not server.socket_dir.exists()


@only_at_full_scale
def test_names_do_not_depend_on_how_the_folder_is_reached(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "link").symlink_to(folder)
    monkeypatch.chdir(folder)
    plain = EmbeddedPostgres(folder / "postgres")
    assert EmbeddedPostgres(folder / "link" / "postgres") == EmbeddedPostgres(Path("postgres")) == plain
    assert EmbeddedPostgres(folder / "with,comma").socket_dir.parent != folder / "with,comma.run"


def test_data_of_another_major_version_is_refused(server: EmbeddedPostgres) -> None:
    (server.data_dir / "PG_VERSION").write_text("16\n")
    with pytest.raises(EmbeddedPostgresError, match="data of PostgreSQL 16, but this release needs 18") as raised:
        server.ensure_running()
    (server.data_dir / "PG_VERSION").write_text("18\n")
    one_line(raised)
    assert server.status().users in (0, None), "the lease outlived the failure"
    wait_for(lambda: not processes_in(server.data_dir))


def test_a_folder_with_other_files_is_refused(folder: Path) -> None:
    account = accounts.server_account(ServerPaths(folder / "postgres"))
    (folder / "postgres").mkdir()
    (folder / "postgres" / "thesis.txt").touch()
    os.chown(folder / "postgres", account.uid, account.gid)
    with pytest.raises(EmbeddedPostgresError, match="contains files but no PostgreSQL database"):
        EmbeddedPostgres(folder / "postgres").ensure_running()
    assert (folder / "postgres" / "thesis.txt").exists()


def test_an_error_at_the_start_shows_the_log(server: EmbeddedPostgres) -> None:
    control = server.data_dir / "global" / "pg_control"
    control.rename(control.with_name("hidden"))
    with pytest.raises(EmbeddedPostgresError, match=r"does not start, see .*server\.log .*pg_control") as raised:
        server.ensure_running()
    control.with_name("hidden").rename(control)
    one_line(raised)


@only_at_full_scale
def test_the_log_does_not_grow_for_ever(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = ServerPaths(folder / "postgres")
    paths.run_dir.mkdir()
    writer = state.open_log(paths)
    monkeypatch.setattr(state, "LOG_LIMIT", 10)
    os.write(writer, b"more than ten bytes\n")
    state.cut_log(paths)
    os.write(writer, b"new\n")
    os.close(writer)
    assert paths.log_file.read_text() == "new\n"
    assert paths.log_file.with_name("server.log.1").read_text() == "more than ten bytes\n"
    assert state.log_tail(paths, 0) == "new"


@only_at_full_scale
def test_status_for_operators(server: EmbeddedPostgres) -> None:
    def status() -> str:
        command = [sys.executable, "-m", "repository_site.core.embedded_postgres", "status", str(server.data_dir)]
        return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True, timeout=30).stdout

    assert status() == "stopped\n"
    server.ensure_running()
    assert status().startswith(f"running, pid {postmaster_pid(server)}, users: ")


@only_at_full_scale
def test_leases_are_close_on_exec_and_locks_survive_removal(folder: Path) -> None:
    descriptor = file_locks.acquire(folder / "lock", fcntl.LOCK_EX, 1)
    assert not os.get_inheritable(descriptor)
    assert file_locks.is_held(folder / "lock")
    with pytest.raises(EmbeddedPostgresError, match="has locked"):
        file_locks.acquire(folder / "lock", fcntl.LOCK_SH, 0.05)
    (folder / "lock").unlink()
    assert not file_locks.is_open_on(descriptor, folder / "lock")
    os.close(descriptor)
