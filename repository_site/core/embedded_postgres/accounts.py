"""The account that the server runs as.

PostgreSQL refuses to run as root. Root therefore uses a system account and gives it just enough access to the folders;
other users run the server as themselves.
"""

from __future__ import annotations

import fcntl
import logging
import os
import pwd
import shutil
import stat
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from . import file_locks
from .paths import EmbeddedPostgresError, ServerPaths

SYSTEM_ACCOUNT = "repository-db"
FALLBACK_ACCOUNT = "nobody"

logger = logging.getLogger(__name__)


class Account(NamedTuple):
    uid: int
    gid: int


def server_account(paths: ServerPaths) -> Account:
    if os.geteuid() != 0:
        if name_of(os.geteuid()) is None:
            raise EmbeddedPostgresError(
                f"PostgreSQL does not run as uid {os.geteuid()}, which has no name: add it to /etc/passwd,"
                " run as another user, or set DATABASE_URL."
            )
        return Account(os.geteuid(), os.getegid())
    try:
        # A folder that belongs to the fallback account stays with it, even if useradd becomes available later.
        owner = paths.data_dir.stat().st_uid
        name = FALLBACK_ACCOUNT if owner == pwd.getpwnam(FALLBACK_ACCOUNT).pw_uid else SYSTEM_ACCOUNT
    except (FileNotFoundError, KeyError):
        name = SYSTEM_ACCOUNT
    entry = _find(name) or _create_system_account() or _find(FALLBACK_ACCOUNT)
    if entry is None:
        raise EmbeddedPostgresError(
            f"PostgreSQL does not run as root and the account {SYSTEM_ACCOUNT} could not be created:"
            " create it, run as an ordinary user, or set DATABASE_URL."
        )
    return entry


def _find(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(entry.pw_uid, entry.pw_gid)


def _create_system_account() -> Account | None:
    # Sessions of root may lack the sbin folders in their PATH.
    useradd = shutil.which("useradd", path=os.pathsep.join((os.defpath, "/usr/sbin", "/sbin")))
    if useradd is None:
        return None
    command = [useradd, "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", SYSTEM_ACCOUNT]
    # Two useradd at the same time, for two data folders, can both succeed, and the second changes the uid. Any user
    # could hold this lock, so we wait for it, but not for ever.
    turn = os.open("/etc", os.O_RDONLY)
    try:
        for _ in range(100):
            if file_locks.try_lock(turn, fcntl.LOCK_EX):
                break
            time.sleep(0.1)
        if (account := _find(SYSTEM_ACCOUNT)) is not None:
            return account
        result = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
        )
    finally:
        os.close(turn)
    if result.returncode == 0:
        logger.info("created the system account %s for the embedded PostgreSQL", SYSTEM_ACCOUNT)
    else:
        logger.warning("useradd could not create %s: %s", SYSTEM_ACCOUNT, result.stderr.strip())
    return _find(SYSTEM_ACCOUNT)


def name_of(uid: int) -> str | None:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None


def call(uid: int) -> str:
    return name_of(uid) or f"uid {uid}"


def check_owner(paths: ServerPaths, path: Path, uid: int) -> None:
    """Refuse a folder of another user at once, with a better message than that of PostgreSQL."""
    try:
        owner = path.stat().st_uid
        if owner == uid or (owner == os.geteuid() and not any(path.iterdir())):
            return  # an empty folder of our own gets replaced
        # The run folder belongs to the user, even if that is root and the data belongs to the system account.
        user = paths.run_dir.stat().st_uid if paths.run_dir.exists() else owner
    except FileNotFoundError:
        return
    except PermissionError as error:
        raise EmbeddedPostgresError(
            f"{call(os.geteuid())} may not enter {path.parent}: run as the user who owns it,"
            " choose another data folder, or set DATABASE_URL."
        ) from error
    advice = f"run as {call(user)}" if user != os.geteuid() else f"run chown -R {call(uid)} {path}"
    raise EmbeddedPostgresError(
        f"{path} belongs to {call(owner)} and cannot be used by {call(os.geteuid())}: {advice},"
        f" move {paths.data_dir} and {paths.run_dir.name} away to begin with an empty database,"
        " or set DATABASE_URL."
    )


