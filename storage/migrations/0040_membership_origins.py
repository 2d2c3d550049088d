"""Origins of the roles of memberships (D504). Those that exist were granted by hand."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0039_provider_sessions")]
    operations = [
        migrations.AddField(
            "storagemembership",
            "origins",
            models.JSONField(
                editable=False,
                help_text="Roles that were granted by hand, and by identity provider. Empty if all were granted by hand.",
                null=True,
            ),
        ),
    ]
