"""Revisions of configurations get a table of their own, which can be kept beside the rows of a storage (D251)."""

from django.db import migrations, models
from django.db.models import deletion


class Migration(migrations.Migration):
    dependencies = [("storage", "0006_growth")]
    operations = [
        migrations.CreateModel(
            name="StorageRevision",
            fields=[
                (
                    "storage",
                    models.OneToOneField(
                        on_delete=deletion.CASCADE,
                        primary_key=True,
                        related_name="revision",
                        serialize=False,
                        to="storage.storage",
                    ),
                ),
                (
                    "configuration_revision",
                    models.BigIntegerField(
                        db_default=0,
                        help_text="Random number that the database replaces with every configuration change.",
                    ),
                ),
            ],
        ),
    ]
