"""Origins of web pages that may call the API of a storage (D576)."""

from django.db import migrations, models

import storage.origins


class Migration(migrations.Migration):
    dependencies = [("storage", "0052_recorded_since")]
    operations = [
        migrations.AddField(
            "storage",
            "allowed_origins",
            models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text=(
                    "Origins whose pages may call the API from a browser (CORS), one on each line, such as"
                    " https://app.example.org. Leave empty to allow none."
                ),
                validators=[storage.origins.validate_origins],
                verbose_name="web pages of other origins",
            ),
        ),
    ]
