"""Migration operations for tenant tables: keys that start with the storage, row-level security and triggers.

A migration that creates a tenant model adds `IsolateTenantTable` after it; a migration that adds a foreign key to an
existing tenant model adds `TenantForeignKey` after it. The system check reports a table that lacks either.
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
# Id of the storage that the current transaction removes; append-only tables then allow DELETE.
REMOVAL_PARAMETER = "repository.removing"
CONFIGURATION_TRIGGER = "configuration_changed"
# PostgreSQL evaluates the sub-select once per statement; without it, it would read the parameter for every row.
POLICY_EXPRESSION = f"storage_id = (SELECT current_setting('{SCOPE_PARAMETER}')::uuid)"
# A distributed database refuses a sub-select in a policy.
SHARD_POLICY_EXPRESSION = f"storage_id = current_setting('{SCOPE_PARAMETER}')::uuid"
# The same as the catalogue shows it.
SHARD_EXPRESSION = f"(storage_id = (current_setting('{SCOPE_PARAMETER}'::text))::uuid)"

# Its shards decide where those of all tenant tables are.
FIRST_DISTRIBUTED = "storage_storagerevision"


def distribution_of(table: str) -> str:
    """Return the statement that distributes a table of a Citus cluster by storage."""
    beside = "" if table == FIRST_DISTRIBUTED else f", colocate_with => '{FIRST_DISTRIBUTED}'"
    return f"SELECT create_distributed_table('{table}', 'storage_id'{beside})"


def tenant_foreign_keys(model: type[models.Model]) -> Iterator[models.ForeignKey[Any, Any]]:
    """Yield the foreign keys to tenant models. Models of a migration state have no base class, only `storage_id`."""
    for field in model._meta.concrete_fields:
        if isinstance(field, models.ForeignKey) and _is_tenant(field.related_model):
            yield field


def _is_tenant(model: Any) -> bool:
    return any(field.name == "storage_id" for field in model._meta.concrete_fields)


def constraint_name(table: str, column: str) -> str:
    return f"{table[:24]}_{column[:20]}_{names_digest(table, column, length=8)}_tenant"


def _add_foreign_key(editor: BaseDatabaseSchemaEditor, table: str, field: models.ForeignKey[Any, Any]) -> None:
    """Add the composite constraint of a foreign key.

    PostgreSQL checks existing rows as the owner of the tables, to whom the policies apply as well, and there is no
    scope. This transaction locks the tables, so it can lift FORCE until it ends: no other session can read meanwhile.
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


def _is_distributed(editor: BaseDatabaseSchemaEditor) -> bool:
    # Tests of migrations may use the engine of Django.
    return bool(getattr(editor.connection, "is_distributed", False))


class TableOperation(Operation):
    """Base of operations that change a table and leave the state of the models alone.

    Reversing does nothing: keys, policies and triggers disappear with their table or column, and a tenant table
    must never exist without isolation.
    """

    reduces_to_sql = True
    reversible = True

    def __init__(self, model_name: str) -> None:
        self.model_name = model_name

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        return type(self).__name__, [self.model_name], {}

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Leave the models as they are."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        self.change(to_state.apps.get_model(app_label, self.model_name), schema_editor)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Keep the table as it is."""

    def change(self, model: type[models.Model], editor: BaseDatabaseSchemaEditor) -> None:
        raise NotImplementedError


