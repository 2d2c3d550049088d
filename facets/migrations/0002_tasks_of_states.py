"""Tasks for versions that wait in a state (D355)."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('facets', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='cyclestate',
            name='accept',
            field=models.CharField(blank=True, db_default='', default='', help_text='Transition when a task is accepted.', max_length=100),
        ),
        migrations.AddField(
            model_name='cyclestate',
            name='approvals',
            field=models.SmallIntegerField(db_default=1, default=1, help_text='How many assignees must accept; 0 means all of them.'),
        ),
        migrations.AddField(
            model_name='cyclestate',
            name='assignees',
            field=models.JSONField(blank=True, db_default=[], default=list, help_text='Contexts, in this order.'),
        ),
        migrations.AddField(
            model_name='cyclestate',
            name='due_days',
            field=models.SmallIntegerField(db_default=0, default=0, help_text='Days until a task is overdue; 0 means those of the storage.'),
        ),
        migrations.AddField(
            model_name='cyclestate',
            name='reject',
            field=models.CharField(blank=True, db_default='', default='', help_text='Transition when a task is rejected.', max_length=100),
        ),
        migrations.AddField(
            model_name='cyclestate',
            name='task',
            field=models.CharField(blank=True, db_default='', default='', help_text='Type of the tasks for versions in this state.', max_length=100),
        ),
    ]
