"""Migration operations that make a table a tenant table: keys that lead with the storage, and row-level security.

Every migration that creates a tenant model follows it with `IsolateTenantTable`; one that adds a foreign key to an
existing tenant model follows it with `TenantForeignKey`. The system check refuses a table that lacks either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.backends.utils import names_digest
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

from storage.models.tenant import SCOPE_PARAMETER

POLICY = "tenant"
# While a storage is being removed this parameter holds its id.
REMOVAL_PARAMETER = "repository.removing"
CONFIGURATION_TRIGGER = "configuration_changed"
# A sub-select is computed once a statement; without it, reading a whole table would ask for the parameter at each row.
POLICY_EXPRESSION = f"storage_id = (SELECT current_setting('{SCOPE_PARAMETER}')::uuid)"


def tenant_foreign_keys(model: type[models.Model]) -> Iterator[models.ForeignKey[Any, Any]]:
    """Foreign keys to other tenant models, told by their `storage_id` (migration state has no base classes)."""
    for field in model._meta.concrete_fields:
        if isinstance(field, models.ForeignKey) and _is_tenant(field.related_model):
            yield field


def _is_tenant(model: Any) -> bool:
    return any(field.name == "storage_id" for field in model._meta.concrete_fields)


def constraint_name(table: str, column: str) -> str:
    return f"{table[:24]}_{column[:20]}_{names_digest(table, column, length=8)}_tenant"


def _add_foreign_key(editor: BaseDatabaseSchemaEditor, table: str, field: models.ForeignKey[Any, Any]) -> None:
    """PostgreSQL checks the rows there are as the tables' owner, who is under row-level security too and has no scope.

    For the length of this transaction, which locks the tables, the owner is let off; nobody else can look meanwhile.
    """
    target = field.related_model._meta.db_table
    for name in sorted({table, target}):
        editor.execute(f'ALTER TABLE "{name}" NO FORCE ROW LEVEL SECURITY')
    editor.execute(
        f'ALTER TABLE "{table}" ADD CONSTRAINT "{constraint_name(table, field.column)}"'
        f' FOREIGN KEY (storage_id, "{field.column}") REFERENCES "{target}" (storage_id, id)'
        " DEFERRABLE INITIALLY DEFERRED"
    )
    for name in sorted({table, target}):
        editor.execute(f'ALTER TABLE "{name}" FORCE ROW LEVEL SECURITY')


def _add_storage_key(editor: BaseDatabaseSchemaEditor, table: str) -> None:
    editor.execute(
        f'ALTER TABLE "{table}" ADD CONSTRAINT "{constraint_name(table, "storage_id")}"'
        " FOREIGN KEY (storage_id) REFERENCES storage_storage (id) DEFERRABLE INITIALLY DEFERRED"
    )


class TableOperation(Operation):
    """Something the database does to a table that the ORM's picture of the model does not show.

    Going back does nothing by itself: what was added goes with the table or the column, and a tenant table without
    isolation must never exist.
    """

    reduces_to_sql = True
    reversible = True

    def __init__(self, model_name: str) -> None:
        self.model_name = model_name

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        return type(self).__name__, [self.model_name], {}

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Nothing to do."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        self.change(to_state.apps.get_model(app_label, self.model_name), schema_editor)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Nothing to do."""

    def change(self, model: type[models.Model], editor: BaseDatabaseSchemaEditor) -> None:
        raise NotImplementedError


class IsolateTenantTable(TableOperation):
    """Composite primary key, foreign keys that cannot leave the storage, ENABLE and FORCE row-level security."""

    def change(self, model: type[models.Model], editor: BaseDatabaseSchemaEditor) -> None:
        table = model._meta.db_table
        run = editor.execute
        run(f'ALTER TABLE "{table}" DROP CONSTRAINT "{table}_pkey"')
        run(f'ALTER TABLE "{table}" ADD CONSTRAINT "{table}_pkey" PRIMARY KEY (storage_id, id)')
        _add_storage_key(editor, table)
        for field in tenant_foreign_keys(model):
            _add_foreign_key(editor, table, field)
        run(f'ALTER TABLE "{table}" ENABLE ROW LEVEL SECURITY')
        run(f'ALTER TABLE "{table}" FORCE ROW LEVEL SECURITY')
        run(f'CREATE POLICY {POLICY} ON "{table}" USING ({POLICY_EXPRESSION}) WITH CHECK ({POLICY_EXPRESSION})')

    def describe(self) -> str:
        return f"Isolate {self.model_name} by storage"


