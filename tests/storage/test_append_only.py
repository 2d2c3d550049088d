"""Append-only tables: the database refuses to change or delete their rows."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import ProgrammingError, connection, transaction
from django.utils import timezone

from elements.models import ElementChange
from storage.models import Storage
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_scope
from tests.removed_storages import rows_left

TABLE = ElementChange._meta.db_table
COLUMNS = ", ".join(str(field.column) for field in ElementChange._meta.concrete_fields if field.name != "storage_id")


@pytest.fixture
def recorded(storage: Storage, other_storage: Storage) -> None:
    for tenant in (storage, other_storage):
        with tenant_scope(tenant):
            for action in ElementChange.Action:
                record(action)


def record(action: str) -> ElementChange:
    return ElementChange.objects.create(
        element_id=uuid4(), version_id=uuid4(), action=action, changed_on=timezone.now(), caller_label="token:1",
        request_id="r", before={"attributes": {"cost[127]": 1}}, after={},
    )  # fmt: skip


def rows(storage: Storage) -> list[dict[str, object]]:
    with tenant_scope(storage):
        return [dict(each) for each in ElementChange.objects.order_by("id").values()]


def execute(sql: str) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)
        return int(cursor.rowcount)


@pytest.mark.parametrize(
    "sql",
    [
        f"UPDATE {TABLE} SET caller_label = 'somebody else'",
        f"UPDATE {TABLE} SET changed_on = changed_on",
        f"UPDATE {TABLE} SET after = before WHERE action = 'updated'",
        f"DELETE FROM {TABLE}",
        f"DELETE FROM {TABLE} WHERE action = 'deleted'",
        f"INSERT INTO {TABLE} ({COLUMNS}) SELECT {COLUMNS} FROM {TABLE} ON CONFLICT (storage_id, id) DO UPDATE SET before = '{{}}'",
    ],
)
def test_rows_cannot_be_changed_or_deleted(storage: Storage, recorded: None, sql: str) -> None:
    before = rows(storage)
    with tenant_scope(storage), pytest.raises(ProgrammingError, match="append-only"):
        execute(sql)
    assert rows(storage) == before
    assert len(before) == len(ElementChange.Action)


def test_the_orm_is_refused_as_well(storage: Storage, recorded: None) -> None:
    with tenant_scope(storage):
        change = ElementChange.objects.earliest("id")
        for write in (change.save, change.delete, ElementChange.objects.all().delete):
            with pytest.raises(ProgrammingError, match="append-only"), transaction.atomic():
                write()
        with pytest.raises(ProgrammingError, match="append-only"), transaction.atomic():
            ElementChange.objects.update(request_id="x")
    assert len(rows(storage)) == len(ElementChange.Action)


def test_rows_can_be_added(storage: Storage, recorded: None) -> None:
    with tenant_scope(storage):
        record("updated")
    assert len(rows(storage)) == len(ElementChange.Action) + 1


def test_removing_a_storage_deletes_its_rows_only(storage: Storage, other_storage: Storage, recorded: None) -> None:
    before, tenant = rows(other_storage), storage.id
    remove_storage(storage)
    assert rows_left(tenant, ElementChange) == 0
    assert rows(other_storage) == before
    with tenant_scope(other_storage), pytest.raises(ProgrammingError, match="append-only"):
        execute(f"DELETE FROM {TABLE}")
    assert rows(other_storage) == before
