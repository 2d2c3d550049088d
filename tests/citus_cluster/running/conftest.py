"""One cluster with an installation for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.citus_cluster.running.installation import ClusterInstallation


@pytest.fixture(scope="session")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterInstallation]:
    found = ClusterInstallation(tmp_path_factory.mktemp("cluster"))
    with found.server.warm_commands():
        try:
            found.start()
            yield found
        finally:
            found.end()
