"""The table of revocations, which outlives the storage of a token (D205)."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0002_revisions_never_repeat'),
    ]

    operations = [
        migrations.CreateModel(
            name='TokenRevocation',
            fields=[
                ('token_id', models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ('revoked_on', models.DateTimeField(null=True)),
                ('rotated_on', models.DateTimeField(help_text='The last rotation, which replaced all earlier values.', null=True)),
                ('old_ended_on', models.DateTimeField(help_text='When the old value of a rotation was ended early.', null=True)),
            ],
        ),
    ]
