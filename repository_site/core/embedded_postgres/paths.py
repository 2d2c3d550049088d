"""The files and folders of the embedded PostgreSQL.

All of them follow from the data folder, so the settings can name the socket folder before a server runs.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROLE = "repository"
DATABASE = "repository"
PORT = 5432  # names the socket file only; the server listens on no network address
SOCKET_NAME = f".s.PGSQL.{PORT}"
# sockaddr_un holds 108 bytes on Linux and 104 on macOS, one of which is the closing zero.
SOCKET_PATH_LIMIT = 107 if sys.platform == "linux" else 103


class EmbeddedPostgresError(RuntimeError):
    """The embedded server cannot be used; the message is one line and says what to do next."""


class ServerPaths:
    """The paths of one data folder, which must be absolute and free of symbolic links."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.run_dir = data_dir.with_name(data_dir.name + ".run")
        # LOCK_SH: a lease of each user; LOCK_EX: the keeper, while it stops the server.
        self.users_lock = self.run_dir / "users.lock"
        # LOCK_EX: the process that creates, starts or repairs the server.
        self.start_lock = self.run_dir / "start.lock"
        # LOCK_EX: the keeper, as long as it runs.
        self.keeper_lock = self.run_dir / "keeper.lock"
        # LOCK_EX: inherited by the postmaster and its children, so it is held until the last of them has ended.
        self.server_lock = self.run_dir / "server.lock"
        # Names the server run whose role and database were checked.
        self.provisioned = self.run_dir / "provisioned"
        self.log_file = self.run_dir / "server.log"
        self.config_file = self.run_dir / "postgresql.conf"
        self.pid_file = data_dir / "postmaster.pid"

    @property
    def socket_dir(self) -> Path:
        near = self.run_dir / "socket"
        # libpq reads a comma as a list of hosts, and the other characters would need quoting in the configuration.
        plain = not set(str(near)) & set(",'\"\\\n")
        if plain and len(os.fsencode(near / SOCKET_NAME)) <= SOCKET_PATH_LIMIT:
            return near
        from hashlib import sha256  # loads OpenSSL, which the keeper does not need

        # Not tempfile.gettempdir(): processes with another TMPDIR would look for the socket elsewhere. A folder that
        # already exists under this name is checked before use.
        digest = sha256(os.fsencode(self.data_dir)).hexdigest()[:16]
        return Path("/tmp") / f"repository-db-{os.geteuid()}-{digest}"  # noqa: S108
