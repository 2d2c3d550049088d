"""Past rows of Reference (D563)."""

from django.db import migrations

from storage.tenancy.past_operations import keep_past


class Migration(migrations.Migration):
    dependencies = [("elements", "0060_past_versions")]
    operations = keep_past(
        "Reference",
        past_reference_by_version=("version_id", "context", "position"),
        past_reference_by_target=("target_id",),
    )