def private_folder(path: Path, account: Account, mode: int = 0o700) -> None:
    """Create a folder that only the account can write to, or check that an existing one is such a folder.

    In a folder that others can write to (/tmp), they could have put a link or a folder under this name. A correct
    folder is not touched: a running server would notice a moment without access.
    """
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        pass
    status = path.lstat()
    if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and (status.st_uid, status.st_gid) != account:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)
        status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != account.uid or status.st_mode & 0o022:
        raise EmbeddedPostgresError(
            f"{path} is not a folder that only {call(account.uid)} can write to, so locks and the database socket"
            " would not be safe there: remove it and try again."
        )
    if stat.S_IMODE(status.st_mode) != mode:
        path.chmod(mode)


def open_run_folder(paths: ServerPaths) -> None:
    """Create the folder of the locks, which belongs to the user. Called before any lock is taken."""
    check_owner(paths, paths.run_dir, os.geteuid())
    if os.geteuid() != 0:
        check_owner(paths, paths.data_dir, os.geteuid())
    paths.data_dir.parent.mkdir(parents=True, exist_ok=True)
    try:
        paths.run_dir.mkdir(mode=0o700)
    except FileExistsError:
        pass


def admit(paths: ServerPaths, account: Account) -> None:
    """Let the system account, if there is one, pass through the run folder to its socket, but not write there."""
    check_owner(paths, paths.data_dir, account.uid)
    mode = 0o700 if account.uid == os.geteuid() else 0o710
    private_folder(paths.run_dir, Account(os.geteuid(), account.gid), mode)


def let_through(account: Account, *paths: Path) -> None:
    """Let the account reach the paths: set the search bit of each parent folder that it cannot search."""
    if account.uid == os.geteuid():
        return
    for folder in sorted({folder for path in paths for folder in path.parents}):
        status = folder.stat()
        mine = status.st_uid == account.uid and status.st_mode & stat.S_IXUSR
        ours = status.st_gid == account.gid and status.st_mode & stat.S_IXGRP
        if not (mine or ours or status.st_mode & stat.S_IXOTH):
            folder.chmod(stat.S_IMODE(status.st_mode) | stat.S_IXOTH)
            logger.warning("chmod o+x %s: the account of the embedded PostgreSQL has to pass through", folder)


def make_readable(account: Account, *trees: Path) -> None:
    """Let the account run programs that were installed with a umask such as 077."""
    if account.uid == os.geteuid():
        return
    for tree in trees:
        for parent, _, files in os.walk(tree):
            for path in (Path(parent), *(Path(parent, name) for name in files)):
                mode = path.lstat().st_mode
                # Others may read and run what the owner may read and run.
                wanted = mode | (mode & (stat.S_IRUSR | stat.S_IXUSR)) >> 6
                if wanted != mode and not stat.S_ISLNK(mode):
                    path.chmod(stat.S_IMODE(wanted))


def run_as(
    account: Account,
    command: list[str],
    *,
    seconds: float,
    text: str = "",
    output: int = subprocess.PIPE,
    keep_open: tuple[int, ...] = (),
) -> subprocess.CompletedProcess[str]:
    """Run a program of the PostgreSQL installation as the account, away from the terminal and its Ctrl-C."""
    switch = account.uid != os.geteuid()
    return subprocess.run(
        command,
        input=text,
        stdout=output,
        stderr=subprocess.STDOUT,
        pass_fds=keep_open,
        timeout=seconds,
        check=False,
        text=True,
        errors="replace",
        cwd="/",  # the account may not be able to enter the folder that we are in
        # The PG* variables of the user name another server, and the language would change the messages.
        env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
        umask=0o077,
        start_new_session=True,
        user=account.uid if switch else None,
        group=account.gid if switch else None,
        extra_groups=[] if switch else None,
    )
