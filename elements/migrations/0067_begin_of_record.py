"""From now on, all past rows are kept (D563)."""

from django.db import migrations

BEGIN = "UPDATE storage_storagerevision SET recorded_since = now()"


class Migration(migrations.Migration):
    dependencies = [("elements", "0066_past_names"), ("storage", "0052_recorded_since")]
    operations = [migrations.RunSQL(BEGIN, migrations.RunSQL.noop)]
