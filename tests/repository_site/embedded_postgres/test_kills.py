"""The embedded PostgreSQL after kill -9 of its users, its keeper or itself."""

from __future__ import annotations

import os
import signal
import subprocess

import psutil
import pytest

from repository_site.core.embedded_postgres import (
    EmbeddedPostgres,
    EmbeddedPostgresError,
    accounts,
    file_locks,
    keeper,
)
from repository_site.core.embedded_postgres.paths import SOCKET_NAME, ServerPaths
from tests.repository_site.embedded_postgres.server_processes import (
    PATIENCE,
    Users,
    assert_gone,
    keeper_process,
    kill,
    leave,
    postmaster_pid,
    wait_for,
    works,
)
from tests.scale import IS_FULL, only_at_full_scale

pytestmark = pytest.mark.long


def test_kill_of_the_only_user_stops_the_server(server: EmbeddedPostgres, users: Users) -> None:
    kill(users.start(server.data_dir))
    assert_gone(server)


@only_at_full_scale
def test_kill_of_the_starter_while_the_server_starts(server: EmbeddedPostgres, users: Users) -> None:
    process = users.begin(server.data_dir)
    wait_for(lambda: file_locks.is_held(ServerPaths(server.data_dir).server_lock))
    kill(process)
    assert_gone(server)


def test_a_killed_keeper_is_replaced_before_the_next_connection(server: EmbeddedPostgres) -> None:
    server.ensure_running()
    pid = postmaster_pid(server)
    kill(keeper_process(server))
    server.ensure_running()
    assert keeper_process(server).is_running()
    assert postmaster_pid(server) == pid
    kill(keeper_process(server))
    assert server.release(wait=PATIENCE), "release did not replace the keeper"
    assert_gone(server)


@only_at_full_scale
def test_a_killed_keeper_is_replaced_when_the_last_user_exits(server: EmbeddedPostgres, users: Users) -> None:
    process = users.start(server.data_dir)
    kill(keeper_process(server))
    leave(process)
    assert_gone(server)


def test_a_killed_postmaster_is_replaced_before_the_next_connection(server: EmbeddedPostgres) -> None:
    server.ensure_running()
    pid = postmaster_pid(server)
    kill(psutil.Process(pid))
    server.ensure_running()
    assert works(server)
    assert postmaster_pid(server) != pid
    assert server.release(wait=PATIENCE)
    assert_gone(server)


@pytest.mark.parametrize("survivor", ["nobody", "postmaster", "keeper"] if IS_FULL else ["nobody"])
def test_kill_of_all_at_once(server: EmbeddedPostgres, users: Users, survivor: str) -> None:
    process = users.start(server.data_dir)
    others = {"postmaster": psutil.Process(postmaster_pid(server)), "keeper": keeper_process(server)}
    others.pop(survivor, None)
    kill(process, *others.values())
    server.ensure_running()
    assert works(server)
    assert keeper_process(server).is_running()
    assert server.release(wait=PATIENCE)
    assert_gone(server)


@only_at_full_scale
def test_stale_pid_files_that_name_a_foreign_process(server: EmbeddedPostgres, users: Users) -> None:
    server.ensure_running()
    assert server.release(wait=PATIENCE)
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        owner = server.data_dir.stat()
        accounts.private_folder(server.socket_dir, accounts.Account(owner.st_uid, owner.st_gid))
        content = f"{stranger.pid}\n{server.data_dir}\n1700000000\n5432\n{server.socket_dir}\n\n  1 2\nready   \n"
        for path in (server.data_dir / "postmaster.pid", server.socket_dir / f"{SOCKET_NAME}.lock"):
            path.write_text(content)
            os.chown(path, owner.st_uid, owner.st_gid)
        assert not server.status().running
        server.ensure_running()
        assert works(server)
        assert stranger.poll() is None
    finally:
        kill(psutil.Process(stranger.pid))
        stranger.wait(timeout=PATIENCE)
    assert server.release(wait=PATIENCE)
    assert_gone(server)


@only_at_full_scale
def test_a_server_started_by_hand_is_left_alone(server: EmbeddedPostgres) -> None:
    server.ensure_running()
    pid = postmaster_pid(server)
    ServerPaths(server.data_dir).server_lock.unlink()  # what a server is like that did not inherit the lock
    with pytest.raises(EmbeddedPostgresError, match=f"started by hand .pid {pid}.*kill -INT {pid}"):
        server.ensure_running()
    assert psutil.pid_exists(pid)
    os.kill(pid, signal.SIGINT)
    wait_for(lambda: not (server.data_dir / "postmaster.pid").exists())


@only_at_full_scale
def test_a_server_that_hangs_is_stopped(server: EmbeddedPostgres) -> None:
    server.ensure_running()
    os.kill(postmaster_pid(server), signal.SIGSTOP)
    steps = ((signal.SIGINT, 0.2), (signal.SIGQUIT, 0.2), (signal.SIGKILL, PATIENCE))
    assert keeper.stop_server(ServerPaths(server.data_dir), steps)
    server.ensure_running()
    assert works(server)
    assert server.release(wait=PATIENCE)
    assert_gone(server)
