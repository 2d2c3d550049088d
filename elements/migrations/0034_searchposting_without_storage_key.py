"""No foreign key to the storage: the trigger that writes these rows writes documents of the same storage (D426)."""

from django.db import migrations

from storage.tenancy.migration_operations import constraint_name

TABLE = "elements_searchposting"
NAME = constraint_name(TABLE, "storage_id")


class Migration(migrations.Migration):
    dependencies = [("elements", "0033_fill_search_index_once")]
    operations = [
        migrations.RunSQL(
            f"ALTER TABLE {TABLE} DROP CONSTRAINT IF EXISTS {NAME}",
            # PostgreSQL checks existing rows as the owner of the table, in no scope (see `TenantForeignKey`).
            [
                f"ALTER TABLE {TABLE} NO FORCE ROW LEVEL SECURITY",
                f"ALTER TABLE {TABLE} ADD CONSTRAINT {NAME} FOREIGN KEY (storage_id) REFERENCES storage_storage (id)"
                " DEFERRABLE INITIALLY DEFERRED",
                f"ALTER TABLE {TABLE} FORCE ROW LEVEL SECURITY",
            ],
        )
    ]
