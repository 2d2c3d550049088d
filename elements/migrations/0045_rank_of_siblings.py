"""Order of siblings (D480): a rank between two positions, and positions before the first one."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("elements", "0044_saved_lists")]
    operations = [
        migrations.AddField(
            "element",
            "rank",
            models.TextField(
                db_collation="C",
                db_default="",
                default="",
                help_text="Order among children with the same position (D480).",
            ),
        ),
        migrations.AlterField(
            "element",
            "position",
            models.IntegerField(default=0, help_text="Position among the children of the parent (D480)."),
        ),
    ]
