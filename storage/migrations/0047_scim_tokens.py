"""Tokens with which directories use SCIM (D541)."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0046_directory_groups")]
    operations = [
        migrations.AddField(
            "apitoken",
            "provider",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                help_text="The provider whose directory uses the token for SCIM (D541). Such a token has no role.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="tokens",
                to="storage.identityprovider",
            ),
        ),
    ]
