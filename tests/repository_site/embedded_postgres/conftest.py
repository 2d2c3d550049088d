"""Folders and servers for the tests of the embedded PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from repository_site.core.embedded_postgres import (
    EmbeddedPostgres,
)
from tests.repository_site.embedded_postgres.server_processes import (
    PATIENCE,
    Users,
    end_processes_in,
    make_folder,
    remove_folder,
)


@pytest.fixture
def users() -> Iterator[Users]:
    users = Users()
    yield users
    users.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    folder = make_folder()
    yield folder
    remove_folder(folder)


@pytest.fixture(scope="session")
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
    """The same stopped server for all tests; each of them leaves it stopped."""
    yield used
    used.release(wait=PATIENCE)
    end_processes_in(used.data_dir.parent)
