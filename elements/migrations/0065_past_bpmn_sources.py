"""Past rows of BpmnSource (D563)."""

from django.db import migrations

from storage.tenancy.past_operations import keep_past


class Migration(migrations.Migration):
    dependencies = [("elements", "0064_past_flows")]
    operations = keep_past(
        "BpmnSource",
        past_bpmn_source_by_version=("version_id",),
    )
