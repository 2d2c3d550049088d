from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models, transaction


def fill_names(apps, schema_editor):
    """Of the versions that there were before names were kept; a storage at a time, so that nobody waits for all."""
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM storage_storage")
        for (storage,) in cursor.fetchall():
            with transaction.atomic(using=connection.alias):
                cursor.execute("SELECT set_config('repository.storage', %s, true)", [str(storage)])
                cursor.execute(
                    "INSERT INTO elements_versionname (id, version_id, folded)"
                    " SELECT gen_random_uuid(), v.id, name"
                    " FROM elements_elementversion v, elements_names_of(v.attributes) name"
                    " WHERE NOT EXISTS (SELECT FROM elements_versionname n WHERE n.version_id = v.id)"
                )


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('elements', '0012_version_names'),
    ]

    operations = [
        migrations.RunPython(fill_names, migrations.RunPython.noop),
        AddIndexConcurrently(
            model_name='elementversion',
            index=models.Index(fields=['storage_id', 'changed_on'], name='version_by_change'),
        ),
    ]
