"""Our migrations can be applied under load (D155): they follow the rules of docs/how-to/upgrade.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.core.management.commands import migrate
from django.db import OperationalError, connection
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import (
    AddConstraint,
    AddField,
    AddIndex,
    AlterField,
    CreateModel,
    DeleteModel,
    RemoveField,
)
from django.db.migrations.operations.base import Operation
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState
from django.db.models import CharField, DateTimeField, Index
from django.db.models.functions import Now
from psycopg.errors import LockNotAvailable

from repository_site.management.commands.migrate import ATTEMPTS, UNRELEASED

APPS = ("storage", "facets", "elements", "release")
TEXT = re.compile(r"varchar\((\d+)\)|text")


def ours() -> Iterator[tuple[Migration, ProjectState]]:
    """Yield each migration of our apps with the state of the models before it."""
    loader = MigrationLoader(connection)
    state = ProjectState()
    for key in loader.graph._generate_plan(loader.graph.leaf_nodes(), at_end=True):
        migration = loader.graph.nodes[key]
        if migration.app_label in APPS:
            yield migration, state.clone()
        migration.mutate_state(state, preserve=False)


def problems(migration: Migration, state: ProjectState) -> list[str]:
    found: list[str] = []
    made, touched = set(), set()
    for operation in migration.operations:
        model = str(getattr(operation, "model_name", "") or getattr(operation, "name", "")).lower()
        if isinstance(operation, CreateModel):
            made.add(model)
        elif model not in made:
            touched.add(model)
            found += operation_problems(operation, migration, state)
        operation.state_forwards(migration.app_label, state)
    if migration.atomic and len(touched) > 1:
        found.append(f"changes several tables in one transaction: {', '.join(sorted(touched))}")
    return found


def operation_problems(operation: Operation, migration: Migration, state: ProjectState) -> Iterator[str]:
    if type(operation) in (AddIndex, AddConstraint):
        yield f"{operation.describe()}: locks an existing table while it reads all of it"
    if isinstance(operation, AddField) and hasattr(operation.field.db_default, "resolve_expression"):
        yield f"{operation.describe()}: a default that is computed rewrites every row"
    if isinstance(operation, RemoveField | DeleteModel):
        yield f"{operation.describe()}: the previous release still uses it"
    if isinstance(operation, AlterField) and not operation.field.is_relation:
        before = state.models[migration.app_label, operation.model_name_lower].fields[operation.name]
        old, new = (str(each.db_type(connection)) for each in (before, operation.field))
        if not keeps_rows(old, new):
            yield f"{operation.describe()}: from {old} to {new} rewrites every row"


def keeps_rows(old: str, new: str) -> bool:
    texts = TEXT.fullmatch(old), TEXT.fullmatch(new)
    if old == new or not all(texts):
        return old == new
    lengths = [float(each[1] or "inf") for each in texts if each is not None]
    return lengths[0] <= lengths[1]


@pytest.mark.django_db
def test_our_migrations_follow_the_rules() -> None:
    found = {f"{each.app_label}.{each.name}": problems(each, state) for each, state in ours()}
    assert {name: texts for name, texts in found.items() if texts} == {}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("varchar(10)", "varchar(20)", True), ("varchar(20)", "text", True), ("text", "text", True),
        ("varchar(20)", "varchar(10)", False), ("text", "varchar(10)", False), ("integer", "bigint", False),
    ],
)  # fmt: skip
def test_which_types_keep_the_rows(old: str, new: str, expected: bool) -> None:
    assert keeps_rows(old, new) is expected


@pytest.mark.django_db
def test_a_migration_that_breaks_the_rules_is_reported() -> None:
    state = MigrationLoader(connection).project_state()
    operations: list[Operation] = [
        AddIndex("storage", Index(fields=["region"], name="storage_by_region")),
        AddField("apitoken", "noted_on", DateTimeField(db_default=Now())),
        AlterField("apitoken", "name", CharField(max_length=100)),
        RemoveField("apitoken", "user_id"),
    ]
    migration = type("Careless", (Migration,), {"operations": operations})("0002_careless", "storage")
    assert problems(migration, state) == [
        "Create index storage_by_region on field(s) region of model storage: locks an existing table while it reads all"
        " of it",
        "Add field noted_on to apitoken: a default that is computed rewrites every row",
        "Alter field name on apitoken: from varchar(200) to varchar(100) rewrites every row",
        "Remove field user_id from apitoken: the previous release still uses it",
        "changes several tables in one transaction: apitoken, storage",
    ]


@pytest.mark.django_db
def test_a_migration_does_not_wait_for_locks_for_long() -> None:
    with connection.schema_editor(atomic=True), connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("400ms",)


@pytest.mark.django_db
def test_a_database_from_before_the_first_release_is_refused() -> None:
    MigrationRecorder(connection).record_applied(*UNRELEASED)
    with pytest.raises(CommandError, match=r"from before release 0\.1\.0.*Start with an empty one"):
        call_command("migrate", verbosity=0)


@pytest.mark.django_db
class TestTryingAgain:
    @pytest.fixture(autouse=True)
    def hurry(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("repository_site.management.commands.migrate.time.sleep", lambda seconds: None)

    def fail(self, monkeypatch: pytest.MonkeyPatch, *problems: Exception) -> list[int]:
        """Let Django's command fail with these errors, one after the other, and then succeed."""
        calls: list[int] = []
        left = list(problems)

        def handle(self: Any, *args: Any, **options: Any) -> None:
            calls.append(1)
            if left:
                raise left.pop(0) from LockNotAvailable()

        monkeypatch.setattr(migrate.Command, "handle", handle)
        return calls

    def test_it_retries_until_the_locks_are_free(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        calls = self.fail(monkeypatch, *[OperationalError("lock timeout")] * 3)
        call_command("migrate", skip_checks=True)
        assert len(calls) == 4
        assert capsys.readouterr().err == "Other transactions use the tables; retrying for up to two minutes ...\n"

    def test_it_gives_up_after_a_while(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = self.fail(monkeypatch, *[OperationalError("lock timeout")] * ATTEMPTS)
        with pytest.raises(CommandError, match="End long transactions, or stop the servers"):
            call_command("migrate", skip_checks=True)
        assert len(calls) == ATTEMPTS

    def test_other_problems_are_raised_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = self.fail(monkeypatch, ValueError("no"), OperationalError("never met"))
        with pytest.raises(ValueError, match="no"):
            call_command("migrate", skip_checks=True)
        assert len(calls) == 1
