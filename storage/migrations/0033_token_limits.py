"""Networks and scope of tokens (D488, D489), and the last stage of their reminders (D486)."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0032_file_texts")]
    operations = [
        migrations.AddField(
            "apitoken",
            "networks",
            ArrayField(models.CharField(max_length=50), blank=True, default=list, db_default=[]),
        ),
        migrations.AddField("apitoken", "is_read_only", models.BooleanField(default=False, db_default=False)),
        migrations.AddField(
            "apitoken",
            "facets",
            ArrayField(models.CharField(max_length=100), blank=True, default=list, db_default=[]),
        ),
        migrations.AddField(
            "apitoken",
            "operations",
            ArrayField(models.CharField(max_length=100), blank=True, default=list, db_default=[]),
        ),
        migrations.AddField(
            "apitoken",
            "reminded_days",
            models.PositiveSmallIntegerField(help_text="Last stage of reminders, in days (D486).", null=True),
        ),
    ]
