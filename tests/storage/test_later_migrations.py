"""Migrations of tenant tables in a database that has storages with content, distributed or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import DatabaseError, IntegrityError, connection
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import PositiveSmallIntegerField

from repository_site.core.database.statements import fetch
from storage.models import Storage, StorageRevision
from storage.tenancy.checks import check_database
from storage.tenancy.migration_operations import (
    AppendOnly,
    BumpConfigurationRevision,
    TenantForeignKey,
    constraint_name,
)
from storage.tenancy.scope import tenant_scope
from tests.shelves.models import Book, Shelf

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long, pytest.mark.on_cluster]
DROP_KEY = f"ALTER TABLE shelves_book DROP CONSTRAINT {constraint_name('shelves_book', 'shelf_id')}"


@pytest.fixture
def apply() -> Iterator[Callable[[Operation], None]]:
    """Apply operations to the tables of shelves, and revert everything at the end."""
    state = ProjectState.from_apps(apps)

    def run(operation: Operation) -> None:
        with connection.schema_editor() as editor:
            operation.database_forwards("shelves", editor, state, state)

    yield run
    call_command("migrate", "shelves", "zero", verbosity=0)
    execute("DROP FUNCTION IF EXISTS shelves_shelf_stays()")
    call_command("migrate", "shelves", verbosity=0)


def execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def test_a_table_is_added(storage: Storage, other_storage: Storage) -> None:
    call_command("migrate", "shelves", "zero", verbosity=0)
    assert check_database(None, databases=["default"]) == []
    call_command("migrate", "shelves", verbosity=0)
    assert check_database(None, databases=["default"]) == []
    for each in (storage, other_storage):
        with tenant_scope(each):
            Book.objects.create(shelf=Shelf.objects.create(name="first"), title=each.collection.key)
    with tenant_scope(storage):
        assert [book.title for book in Book.objects.all()] == ["acme"]


def test_a_column_with_a_check_is_added(storage: Storage, apply: Callable[[Operation], None]) -> None:
    with tenant_scope(storage):
        Book.objects.create(shelf=Shelf.objects.create(name="first"), title="kept")
    pages = PositiveSmallIntegerField(default=7)
    pages.set_attributes_from_name("pages")
    with connection.schema_editor() as editor:
        editor.add_field(Book, pages)
    with tenant_scope(storage):
        assert fetch("SELECT b.pages FROM shelves_book b") == [(7,)]
    with pytest.raises(IntegrityError, match="check"), tenant_scope(storage):
        execute("UPDATE shelves_book SET pages = -1")


def test_a_key_is_added(storage: Storage, apply: Callable[[Operation], None]) -> None:
    with tenant_scope(storage):
        shelf = Shelf.objects.create(name="first")
        Book.objects.create(shelf=shelf, title="kept")
    execute(DROP_KEY)
    apply(TenantForeignKey("book", "shelf"))
    assert check_database(None, databases=["default"]) == []
    with pytest.raises(IntegrityError, match="foreign key"), tenant_scope(storage):
        Shelf.objects.all().delete()


def test_triggers_are_added(storage: Storage, other_storage: Storage, apply: Callable[[Operation], None]) -> None:
    before = {each.pk: each.configuration_revision for each in StorageRevision.objects.all()}
    apply(BumpConfigurationRevision("book"))
    apply(AppendOnly("shelf"))
    with tenant_scope(storage):
        Book.objects.create(shelf=Shelf.objects.create(name="first"), title="new")
    with pytest.raises(DatabaseError, match="rows of shelves_shelf are append-only"), tenant_scope(storage):
        Shelf.objects.all().delete()
    after = {each.pk: each.configuration_revision for each in StorageRevision.objects.all()}
    assert {pk for pk in after if after[pk] != before[pk]} == {storage.pk}
