"""Label, line and BPMN id of a flow (D270, D271)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("elements", "0015_lanes_by_element")]
    operations = [
        migrations.AddField(
            "shapeflow",
            "label",
            models.JSONField(db_default={}, default=dict, help_text="Text by culture, such as a condition."),
        ),
        migrations.AddField("shapeflow", "bpmn_id", models.TextField(blank=True, db_default="", default="")),
        migrations.AddField(
            "shapeflow",
            "waypoints",
            models.JSONField(null=True, help_text="Points of the line as drawn: a list of [x, y]."),
        ),
    ]
