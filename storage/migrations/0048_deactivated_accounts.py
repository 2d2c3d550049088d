"""The provider that has deactivated an account, and how often all its sessions were ended (D543, D545)."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0047_scim_tokens")]
    operations = [
        migrations.AddField(
            "staffaccount",
            "deactivated_by",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                editable=False,
                help_text="The provider whose directory has deactivated the account, and may activate it again (D543).",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="storage.identityprovider",
            ),
        ),
        migrations.AddField(
            "staffaccount",
            "ended_sessions",
            models.PositiveIntegerField(
                db_default=0,
                default=0,
                editable=False,
                help_text="How often all sessions were ended. Each session must know the current number (D545).",
            ),
        ),
    ]
