"""The revision of a version becomes a random number (D204)."""

from django.db import migrations, models

NEW_REVISION = models.Func(function="repository_new_revision", output_field=models.BigIntegerField())


class Migration(migrations.Migration):
    dependencies = [("elements", "0001_initial"), ("storage", "0002_revisions_never_repeat")]
    operations = [
        migrations.AlterField(
            model_name="elementversion",
            name="revision",
            field=models.PositiveBigIntegerField(
                db_default=NEW_REVISION, help_text="Random number that every change replaces; part of the entity tag."
            ),
        ),
    ]
