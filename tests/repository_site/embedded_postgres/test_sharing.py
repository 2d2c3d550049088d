"""Start of the embedded PostgreSQL, and its end after the last process that uses it."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import psycopg
import pytest

from repository_site.core.embedded_postgres import (
    EmbeddedPostgres,
)
from tests.repository_site.embedded_postgres.server_processes import (
    PATIENCE,
    USER,
    Users,
    answer,
    assert_gone,
    keeper_process,
    kill,
    leave,
    postmaster_pid,
    processes_in,
    query,
    wait_for,
    works,
)
from tests.scale import only_at_full_scale

pytestmark = pytest.mark.long


def test_the_first_start_creates_a_database_for_an_ordinary_role(folder: Path) -> None:
    server = EmbeddedPostgres(folder / "var" / "postgres")
    begin = time.monotonic()
    server.ensure_running()
    assert time.monotonic() - begin < PATIENCE
    role = "SELECT rolcanlogin, rolcreatedb, rolsuper, rolbypassrls, rolcreaterole, rolreplication FROM pg_roles"
    assert query(server, f"{role} WHERE rolname = current_user") == (True, True, False, False, False, False)
    database = "SELECT datdba::regrole::text, pg_encoding_to_char(encoding), datlocprovider::text, datlocale"
    assert query(server, f"{database} FROM pg_database WHERE datname = current_database()") == (
        "repository", "UTF8", "b", "C.UTF-8",
    )  # fmt: skip
    names = ("listen_addresses", "max_connections", "fsync", "TimeZone", "unix_socket_directories")
    values = ", ".join(f"current_setting('{name}')" for name in names)
    assert query(server, f"SELECT {values}", "postgres") == ("", "200", "on", "UTC", str(server.socket_dir))
    assert server.data_dir.stat().st_mode & 0o777 == 0o700
    assert server.socket_dir.stat().st_mode & 0o777 == 0o700
    assert server.release(wait=PATIENCE)
    assert_gone(server)


@only_at_full_scale
def test_eight_processes_start_at_once_on_an_empty_folder(folder: Path, users: Users) -> None:
    server = EmbeddedPostgres(folder / "postgres")
    started = [users.begin(server.data_dir) for _ in range(8)]
    assert len({answer(process) for process in started}) == 1
    assert server.status().users in (8, None)
    assert works(server)
    assert len([process for process in processes_in(server.data_dir) if "keep" in process.cmdline()]) == 1
    for process in started:
        leave(process)
    assert_gone(server)
    assert sorted(path.name for path in folder.iterdir()) == ["postgres", "postgres.run"]


@only_at_full_scale
def test_threads_start_one_server(server: EmbeddedPostgres) -> None:
    threads = [threading.Thread(target=server.ensure_running) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert works(server)
    assert server.status().users in (1, None)
    assert server.release(wait=PATIENCE)
    assert_gone(server)


def test_kill_during_initdb_leaves_no_partial_database(folder: Path, users: Users) -> None:
    server = EmbeddedPostgres(folder / "postgres")
    process = users.begin(server.data_dir)
    wait_for(lambda: any(folder.glob(".postgres.new-*/global")))
    kill(process)
    assert not server.data_dir.exists()
    server.ensure_running()
    assert works(server)
    assert server.release(wait=PATIENCE)
    assert_gone(server)
    assert sorted(path.name for path in folder.iterdir()) == ["postgres", "postgres.run"]


@only_at_full_scale
def test_missing_role_and_database_are_created_at_the_next_start(server: EmbeddedPostgres) -> None:
    server.ensure_running()
    with psycopg.connect(host=str(server.socket_dir), user="postgres", autocommit=True) as connection:
        connection.execute("DROP DATABASE repository")
        connection.execute("DROP ROLE repository")
    assert server.release(wait=PATIENCE)
    server.ensure_running()
    assert works(server)


def test_processes_share_the_server_and_the_last_one_stops_it(server: EmbeddedPostgres, users: Users) -> None:
    first, second = users.begin(server.data_dir), users.begin(server.data_dir)
    assert answer(first) == answer(second) == str(postmaster_pid(server))
    leave(first)
    time.sleep(0.3)
    assert works(server)
    leave(second)
    assert_gone(server)


@only_at_full_scale
def test_release_waits_for_the_server_unless_others_use_it(server: EmbeddedPostgres, users: Users) -> None:
    server.ensure_running()
    other = users.start(server.data_dir)
    begin = time.monotonic()
    assert not server.release(wait=PATIENCE)
    assert time.monotonic() - begin < PATIENCE / 2
    assert works(server)
    leave(other)
    assert server.release(wait=PATIENCE)
    assert not processes_in(server.data_dir)
    assert_gone(server)


@only_at_full_scale
def test_a_process_that_comes_during_the_stop_waits_and_starts_it_again(server: EmbeddedPostgres) -> None:
    pids: set[int] = set()
    pause = 0.0
    while len(pids) < 3:  # at first the newcomer is faster than the keeper, then it comes in the middle of the stop
        assert pause < 10
        server.ensure_running()
        assert works(server)
        assert keeper_process(server).is_running()
        pids.add(postmaster_pid(server))
        server.release()
        time.sleep(pause)
        pause = 1.1 * pause + 0.01
    assert server.release(wait=PATIENCE)
    assert_gone(server)


@only_at_full_scale
def test_terminal_signals_do_not_reach_server_and_keeper(server: EmbeddedPostgres) -> None:
    server.ensure_running()
    kept_by = keeper_process(server)
    assert os.getsid(0) not in (os.getsid(postmaster_pid(server)), os.getsid(kept_by.pid))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        kept_by.send_signal(number)
    time.sleep(0.2)
    assert keeper_process(server) == kept_by
    assert server.release(wait=PATIENCE)
    assert_gone(server)


FORK = """
import os, sys
from pathlib import Path
from repository_site.core.embedded_postgres import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]))
server.ensure_running()
sys.stdout.flush()
if os.fork():
    ON_PARENT
ON_CHILD
"""


@only_at_full_scale
def test_a_forked_child_keeps_the_server_when_the_parent_ends(server: EmbeddedPostgres, users: Users) -> None:
    child = "server.ensure_running(); print(os.getpid(), flush=True); sys.stdin.read(); os._exit(0)"
    code = FORK.replace("ON_PARENT", "server.release(); os._exit(0)").replace("ON_CHILD", child)
    process = users.start(server.data_dir, code)
    process.wait(timeout=PATIENCE)
    time.sleep(0.3)
    assert works(server)
    process.communicate(timeout=PATIENCE)  # closes the input that the child reads
    assert_gone(server)


@only_at_full_scale
def test_release_in_a_forked_child_leaves_the_lease_of_the_parent(server: EmbeddedPostgres, users: Users) -> None:
    parent = "os.wait(); print('released', flush=True); sys.stdin.read(); sys.exit()"
    code = FORK.replace("ON_PARENT", parent).replace("ON_CHILD", "os._exit(server.release(wait=10))")
    process = users.start(server.data_dir, code)
    time.sleep(0.3)
    assert works(server)
    leave(process)
    assert_gone(server)


@only_at_full_scale
def test_a_lease_whose_descriptor_was_closed_by_others_is_renewed(server: EmbeddedPostgres, users: Users) -> None:
    code = USER.replace("print(", "import os; os.closerange(3, 100); server.ensure_running(); print(")
    process = users.start(server.data_dir, code)
    time.sleep(0.3)
    assert works(server)
    leave(process)
    assert_gone(server)
