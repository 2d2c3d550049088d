"""Migration operations that keep the past rows of a tenant table (D563)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.contrib.postgres.functions import TransactionNow
from django.db import models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import AddField, AlterField, CreateModel
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

from storage.models.past import PastRow, past_columns, past_indexes, past_name
from storage.tenancy.migration_operations import REMOVAL_PARAMETER, IsolateTenantTable, TableOperation

# Rows that exist when their past begins to be kept. Adding a column with a literal default does not rewrite them.
BEFORE_THE_RECORD = datetime(1970, 1, 1, tzinfo=UTC)
Indexes = Mapping[str, tuple[str, ...]]


def keep_past(model_name: str, **indexes: tuple[str, ...]) -> list[Operation]:
    """Return the operations that date the rows of a table and keep its past rows, with `indexes` as in the model."""
    return [
        AddField(model_name, "since", models.DateTimeField(db_default=BEFORE_THE_RECORD, editable=False)),
        AlterField(model_name, "since", models.DateTimeField(db_default=TransactionNow(), editable=False)),
        CreatePast(model_name, indexes),
        IsolateTenantTable(past_name(model_name), is_index=True),
        KeepPast(model_name),
    ]


class CreatePast(CreateModel):
    """Create the table of past rows, with the columns that the table has at this point of the history."""

    def __init__(self, model_name: str, indexes: Indexes) -> None:
        self.dated, self.indexes = model_name, indexes
        super().__init__(past_name(model_name), fields=[])

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        return type(self).__name__, [self.dated, self.indexes], {}

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        model = state.models[app_label, self.dated.lower()]
        own = [(each.name, each.clone()) for each in PastRow._meta.local_concrete_fields]
        self.fields = [*own, *past_columns(model.fields).items()]
        self.options = {"indexes": past_indexes(self.indexes)}
        super().state_forwards(app_label, state)


class KeepPast(TableOperation):
    """Add a trigger that copies a row of the table to its table of past rows before it is changed or deleted (D563).

    Repeat this operation in a migration that adds a column to both tables.
    """

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        model = to_state.apps.get_model(app_label, self.model_name)
        past = to_state.apps.get_model(app_label, past_name(self.model_name))
        table, function = model._meta.db_table, f"{model._meta.db_table}_keep_past"
        columns = {str(each.column): f'OLD."{each.column}"' for each in past._meta.concrete_fields}
        columns |= {"id": "gen_random_uuid()", "row_id": "OLD.id", "until": "now()"}
        names = ", ".join(f'"{name}"' for name in columns)
        # Nobody else saw a row that this transaction wrote. If a transaction that began later was faster, its row is
        # replaced, and its time stays: the past row before it ends there.
        schema_editor.execute(
            f"""CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF TG_OP = 'UPDATE' AND NEW *= OLD THEN RETURN NEW; END IF;
                IF OLD.since < now()
                    AND current_setting('{REMOVAL_PARAMETER}', true) IS DISTINCT FROM OLD.storage_id::text THEN
                    INSERT INTO "{past._meta.db_table}" ({names}) VALUES ({", ".join(columns.values())});
                END IF;
                IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
                NEW.since := greatest(OLD.since, now());
                RETURN NEW;
            END $$"""  # noqa: S608  names of models
        )
        schema_editor.execute(
            f'CREATE OR REPLACE TRIGGER past_kept BEFORE UPDATE OR DELETE ON "{table}"'
            f" FOR EACH ROW EXECUTE FUNCTION {function}()"
        )

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        table = from_state.apps.get_model(app_label, self.model_name)._meta.db_table
        schema_editor.execute(f'DROP TRIGGER IF EXISTS past_kept ON "{table}"')
        schema_editor.execute(f"DROP FUNCTION IF EXISTS {table}_keep_past()")

    def describe(self) -> str:
        return f"Keep past rows of {self.model_name}"
