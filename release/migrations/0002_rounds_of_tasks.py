"""Several approvers and due dates of tasks (D355)."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('elements', '0017_bpmn_sources'),
        ('release', '0001_initial'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='task',
            name='one_open_task',
        ),
        migrations.AddField(
            model_name='task',
            name='approvals',
            field=models.SmallIntegerField(db_default=1, default=1, help_text='Tasks of the round that must be accepted.'),
        ),
        migrations.AddField(
            model_name='task',
            name='due_on',
            field=models.DateTimeField(help_text='Empty means the usual number of days of the storage.', null=True),
        ),
        migrations.AddField(
            model_name='task',
            name='round_id',
            field=models.UUIDField(help_text='Shared by the tasks that open when a version starts to wait.', null=True),
        ),
    ]
