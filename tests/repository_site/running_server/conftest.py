"""One server for all tests of this folder, which only send requests to it (D178)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server_process import DataFolders, Server, free_port


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, data_folders: DataFolders) -> Iterator[Server]:
    """A demo whose clients are trusted proxies, and which waits one second for a body."""
    server = Server(tmp_path_factory.mktemp("running_server") / "var", free_port())
    server.environ |= {
        "REPOSITORY_ALLOWED_HOSTS": "real.example,fake.example,127.0.0.1",
        # Enough for all tests together; one of them sends more requests than that.
        "REPOSITORY_ANONYMOUS_RATE": "1/60",
        "REPOSITORY_STREAM_TIMEOUT": "1",
        "REPOSITORY_TRUSTED_PROXIES": "127.0.0.1",
    }
    data_folders.copy(server.data_dir, "demo", "--no-serve")
    server.start("serve")
    yield server
    server.kill()
