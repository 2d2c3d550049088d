"""System checks of the tenancy: every gap in the isolation of a table is reported."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import connection, models
from django.test.utils import isolate_apps

from storage.models import TenantModel
from storage.models.tenant import tenant_link
from storage.tenancy.checks import _model_problems, _outside_problems, check_database
from storage.tenancy.migration_operations import constraint_name
from tests.scale import first_quick
from tests.shelves.models import Shelf


def database_problems() -> list[str]:
    return [str(problem.msg) for problem in check_database(None, databases=["default"])]


@pytest.mark.django_db
def test_the_live_catalogue_passes() -> None:
    assert run_checks(databases=["default"]) == []


@pytest.mark.django_db
@pytest.mark.one_node("Citus refuses statements that damage one table of a cluster")
@pytest.mark.parametrize(
    "damages",
    first_quick(
        [
            {
                "ALTER TABLE shelves_book DISABLE ROW LEVEL SECURITY": "shelves_book: row-level security is not enabled.",
                "DROP POLICY tenant ON shelves_book": "shelves_book: its only policy must be tenant",
                "ALTER TABLE shelves_book ALTER storage_id DROP DEFAULT": "shelves_book: storage_id must be NOT NULL",
                "CREATE UNIQUE INDEX across ON shelves_book (title, storage_id)": (
                    "shelves_book: the unique index over title, storage_id must begin with storage_id."
                ),
                "CREATE TABLE child () INHERITS (shelves_book)": (
                    "shelves_book: other tables inherit from it; its policy does not apply to them."
                ),
                "ALTER TABLE shelves_book ADD EXCLUDE (title WITH =)": (
                    "shelves_book: an exclusion constraint could compare rows of several storages."
                ),
            },
            {
                "ALTER TABLE shelves_book NO FORCE ROW LEVEL SECURITY": "shelves_book: row-level security is not forced",
                "ALTER POLICY tenant ON shelves_book USING (true)": "shelves_book: its only policy must be tenant",
                "ALTER TABLE shelves_book DROP CONSTRAINT shelves_book_pkey, ADD PRIMARY KEY (id)": (
                    "shelves_book: the primary key must be (storage_id, id)."
                ),
                "ALTER TABLE shelves_book ALTER CONSTRAINT shelves_book_shelf_id_3b4f911e_tenant NOT DEFERRABLE": (
                    "shelves_book: no foreign key (storage_id, shelf_id) to shelves_shelf (storage_id, id)."
                ),
                "CREATE UNIQUE INDEX across ON shelves_book (lower(title))": (
                    "shelves_book: the unique index over None must begin with storage_id."
                ),
            },
            {"ALTER POLICY tenant ON shelves_book WITH CHECK (true)": "shelves_book: its only policy must be tenant"},
            {"CREATE POLICY second ON shelves_book USING (true)": "shelves_book: its only policy must be tenant"},
        ]
    ),
)
def test_a_damaged_table_is_reported(damages: dict[str, str]) -> None:
    """Damages that are reported apart are made together."""
    with connection.cursor() as cursor:
        for damage in damages:
            cursor.execute(damage)
    found = database_problems()
    assert [each for each in damages.values() if not any(text.startswith(each) for text in found)] == [], found


@pytest.mark.django_db
@pytest.mark.one_node("Citus refuses statements that damage one table of a cluster")
def test_a_missing_foreign_key_is_reported() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT conname FROM pg_constraint WHERE conrelid = 'shelves_book'::regclass AND contype = 'f'")
        for (name,) in cursor.fetchall():
            cursor.execute(f'ALTER TABLE shelves_book DROP CONSTRAINT "{name}"')
    assert database_problems() == [
        "shelves_book: no foreign key (storage_id, shelf_id) to shelves_shelf (storage_id, id).",
        "shelves_book: no foreign key (storage_id) to storage_storage (id).",
    ]


@pytest.mark.parametrize(("superuser", "bypass", "word"), [(True, False, "superuser"), (False, True, "BYPASSRLS")])
def test_a_role_that_bypasses_policies_is_refused(superuser: bool, bypass: bool, word: str) -> None:
    from storage.tenancy.checks import _role_problems

    class Cursor:
        def execute(self, statement: str) -> None: ...

        def fetchone(self) -> tuple[Any, ...]:
            return ("boss", superuser, bypass)

    (problem,) = _role_problems(Cursor())
    assert problem.id == "storage.E010"
    assert f"The database role boss is {word}" in str(problem.msg)


@pytest.mark.django_db
@pytest.mark.one_node("Citus refuses statements that damage one table of a cluster")
def test_a_foreign_key_of_a_pending_migration_is_accepted() -> None:
    """`migrate` runs this check first and must not refuse the migration that adds the column."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE shelves_book DROP COLUMN shelf_id")
    assert database_problems() == []


