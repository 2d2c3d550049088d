"""One installation for all faults of a test process. Each test leaves it intact."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.installation import Installation
from tests.server_process import DataFolders


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory, data_folders: DataFolders) -> Iterator[Installation]:
    found = Installation(tmp_path_factory.mktemp("faults"))
    data_folders.copy(found.server.data_dir, "migrate")
    try:
        found.serve()
        found.fill()
        yield found
    finally:
        found.end()
