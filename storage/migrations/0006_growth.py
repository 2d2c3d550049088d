"""Growth of storages since their last measurement, for quotas (D190)."""

from django.db import migrations, models
from django.db.models import deletion


class Migration(migrations.Migration):
    dependencies = [("storage", "0005_measured_files")]
    operations = [
        migrations.CreateModel(
            name="StorageGrowth",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "storage",
                    models.ForeignKey(on_delete=deletion.CASCADE, related_name="growth", to="storage.storage"),
                ),
                ("made_in", models.BigIntegerField(help_text="Id of the transaction, or 0 for the sum of several.")),
                ("elements", models.BigIntegerField(default=0, db_default=0)),
                ("bytes", models.BigIntegerField(default=0, db_default=0)),
                ("files", models.BigIntegerField(default=0, db_default=0)),
                ("history", models.BigIntegerField(default=0, db_default=0)),
            ],
        ),
    ]
