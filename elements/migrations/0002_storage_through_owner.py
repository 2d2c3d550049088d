from django.db import migrations

from storage.tenancy.migration_operations import StorageThroughOwner


class Migration(migrations.Migration):

    dependencies = [
        ('elements', '0001_initial'),
    ]

    operations = [
        StorageThroughOwner('element'),
        StorageThroughOwner('elementversion'),
        StorageThroughOwner('reference'),
        StorageThroughOwner('shape'),
        StorageThroughOwner('shapeflow'),
    ]
