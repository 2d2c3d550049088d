"""The log tells approvals that do not decide a round (D355)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("release", "0002_rounds_of_tasks")]
    operations = [
        migrations.AlterField(
            model_name='lifecycleentry',
            name='step',
            field=models.CharField(choices=[('version', 'new version'), ('transition', 'Transition'), ('succession', 'replaced by a newer version'), ('effect', 'validFrom reached'), ('expiry', 'validUntil reached'), ('request', 'task created'), ('approval', 'task accepted, more approvals needed'), ('rejection', 'task rejected'), ('withdrawal', 'task withdrawn'), ('delegation', 'task delegated'), ('reminder', 'reminder of a task')], max_length=20),
        ),
    ]
