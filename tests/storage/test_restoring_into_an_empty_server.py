"""A storage and a whole installation, restored into empty servers that respond like the old one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from repository_site.core.embedded_postgres import EmbeddedPostgres
from repository_site.core.embedded_postgres.server import SUPERUSER, programs
from tests.server_process import DataFolders, Server, free_port

pytestmark = [pytest.mark.server, pytest.mark.long]
API = "/demo/showcase/_api/rest"
KEY = "k" * 20 + "of-this-installation-and-all-that-are-restored-from-it"
PARTS = ("", "/attributes", "/children", "/content", "/history", "/info", "/lifecycle", "/related", "/versions")


class RestoringServer(Server):
    """A server with its own data folder, or with another database on the same PostgreSQL."""

    def __init__(self, folder: Path, database: str = "") -> None:
        folder.mkdir()
        super().__init__(folder / "var", free_port())
        self.environ |= {"REPOSITORY_SECRET_KEY": KEY, "REPOSITORY_TOKEN_RATE": "off", "DATABASE_URL": database}

    def run(self, *words: str) -> str:
        result = self.manage(*words)
        assert result.returncode == 0, result.stderr
        return result.stdout


def postgres(socket_dir: Path, program: str, role: str, *words: str) -> None:
    """Run the commands of the how-to."""
    command = [str(programs() / program), "--host", str(socket_dir), "--username", role, *words]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


@pytest.fixture
def old(tmp_path: Path, data_folders: DataFolders) -> Iterator[RestoringServer]:
    made = RestoringServer(tmp_path / "old")
    data_folders.copy(made.data_dir, "demo", "--no-serve")
    try:
        made.start("demo", "--workers", "1")
        yield made
    finally:
        end(made)
    made.wait_until_nothing_is_left()


def end(server: RestoringServer) -> None:
    if server.process is not None and server.process.poll() is None:
        server.ctrl_c()


def answers(server: RestoringServer, token: str) -> dict[str, Any]:
    """Return every list of every facet and the details of some elements, without the address of the server."""
    found: dict[str, Any] = {}

    def ask(address: str) -> Any:
        status, answer = server.request("GET", f"{API}{address}", headers={"Authorization": f"Bearer {token}"})
        text = json.dumps(answer).replace(f"127.0.0.1:{server.port}", "here")
        found[address] = (status, json.loads(text))
        return found[address][1]

    ask("/info")
    ask("/tasks")
    ask("/tasks/summary")
    for facet in ask("/facets")["values"]:
        views = f"/facets/{facet['name']}/views"
        view = ask(views)["values"][0]["name"]
        ask(f"{views}/{view}/config")
        listed = ask(f"{views}/{view}/elements?$resources=attributes&$page=1")["elements"]
        for element in listed[:1]:
            for part in PARTS if facet["name"] == "processes" else [""]:
                ask(f"{views}/{view}/elements/{element['id']}{part}")
    return found


def test_both_kinds_of_restore_give_the_same_responses(old: RestoringServer, tmp_path: Path) -> None:
    token = old.log.read_text().partition("API token")[2].split()[0]
    before = answers(old, token)
    assert len(before) > 40
    assert {status for status, _ in before.values()} <= {200, 404}
    assert sum(status == 200 for status, _ in before.values()) > len(before) * 0.8
    one, everything = tmp_path / "one.backup", tmp_path / "all.dump"
    socket_dir = EmbeddedPostgres(old.data_dir / "postgres").socket_dir
    old.run("backup_storage", "demo", "showcase", str(one))
    dump = ("--format=custom", "--no-owner", "--file", str(everything), "repository")
    postgres(socket_dir, "pg_dump", SUPERUSER, *dump)
    for name in ("one", "everything"):
        postgres(socket_dir, "createdb", "repository", name)
        new = RestoringServer(tmp_path / name, f"postgresql://repository@/{name}?host={socket_dir}")
        if name == "everything":
            restore = ("--no-owner", "--exit-on-error", "--single-transaction", "--dbname", name, str(everything))
            postgres(socket_dir, "pg_restore", "repository", *restore)
        try:
            # Checks role, policies and keys before it serves.
            new.start("serve", "--workers", "1")
            if name == "one":
                assert new.request("GET", f"{API}/info")[0] == 404
                new.run("restore_storage", str(one), "--with-tokens")
            assert answers(new, token) == before
        finally:
            end(new)
