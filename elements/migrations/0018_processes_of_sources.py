"""BPMN ids of the processes of a document, by which call activities of other documents name them (D310)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("elements", "0017_bpmn_sources")]
    operations = [
        migrations.AddField(
            "bpmnsource",
            "processes",
            models.JSONField(
                db_default=[],
                default=list,
                help_text="BPMN ids of its processes, by which other documents call them.",
            ),
        )
    ]