class TenantForeignKey(TableOperation):
    """The composite constraint of one foreign key that was added to an existing tenant table."""

    def __init__(self, model_name: str, field_name: str) -> None:
        super().__init__(model_name)
        self.field_name = field_name

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        return type(self).__name__, [self.model_name, self.field_name], {}

    def change(self, model: type[models.Model], editor: BaseDatabaseSchemaEditor) -> None:
        field = model._meta.get_field(self.field_name)
        if not isinstance(field, models.ForeignKey):
            raise TypeError(f"{self.model_name}.{self.field_name} is no foreign key")
        _add_foreign_key(editor, model._meta.db_table, field)

    def describe(self) -> str:
        return f"Keep {self.model_name}.{self.field_name} inside its storage"


class StorageThroughOwner(TableOperation):
    """No foreign key to the storage: the model's `storage_through` says which of its references stands for that."""

    def change(self, model: type[models.Model], editor: BaseDatabaseSchemaEditor) -> None:
        table = model._meta.db_table
        editor.execute(f'ALTER TABLE "{table}" DROP CONSTRAINT "{constraint_name(table, "storage_id")}"')

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        table = to_state.apps.get_model(app_label, self.model_name)._meta.db_table
        # As in `_add_foreign_key`: there are rows, and the owner is to see them all for this moment.
        schema_editor.execute(f'ALTER TABLE "{table}" NO FORCE ROW LEVEL SECURITY')
        _add_storage_key(schema_editor, table)
        schema_editor.execute(f'ALTER TABLE "{table}" FORCE ROW LEVEL SECURITY')

    def describe(self) -> str:
        return f"Let {self.model_name} belong to the storage of its owner"


class BumpConfigurationRevision(TableOperation):
    """A trigger that renews the storage's revision with every change of a configuration table, from wherever."""

    def change(self, model: type[models.Model], editor: BaseDatabaseSchemaEditor) -> None:
        editor.execute(
            f"CREATE TRIGGER {CONFIGURATION_TRIGGER} BEFORE INSERT OR UPDATE OR DELETE ON"
            f' "{model._meta.db_table}" FOR EACH STATEMENT EXECUTE FUNCTION repository_configuration_changed()'
        )

    def describe(self) -> str:
        return f"Renew the configuration revision with every change of {self.model_name}"


class AppendOnly(TableOperation):
    """Rows can only be added and read; they are deleted with their storage alone."""

    def change(self, model: type[models.Model], editor: BaseDatabaseSchemaEditor) -> None:
        table = model._meta.db_table
        function = f"{table}_stays"
        editor.execute(
            f"CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            f" IF TG_OP = 'DELETE' AND current_setting('{REMOVAL_PARAMETER}', true) = OLD.storage_id::text THEN"
            f"  RETURN OLD; END IF;"
            f" RAISE EXCEPTION 'rows of {table} are only ever added' USING ERRCODE = 'insufficient_privilege';"
            f" END $$"
        )
        editor.execute(
            f'CREATE TRIGGER only_added BEFORE UPDATE OR DELETE ON "{table}" FOR EACH ROW EXECUTE FUNCTION {function}()'
        )

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        table = from_state.apps.get_model(app_label, self.model_name)._meta.db_table
        schema_editor.execute(f'DROP TRIGGER only_added ON "{table}"')
        schema_editor.execute(f"DROP FUNCTION {table}_stays()")

    def describe(self) -> str:
        return f"Let rows of {self.model_name} only be added"


class RenewPolicies(Operation):
    """Brings the policies of all tenant tables there are to the expression of today."""

    reduces_to_sql = True
    reversible = True

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """The ORM's picture does not change."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        with schema_editor.connection.cursor() as cursor:
            cursor.execute("SELECT tablename FROM pg_policies WHERE schemaname = current_schema()")
            tables = sorted(row[0] for row in cursor.fetchall())
        for table in tables:
            schema_editor.execute(
                f'ALTER POLICY {POLICY} ON "{table}" USING ({POLICY_EXPRESSION}) WITH CHECK ({POLICY_EXPRESSION})'
            )

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Either expression says the same; there is nothing to take back."""

    def describe(self) -> str:
        return "Renew the policies of all tenant tables"
