import django.db.models.deletion
import django.db.models.functions.comparison
import uuid
from django.db import migrations, models

from storage.tenancy.migration_operations import IsolateTenantTable


class Migration(migrations.Migration):

    initial = True

    dependencies = [('storage', '0001_initial')]

    operations = [
        migrations.CreateModel(
            name='Shelf',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('storage_id', models.UUIDField(db_default=django.db.models.functions.comparison.Cast(models.Func(models.Value('repository.storage'), function='current_setting', output_field=models.TextField()), output_field=models.UUIDField()), editable=False)),
                ('name', models.CharField(max_length=50)),
                ('above', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='shelves.shelf')),
            ],
        ),
        migrations.CreateModel(
            name='Book',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('storage_id', models.UUIDField(db_default=django.db.models.functions.comparison.Cast(models.Func(models.Value('repository.storage'), function='current_setting', output_field=models.TextField()), output_field=models.UUIDField()), editable=False)),
                ('title', models.CharField(max_length=50)),
                ('shelf', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='books', to='shelves.shelf')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.AddConstraint(
            model_name='shelf',
            constraint=models.UniqueConstraint(fields=('storage_id', 'name'), name='shelf_name_once'),
        ),
        IsolateTenantTable('shelf'),
        IsolateTenantTable('book'),
    ]
