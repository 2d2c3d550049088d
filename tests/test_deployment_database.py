"""docs/how-to/deploy.md with an external PostgreSQL: its SQL file, a dump, and the way back from it.

The commands are those of the page. The server is the embedded one, without what it makes for us, and asks for passwords.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from repository_site.core.embedded_postgres import EmbeddedPostgres
from repository_site.core.embedded_postgres.server import SUPERUSER, programs
from repository_site.core.environment import PROJECT_DIR
from tests.server_process import DataFolders, Server

pytestmark = [pytest.mark.server, pytest.mark.long]
PAGES = (PROJECT_DIR / "docs/how-to/deploy.md", PROJECT_DIR / "docs/how-to/back-up.md")
BLOCK = re.compile(r"^```sh elsewhere\n(.*?)^```$", re.DOTALL | re.MULTILINE)
AS_SUPERUSER = "runuser -u postgres -- "
PASSWORDS = {"repository": "one of ours", "repository_backup": "it's another"}


@dataclass(frozen=True, slots=True)
class ForeignServer:
    server: Server
    folder: Path
    """An external server, with an environment for the commands of the page."""

    @property
    def socket_dir(self) -> Path:
        return EmbeddedPostgres(self.server.data_dir / "postgres").socket_dir

    def run(self, command: str, *more: str) -> subprocess.CompletedProcess[str]:
        words = shlex.split(command.removeprefix(AS_SUPERUSER).replace("127.0.0.1", str(self.socket_dir)))
        return subprocess.run(
            [str(programs() / words[0]), *more, *words[1:]],
            cwd=self.folder, capture_output=True, text=True, timeout=60, check=False,
            env={
                **os.environ,
                "PGHOST": str(self.socket_dir),
                "PGUSER": SUPERUSER,
                "PGPASSFILE": str(self.folder / "passwords"),
            },
        )  # fmt: skip

    def do(self, command: str, *more: str) -> str:
        result = self.run(command, *more)
        assert result.returncode == 0, result.stderr
        return result.stdout


def documented(start: str) -> str:
    """Return the command of the page that starts with a text."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    lines = "\n".join(BLOCK.findall(text)).replace("\\\n", " ").splitlines()
    (found,) = {line for line in lines if line.startswith(start) and "..." not in line}
    return found


@pytest.fixture(scope="module")
def foreign_server(tmp_path_factory: pytest.TempPathFactory, data_folders: DataFolders) -> Iterator[ForeignServer]:
    """A server with the tables of an installation in the database `made_before`, without our roles and database."""
    folder = tmp_path_factory.mktemp("foreign")
    found = ForeignServer(Server(folder / "var", 0), folder)
    data_folders.copy(found.server.data_dir, "migrate")
    postgres = EmbeddedPostgres(found.server.data_dir / "postgres")
    postgres.ensure_running()
    try:
        found.do(
            "psql -c 'ALTER DATABASE repository RENAME TO made_before' -c 'ALTER ROLE repository RENAME TO other' postgres"
        )
        access = postgres.data_dir / "pg_hba.conf"
        trusted = access.read_text(encoding="utf-8")
        access.write_text(f"local all {','.join(PASSWORDS)} scram-sha-256\n{trusted}", encoding="utf-8")
        found.do("psql -c 'SELECT pg_reload_conf()' postgres")
        kept = folder / "passwords"
        kept.write_text("".join(f"*:*:*:{role}:{password}\n" for role, password in PASSWORDS.items()))
        kept.chmod(0o600)
        yield found
    finally:
        postgres.release(wait=20)
    found.server.wait_until_nothing_is_left()


def test_a_foreign_database_is_left_alone(foreign_server: ForeignServer) -> None:
    """The name may be taken: the file must not lock the owner out of that database."""
    foreign_server.do("psql -c 'CREATE DATABASE repository OWNER other' postgres")
    make = documented(f"{AS_SUPERUSER}psql -f").replace("docs/", f"{PROJECT_DIR}/docs/")
    result = foreign_server.run(make, "--set=password=x", "--set=backup_password=y")
    assert result.returncode == 3
    assert result.stderr.splitlines()[-1].endswith('ERROR:  database "repository" already exists')
    assert (
        foreign_server.do(
            "psql -At -c \"SELECT datacl IS NULL FROM pg_database WHERE datname = 'repository'\" postgres"
        )
        == "t\n"
    )
    foreign_server.do("psql -c 'DROP DATABASE repository' -c 'DROP ROLE repository, repository_backup' postgres")


def test_the_file_the_dump_and_the_way_back(foreign_server: ForeignServer) -> None:
    make = documented(f"{AS_SUPERUSER}psql -f").replace("docs/", f"{PROJECT_DIR}/docs/")
    passwords = [
        f"--set={name}={PASSWORDS[role]}"
        for name, role in (("password", "repository"), ("backup_password", "repository_backup"))
    ]
    foreign_server.do(make, *passwords)
    # Uses the existing tables instead of filling our own: the role may read all of them.
    foreign_server.do(f"{documented('pg_dump ').removesuffix(' repository')} made_before")
    foreign_server.do(documented(f"{AS_SUPERUSER}psql -v"))
    foreign_server.do(documented("pg_restore "))
    foreign_server.server.environ |= {
        "DATABASE_URL": f"postgresql://repository@/repository?host={foreign_server.socket_dir}",
        "PGPASSFILE": str(foreign_server.folder / "passwords"),
    }
    looked = foreign_server.server.manage("doctor")
    assert looked.returncode == 0, looked.stdout + looked.stderr
    assert "repository is neither superuser nor BYPASSRLS and owns its tables" in looked.stdout
    rights = "SELECT rolname, has_database_privilege(rolname, 'repository', 'CONNECT') FROM pg_roles WHERE rolname IN ('other', 'repository_backup') ORDER BY 1"
    assert foreign_server.do(f'psql -At -c "{rights}" postgres').split() == ["other|f", "repository_backup|t"]
