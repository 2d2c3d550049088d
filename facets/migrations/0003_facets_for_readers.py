"""Facets can be hidden from viewers and anonymous readers (D397)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("facets", "0002_tasks_of_states")]
    operations = [
        migrations.AddField(
            model_name="facet",
            name="for_readers",
            field=models.BooleanField(
                db_default=True, default=True, help_text="Whether viewers and anonymous readers see the facet."
            ),
        ),
    ]
