"""The embedded PostgreSQL with real servers: shared, stopped after the last user, and mended after kill -9."""

from __future__ import annotations

import fcntl
import logging
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import psutil
import psycopg
import pytest

from repository_site.core.embedded_postgres import (
    EmbeddedPostgres,
    EmbeddedPostgresError,
    accounts,
    keeper,
    locks,
    state,
)
from repository_site.core.embedded_postgres.layout import SOCKET_NAME, SOCKET_PATH_LIMIT, Layout
from tests.scale import IS_FULL, only_at_full_scale

PROJECT = Path(__file__).parents[2]
PATIENCE = 20.0
pytestmark = pytest.mark.long
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as another account")

# A user of the server that stays until its standard input is closed.
USER = """
import sys
from pathlib import Path
from repository_site.embedded_postgres import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]))
server.ensure_running()
print(server.status().pid, flush=True)
sys.stdin.read()
"""


class Users:
    """Starts user processes, and ends all of them after the test."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[str]] = []

    def begin(
        self, data_dir: Path, code: str = USER, python: str = sys.executable, uid: int | None = None
    ) -> subprocess.Popen[str]:
        packages = {str(Path(str(find_spec(name).origin)).parents[1]) for name in ("psutil", "psycopg")}  # type: ignore[union-attr]
        process = subprocess.Popen(
            [python, "-c", code, str(data_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PROJECT), *packages])},
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        )
        self.processes.append(process)
        return process

    def start(self, data_dir: Path, code: str = USER) -> subprocess.Popen[str]:
        process = self.begin(data_dir, code)
        answer(process)
        return process

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate(timeout=PATIENCE)


def answer(process: subprocess.Popen[str]) -> str:
    """The next line that a user process prints."""
    assert process.stdout is not None
    assert process.stderr is not None
    line: str = process.stdout.readline().strip()
    assert line, process.stderr.read()
    return line


def leave(process: subprocess.Popen[str]) -> None:
    """Let a user process end by itself."""
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


@pytest.fixture
def users() -> Iterator[Users]:
    users = Users()
    yield users
    users.close()


def make_folder() -> Path:
    # Not tmp_path: its name is too long for a socket beside the data, and another pytest that starts at the same
    # time takes the search bits from the folders above it.
    return Path(tempfile.mkdtemp(prefix="epg-")).resolve()


def end_processes_in(folder: Path) -> None:
    """What a failed test left running; the children of a killed postmaster end by themselves."""
    for process in processes_in(folder):
        process.kill()
    for lock in folder.rglob("server.lock"):
        wait_for(lambda lock=lock: not locks.is_held(lock))  # type: ignore[misc]


def remove_folder(folder: Path) -> None:
    end_processes_in(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def folder() -> Iterator[Path]:
    folder = make_folder()
    yield folder
    remove_folder(folder)


@pytest.fixture(scope="module")
def used() -> Iterator[EmbeddedPostgres]:
    """A server that was used before: initdb takes most of the time of a first start."""
    folder = make_folder()
    server = EmbeddedPostgres(folder / "postgres")
    server.ensure_running()
    assert server.release(wait=PATIENCE)
    yield server
    remove_folder(folder)


@pytest.fixture
def server(used: EmbeddedPostgres) -> Iterator[EmbeddedPostgres]:
    """The same server for all tests that leave it as it was, which is stopped."""
    yield used
    used.release(wait=PATIENCE)
    end_processes_in(used.data_dir.parent)


def copy(server: EmbeddedPostgres, data_dir: Path) -> EmbeddedPostgres:
    subprocess.run(["cp", "-a", str(server.data_dir), str(data_dir)], check=True, timeout=PATIENCE)
    return EmbeddedPostgres(data_dir)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def processes_in(folder: Path) -> list[psutil.Process]:
    """Living processes other than this one with the folder in their command line."""
    found = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline() if process.status() != psutil.STATUS_ZOMBIE else []
        except psutil.Error:
            continue
        if process.pid != os.getpid() and any(str(folder) in word for word in words):
            found.append(process)
    return found


def assert_gone(server: EmbeddedPostgres) -> None:
    """Postmaster, its children and the keeper end by themselves."""
    wait_for(lambda: not locks.is_held(Layout(server.data_dir).server_lock))
    wait_for(lambda: not processes_in(server.data_dir))
    assert state.read_postmaster(Layout(server.data_dir)) is None, "not shut down in order"


def postmaster_pid(server: EmbeddedPostgres) -> int:
    pid = server.status().pid
    assert pid is not None
    return pid


def keeper_process(server: EmbeddedPostgres) -> psutil.Process:
    (found,) = [process for process in processes_in(server.data_dir) if "keep" in process.cmdline()]
    return found


def kill(*processes: psutil.Process | subprocess.Popen[str]) -> None:
    for process in processes:
        process.kill()
    for process in processes:
        if isinstance(process, psutil.Process):  # a zombie for as long as its parent likes
            wait_for(lambda p=process: not p.is_running() or p.status() == psutil.STATUS_ZOMBIE)  # type: ignore[misc]
        else:
            process.wait(timeout=PATIENCE)


def query(server: EmbeddedPostgres, statement: str, user: str = EmbeddedPostgres.ROLE) -> tuple[object, ...]:
    with psycopg.connect(
        host=str(server.socket_dir), port=server.PORT, user=user, dbname=server.DATABASE, connect_timeout=10
    ) as connection:
        row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return tuple(row)


def works(server: EmbeddedPostgres) -> bool:
    return query(server, "SELECT 1") == (1,)


# First start


def test_first_start_makes_a_database_of_an_ordinary_role(folder: Path) -> None:
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


def test_kill_during_initdb_leaves_nothing_half_made(folder: Path, users: Users) -> None:
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
def test_missing_role_and_database_are_made_at_the_next_start(server: EmbeddedPostgres) -> None:
    server.ensure_running()
    with psycopg.connect(host=str(server.socket_dir), user="postgres", autocommit=True) as connection:
        connection.execute("DROP DATABASE repository")
        connection.execute("DROP ROLE repository")
    assert server.release(wait=PATIENCE)
    server.ensure_running()
    assert works(server)


# Sharing and the end


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
    assert time.monotonic() - begin < 5
    assert works(server)
    leave(other)
    assert server.release(wait=PATIENCE)
    assert not processes_in(server.data_dir)
    assert_gone(server)


@only_at_full_scale
def test_a_newcomer_during_the_stop_waits_and_starts_anew(server: EmbeddedPostgres) -> None:
    pids: set[int] = set()
    pause = 0.0
    while len(pids) < 3:  # at first the newcomer is faster than the keeper, then it comes in the middle of the stop
        assert pause < 1
        server.ensure_running()
        assert works(server)
        assert keeper_process(server).is_running()
        pids.add(postmaster_pid(server))
        server.release()
        time.sleep(pause)
        pause += 0.01
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
from repository_site.embedded_postgres import EmbeddedPostgres
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


# kill -9


def test_kill_of_the_only_user_stops_the_server(server: EmbeddedPostgres, users: Users) -> None:
    kill(users.start(server.data_dir))
    assert_gone(server)


@only_at_full_scale
def test_kill_of_the_starter_while_the_server_starts(server: EmbeddedPostgres, users: Users) -> None:
    process = users.begin(server.data_dir)
    wait_for(lambda: locks.is_held(Layout(server.data_dir).server_lock))
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
    Layout(server.data_dir).server_lock.unlink()  # what a server is like that did not inherit the lock
    with pytest.raises(EmbeddedPostgresError, match=f"started by hand .pid {pid}.*kill -INT {pid}"):
        server.ensure_running()
    assert psutil.pid_exists(pid)
    os.kill(pid, signal.SIGINT)
    wait_for(lambda: not (server.data_dir / "postmaster.pid").exists())


@only_at_full_scale
def test_a_server_that_hangs_is_stopped_all_the_same(server: EmbeddedPostgres) -> None:
    server.ensure_running()
    os.kill(postmaster_pid(server), signal.SIGSTOP)
    steps = ((signal.SIGINT, 0.2), (signal.SIGQUIT, 0.2), (signal.SIGKILL, PATIENCE))
    assert keeper.stop_server(Layout(server.data_dir), steps)
    server.ensure_running()
    assert works(server)
    assert server.release(wait=PATIENCE)
    assert_gone(server)


# Folders, accounts and errors


def one_line(raised: pytest.ExceptionInfo[EmbeddedPostgresError]) -> str:
    message = str(raised.value)
    assert "\n" not in message
    return message


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
    with pytest.raises(EmbeddedPostgresError, match="data of PostgreSQL 16, this release needs 18") as raised:
        server.ensure_running()
    (server.data_dir / "PG_VERSION").write_text("18\n")
    one_line(raised)
    assert server.status().users in (0, None), "the lease outlived the failure"
    wait_for(lambda: not processes_in(server.data_dir))


def test_a_folder_with_other_files_is_refused(folder: Path) -> None:
    account = accounts.server_account(Layout(folder / "postgres"))
    (folder / "postgres").mkdir()
    (folder / "postgres" / "thesis.txt").touch()
    os.chown(folder / "postgres", account.uid, account.gid)
    with pytest.raises(EmbeddedPostgresError, match="has files in it but no PostgreSQL database"):
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
    layout = Layout(folder / "postgres")
    layout.run_dir.mkdir()
    writer = state.open_log(layout)
    monkeypatch.setattr(state, "LOG_LIMIT", 10)
    os.write(writer, b"more than ten bytes\n")
    state.cut_log(layout)
    os.write(writer, b"new\n")
    os.close(writer)
    assert layout.log_file.read_text() == "new\n"
    assert layout.log_file.with_name("server.log.1").read_text() == "more than ten bytes\n"
    assert state.log_tail(layout, 0) == "new"


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
    descriptor = locks.acquire(folder / "lock", fcntl.LOCK_EX, 1)
    assert not os.get_inheritable(descriptor)
    assert locks.is_held(folder / "lock")
    with pytest.raises(EmbeddedPostgresError, match="holds"):
        locks.acquire(folder / "lock", fcntl.LOCK_SH, 0.05)
    (folder / "lock").unlink()
    assert not locks.is_open_on(descriptor, folder / "lock")
    os.close(descriptor)


@as_root
def test_root_below_a_closed_folder_opens_it_for_passing_only(
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
def test_programs_installed_with_a_closed_umask_get_readable(folder: Path) -> None:
    (folder / "bin").mkdir(mode=0o700)
    (folder / "bin" / "postgres").touch(mode=0o700)
    (folder / "bin" / "share").touch(mode=0o600)
    (folder / "bin" / "link").symlink_to("nowhere")
    accounts.make_readable(accounts.Account(12345, 12345), folder / "bin", folder / "absent")
    modes = [path.stat().st_mode & 0o777 for path in (folder / "bin", folder / "bin/postgres", folder / "bin/share")]
    assert modes == [0o705, 0o705, 0o604]


def ordinary_python() -> str:
    """An interpreter that other users can run, too: the one of root may lie below /root."""
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


def test_a_user_without_a_name_is_told_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(EmbeddedPostgresError, match="uid 54321, which has no name: add it to /etc/passwd"):
        accounts.server_account(Layout(folder / "postgres"))
