"""The storage itself has no revision any more (D251). Its column stays for one release, since 0.1.0 reads it."""

from django.db import migrations

COLUMN = "ALTER TABLE storage_storage ALTER COLUMN configuration_revision"


class Migration(migrations.Migration):
    dependencies = [("storage", "0009_cultures_without_trigger")]
    operations = [
        migrations.RunSQL(
            f"{COLUMN} SET DEFAULT 0",
            f"{COLUMN} DROP DEFAULT",
            state_operations=[migrations.RemoveField(model_name="storage", name="configuration_revision")],
        ),
    ]