@pytest.mark.django_db
def test_the_role_of_the_tests_is_an_ordinary_one() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper, rolbypassrls, rolcreaterole FROM pg_roles WHERE rolname = current_user")
        assert cursor.fetchone() == (False, False, False)


def test_a_model_outside_of_storages_is_reported() -> None:
    with isolate_apps("storage"):

        class Stray(models.Model):
            class Meta:
                app_label = "facets"

            def __str__(self) -> str:
                return "stray"

    (problem,) = _outside_problems(Stray)
    assert (problem.id, problem.msg) == ("storage.E004", "The rows of facets.Stray do not belong to a storage.")


@isolate_apps("tests.shelves")
def test_a_model_that_reaches_across_storages_is_reported() -> None:
    class Label(TenantModel):
        shelf = models.ForeignKey(Shelf, on_delete=models.DO_NOTHING)
        text = models.CharField(max_length=9, unique=True)
        others = models.ManyToManyField("self")
        code = models.CharField(max_length=9)

        class Meta:
            app_label = "shelves"
            unique_together = [("code", "text")]
            constraints = [models.UniqueConstraint(models.functions.Lower("code"), name="code_once")]

    problems = list(_model_problems(Label))
    assert [problem.id for problem in problems] == [
        "storage.E001",
        "storage.E002",
        "storage.E003",
        "storage.E003",
        "storage.E003",
    ]
    assert [problem.msg for problem in problems][2:] == [
        "text is unique across all storages, so a tenant could detect rows of another.",
        "code, text is unique across all storages, so a tenant could detect rows of another.",
        "code is unique across all storages, so a tenant could detect rows of another.",
    ]


@isolate_apps("tests.shelves")
def test_storage_through_must_lead_to_a_storage() -> None:
    class Page(TenantModel):
        storage_through = "shelf"
        shelf = tenant_link("shelves.Shelf", "+")

        class Meta:
            app_label = "shelves"

    class Loose(TenantModel):
        storage_through = "shelf"
        shelf = tenant_link("shelves.Shelf", "+", null=True)

        class Meta:
            app_label = "shelves"

    class Circle(TenantModel):
        storage_through = "next"
        next = tenant_link("self", "+")

        class Meta:
            app_label = "shelves"

    Page._meta.get_field("shelf").remote_field.model = Shelf
    Loose._meta.get_field("shelf").remote_field.model = Shelf
    assert list(_model_problems(Page)) == []
    for model in (Loose, Circle):
        (problem,) = _model_problems(model)
        assert problem.id == "storage.E005"


@pytest.mark.django_db
@pytest.mark.one_node("Citus refuses statements that damage one table of a cluster")
def test_parts_of_elements_belong_to_an_existing_storage() -> None:
    """The chain of references ends at the type; none of its keys can be null."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE is_nullable = 'NO'"
            " AND (table_name, column_name) IN (('elements_element', 'type_id'), ('elements_elementversion', 'element_id'),"
            " ('elements_reference', 'version_id'), ('elements_shape', 'version_id'), ('elements_shapeflow', 'shape_id'))"
        )
        assert len(cursor.fetchall()) == 5
        name = constraint_name("facets_elementtype", "storage_id")
        cursor.execute(f'ALTER TABLE facets_elementtype DROP CONSTRAINT "{name}"')
    assert database_problems() == ["facets_elementtype: no foreign key (storage_id) to storage_storage (id)."]
