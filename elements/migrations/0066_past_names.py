"""Past rows of VersionName (D563)."""

from django.db import migrations

from storage.tenancy.past_operations import keep_past


class Migration(migrations.Migration):
    dependencies = [("elements", "0065_past_bpmn_sources")]
    operations = keep_past(
        "VersionName",
        past_name_by_text=("folded", "version_id"),
        past_name_by_version=("version_id",),
    )
