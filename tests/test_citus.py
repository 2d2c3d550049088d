"""The Citus cluster of the tests: how it is found, and the check that a statement is one task."""

from __future__ import annotations

from pathlib import Path

import pytest

from repository_site.core.database.statements import engine, fetch
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.citus import FEWEST_SHARDS, SKIPPED, main
from tests.single_tasks import TaskWatch

ALL_STORAGES = "SELECT count(*) FROM storage_storagerevision"


def test_without_citus_the_run_says_that_it_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REPOSITORY_CITUS_BIN", str(tmp_path / "bin"))
    assert main([]) == 0
    assert capsys.readouterr().out == f"{SKIPPED}\n"


def test_a_statement_with_several_tasks_is_found(storage: Storage, request: pytest.FixtureRequest) -> None:
    if not engine().is_distributed:
        pytest.skip("needs a Citus cluster")
    watch: TaskWatch = request.getfixturevalue("task_watch")
    with tenant_scope(storage):
        fetch(f"{ALL_STORAGES} WHERE storage_id = %s", [storage.pk])
        assert watch.take() == []
        fetch(ALL_STORAGES)
    assert [each.partition(" [")[0] for each in watch.take()] == [f"{FEWEST_SHARDS} tasks:"]
