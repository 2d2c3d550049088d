"""The files and folders of the embedded PostgreSQL.

All of them follow from the data folder, so the settings can name the socket folder before a server runs.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROLE = "repository"
DATABASE = "repository"
PORT = 5432  # names the socket file only; the server listens on no network address
SOCKET_NAME = f".s.PGSQL.{PORT}"
# sockaddr_un holds 108 bytes on Linux and 104 on macOS, one of which is the closing zero.
SOCKET_PATH_LIMIT = 107 if sys.platform == "linux" else 103


class EmbeddedPostgresError(RuntimeError):
    """The embedded server cannot be used; the message is one line and says what to do next."""


@dataclass(frozen=True)  # no slots: cached properties live in __dict__
class ServerPaths:
    """The paths of one data folder, which must be absolute and free of symbolic links."""

    data_dir: Path

    @cached_property
    def run_dir(self) -> Path:
        return self.data_dir.with_name(self.data_dir.name + ".run")

    @cached_property
    def users_lock(self) -> Path:
        """LOCK_SH: a lease of each user; LOCK_EX: the keeper, while it stops the server."""
        return self.run_dir / "users.lock"

    @cached_property
    def start_lock(self) -> Path:
        """LOCK_EX: the process that creates, starts or repairs the server."""
        return self.run_dir / "start.lock"

    @cached_property
    def keeper_lock(self) -> Path:
        """LOCK_EX: the keeper, as long as it runs."""
        return self.run_dir / "keeper.lock"

    @cached_property
    def server_lock(self) -> Path:
        """LOCK_EX: inherited by the postmaster and its children, so it is held until the last of them has ended."""
        return self.run_dir / "server.lock"

    @cached_property
    def provisioned(self) -> Path:
        """Names the server run whose role and database were checked."""
        return self.run_dir / "provisioned"

    @cached_property
    def log_file(self) -> Path:
        return self.run_dir / "server.log"

    @cached_property
    def config_file(self) -> Path:
        return self.run_dir / "postgresql.conf"

    @cached_property
    def pid_file(self) -> Path:
        return self.data_dir / "postmaster.pid"

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
