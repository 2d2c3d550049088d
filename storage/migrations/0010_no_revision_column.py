"""The storage itself has no revision any more (D251)."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("storage", "0009_cultures_without_trigger")]
    operations = [migrations.RemoveField(model_name="storage", name="configuration_revision")]
