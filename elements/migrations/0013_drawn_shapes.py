"""Bounds, lane, container and host of a shape (D270), and its id in BPMN (D271)."""

from django.db import migrations, models

from storage.tenancy.migration_operations import TenantForeignKey


def link(to: str, name: str) -> models.ForeignKey:
    return models.ForeignKey(
        db_constraint=False, db_index=False, null=True, on_delete=models.DO_NOTHING, related_name=name, to=to
    )


class Migration(migrations.Migration):
    dependencies = [("elements", "0012_lane_elements")]
    operations = [
        migrations.AddField(
            "shape", "bounds", models.JSONField(null=True, help_text="Rectangle as drawn: x, y, width and height.")
        ),
        migrations.AddField("shape", "lane", link("elements.lane", "shapes")),
        migrations.AddField("shape", "container", link("elements.shape", "contained")),
        migrations.AddField("shape", "host", link("elements.shape", "attached")),
        migrations.AddField(
            "shape",
            "bpmn_id",
            models.TextField(blank=True, db_default="", default="", help_text="Id in the imported BPMN file."),
        ),
        TenantForeignKey("shape", "lane"),
        TenantForeignKey("shape", "container"),
        TenantForeignKey("shape", "host"),
    ]
