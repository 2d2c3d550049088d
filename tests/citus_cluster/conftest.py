"""Clusters without an installation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.citus import CitusCluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CitusCluster]:
    """Nodes that are not joined yet: the coordinator is a PostgreSQL server without Citus."""
    found = CitusCluster(tmp_path_factory.mktemp("apart"))
    try:
        found.start_apart()
        yield found
    finally:
        found.stop()
