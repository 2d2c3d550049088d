"""The rate of mails that reset a password (D551)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0049_invitations")]
    operations = [
        migrations.AddField(
            "staffaccount",
            "resets_until",
            models.DateTimeField(editable=False, help_text="Time over which the mails that reset the password are spread.", null=True),
        ),
    ]
