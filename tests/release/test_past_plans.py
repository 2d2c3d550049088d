"""Plans of reads as of a time (D603, D604): statistics, and joins without loops."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from elements.models.elements import PastElementVersion
from repository_site.core.database.statements import fetch
from storage import housekeeping
from storage.backup import restoring
from storage.backup.restoring import check_backup, restore_storage
from storage.backup.writing import back_up_storage
from storage.housekeeping import update_statistics
from storage.models import Storage
from storage.options import Role
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.release.house import ID, HouseClient, one

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
DETAIL = "rest/facets/processes/views/detail/elements"
TREE = "rest/facets/processes/views/tree/elements"
LOOPS = "SET LOCAL enable_nestloop"


def sent(client: HouseClient, address: str, moment: datetime | None = None) -> list[str]:
    """Return the statements of a read."""
    if moment:
        address += f"&$asOf={moment.astimezone(UTC).isoformat().replace('+00:00', 'Z')}"
    found: list[str] = []

    def note(execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        found.append(sql % tuple(f"'{each}'" for each in parameters) if sql.startswith("SET") else sql)
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(note):
        response = client.get(address)
        assert response.status_code == 200, response.content
    return found


@pytest.mark.one_node("a distributed database plans on its nodes")
@pytest.mark.parametrize("page", ["$pageSize=2&", ""])
def test_references_of_all_elements_are_tested_without_loops(
    old_house: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    """Only while the statement that tests them is planned."""
    monkeypatch.setattr("elements.api.reading_viewset.BATCH", 2)
    client, moment = HouseClient(old_house, api, Role.ARCHITECT), timezone.now()
    one(client.update({"id": ID["inProcess"], "attributes": {"name": {"1033": "Later"}}}))
    statements = sent(client, f"{DETAIL}?{page}$filter=NOT IsNull(owner)", moment)
    [off, on] = [place for place, sql in enumerate(statements) if sql.startswith(LOOPS)]
    assert [statements[off], statements[on]] == [f"{LOOPS} = 'off'", f"{LOOPS} = 'on'"]
    [tested] = statements[off + 1 : on]
    assert ("count(*)" in tested, "elements_reference" in tested) == (True, True)
    for address, time in (
        # The planner knows the rows of today.
        (f"{DETAIL}?{page}$filter=NOT IsNull(owner)", None),
        # An index of names, or the place in the tree, leaves few elements to test.
        (f"{DETAIL}?{page}$filter=NOT IsNull(owner) AND name -eq 'order-2'", moment),
        (f"{TREE}?{page}$filter=IsNull(owner)", moment),
        (f"{DETAIL}?{page}$filter=StartsWith(purp, 'P')", moment),
    ):
        assert [sql for sql in sent(client, address, time) if sql.startswith(LOOPS)] == [], address
    assert fetch("SHOW enable_nestloop") == [("on",)]


@pytest.mark.one_node("other nodes keep the statistics of a distributed table")
def test_a_restore_updates_the_statistics(
    old_house: Storage, api: ApiClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = HouseClient(old_house, api, Role.ARCHITECT)
    for name in ("First", "Second"):
        one(client.update({"id": ID["inProcess"], "attributes": {"name": {"1033": name}}}))
    back_up_storage(old_house, tmp_path / "backup.zip")
    remove_storage(old_house)
    monkeypatch.setattr(restoring, "ANALYSED", 2)
    with CaptureQueriesContext(connection) as found:
        check_backup(tmp_path / "backup.zip")
    assert [each for each in found.captured_queries if each["sql"].startswith("ANALYZE")] == []
    with CaptureQueriesContext(connection) as found:
        restored = restore_storage(tmp_path / "backup.zip").storage
    [sql] = [each["sql"] for each in found.captured_queries if each["sql"].startswith("ANALYZE")]
    tables = set(sql.removeprefix("ANALYZE ").split(", "))
    # Tables with few rows are left out. Triggers fill the index of names.
    assert {"elements_element", "elements_reference", "elements_pastelementversion", "elements_versionname"} <= tables
    assert {"elements_pastlane", "elements_pastshape"} & tables == set()
    [(count,)] = fetch("SELECT reltuples::bigint FROM pg_class WHERE relname = 'elements_pastelementversion'")
    with tenant_scope(restored):
        assert count == PastElementVersion._default_manager.count() >= 2


@pytest.mark.one_node("other nodes count the changes of a distributed table")
def test_many_changes_update_the_statistics(
    old_house: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables of all storages are large, so that their share of changed rows is small."""

    def analysed() -> set[str]:
        with CaptureQueriesContext(connection) as found:
            update_statistics()
        texts = [each["sql"] for each in found.captured_queries]
        return {sql.removeprefix("ANALYZE ").strip('"') for sql in texts if sql.startswith("ANALYZE")}

    client = HouseClient(old_house, api, Role.ARCHITECT)
    for number in range(2):
        one(client.update({"id": ID["inProcess"], "attributes": {"name": {"1033": f"Name {number}"}}}))
    # Usually the database counts the changes of a connection with some delay.
    fetch("SELECT pg_stat_force_next_flush(), 1")
    monkeypatch.setattr(housekeeping, "STALE", 2)
    assert {"elements_elementversion", "elements_pastelementversion"} <= analysed()
    fetch("SELECT pg_stat_force_next_flush(), 1")
    assert analysed() & {"elements_elementversion", "elements_pastelementversion"} == set()
