"""Element of a lane, such as a role (D270)."""

from django.db import migrations, models

from storage.tenancy.migration_operations import TenantForeignKey


class Migration(migrations.Migration):
    dependencies = [("elements", "0011_lanes")]
    operations = [
        migrations.AddField(
            "lane",
            "element",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=models.DO_NOTHING,
                related_name="lanes",
                to="elements.element",
            ),
        ),
        TenantForeignKey("lane", "element"),
    ]