class IsolateTenantTable(TableOperation):
    """Give a table its composite keys and turn row-level security on, also for the owner of the table.

    `storage_through` and `is_index` are those of the model: a table of parts, or one that triggers fill, has no foreign
    key to the storage of its own.
    """

    def __init__(self, model_name: str, storage_through: str | None = None, *, is_index: bool = False) -> None:
        super().__init__(model_name)
        self.storage_through = storage_through
        self.is_index = is_index

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        options = {"storage_through": self.storage_through, "is_index": self.is_index}
        return type(self).__name__, [self.model_name], {name: value for name, value in options.items() if value}

    def change(self, model: type[models.Model], editor: BaseDatabaseSchemaEditor) -> None:
        table = model._meta.db_table
        run = editor.execute
        run(f'ALTER TABLE "{table}" DROP CONSTRAINT "{table}_pkey"')
        run(f'ALTER TABLE "{table}" ADD CONSTRAINT "{table}_pkey" PRIMARY KEY (storage_id, id)')
        if self.storage_through is None and not self.is_index:
            run(
                f'ALTER TABLE "{table}" ADD CONSTRAINT "{constraint_name(table, "storage_id")}"'
                " FOREIGN KEY (storage_id) REFERENCES storage_storage (id) DEFERRABLE INITIALLY DEFERRED"
            )
        expression = POLICY_EXPRESSION
        if _is_distributed(editor):
            # Its foreign keys refer to distributed tables.
            run(distribution_of(table))
            expression = SHARD_POLICY_EXPRESSION
        for field in tenant_foreign_keys(model):
            _add_foreign_key(editor, table, field)
        run(f'ALTER TABLE "{table}" ENABLE ROW LEVEL SECURITY')
        run(f'ALTER TABLE "{table}" FORCE ROW LEVEL SECURITY')
        run(f'CREATE POLICY {POLICY} ON "{table}" USING ({expression}) WITH CHECK ({expression})')

    def describe(self) -> str:
        return f"Isolate {self.model_name} by storage"


class TenantForeignKey(TableOperation):
    """Add the composite constraint of a foreign key that was added to an existing tenant table."""

    def __init__(self, model_name: str, field_name: str) -> None:
        super().__init__(model_name)
        self.field_name = field_name

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        return type(self).__name__, [self.model_name, self.field_name], {}

    def change(self, model: type[models.Model], editor: BaseDatabaseSchemaEditor) -> None:
        field = model._meta.get_field(self.field_name)
        if not isinstance(field, models.ForeignKey):
            raise TypeError(f"{self.model_name}.{self.field_name} is not a foreign key")
        _add_foreign_key(editor, model._meta.db_table, field)

    def describe(self) -> str:
        return f"Keep {self.model_name}.{self.field_name} inside its storage"


class BumpConfigurationRevision(TableOperation):
    """Add a trigger that renews the storage's configuration revision with every change of the table."""

    def change(self, model: type[models.Model], editor: BaseDatabaseSchemaEditor) -> None:
        editor.execute(
            f"CREATE TRIGGER {CONFIGURATION_TRIGGER} BEFORE INSERT OR UPDATE OR DELETE ON"
            f' "{model._meta.db_table}" FOR EACH STATEMENT EXECUTE FUNCTION repository_configuration_changed()',
        )

    def describe(self) -> str:
        return f"Renew the configuration revision with every change of {self.model_name}"


class AppendOnly(TableOperation):
    """Let rows be inserted and read only, and deleted only when their storage is removed."""

    def change(self, model: type[models.Model], editor: BaseDatabaseSchemaEditor) -> None:
        table = model._meta.db_table
        function = f"{table}_stays"
        editor.execute(
            f"CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            f" IF TG_OP = 'DELETE' AND current_setting('{REMOVAL_PARAMETER}', true) = OLD.storage_id::text THEN"
            f"  RETURN OLD; END IF;"
            f" RAISE EXCEPTION 'rows of {table} are append-only' USING ERRCODE = 'insufficient_privilege';"
            f" END $$"
        )
        editor.execute(
            f'CREATE TRIGGER only_added BEFORE UPDATE OR DELETE ON "{table}"'
            f" FOR EACH ROW EXECUTE FUNCTION {function}()",
        )

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        table = from_state.apps.get_model(app_label, self.model_name)._meta.db_table
        schema_editor.execute(f'DROP TRIGGER only_added ON "{table}"')
        schema_editor.execute(f"DROP FUNCTION {table}_stays()")

    def describe(self) -> str:
        return f"Make {self.model_name} append-only"
