"""The key of growth starts with its storage, so the index on the storage alone is not needed (D251)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0011_growth_keys")]
    operations = [
        migrations.AlterField(
            "storagegrowth",
            "storage",
            models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="growth", to="storage.storage"),
        ),
    ]
