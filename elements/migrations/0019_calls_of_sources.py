"""BPMN ids of the processes that a document calls, so that an import finds the documents that call it (D311)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("elements", "0018_processes_of_sources")]
    operations = [
        migrations.AddField(
            "bpmnsource",
            "calls",
            models.JSONField(
                db_default=[],
                default=list,
                help_text="BPMN ids of the processes that its call activities name.",
            ),
        )
    ]
