from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models, transaction
from django.db.migrations.operations import AddIndex


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
                # A first mark for storages that nobody has changed since marks are made: what is kept needs one.
                cursor.execute(
                    "INSERT INTO elements_contentmark (id) SELECT gen_random_uuid()"
                    " WHERE NOT EXISTS (SELECT FROM elements_contentmark)"
                )


class AddIndexWhileOthersWork(AddIndexConcurrently):
    """Where it is possible: not inside a transaction, which tests are in that go back and forth."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        inside = schema_editor.connection.in_atomic_block
        (AddIndex if inside else AddIndexConcurrently).database_forwards(
            self, app_label, schema_editor, from_state, to_state
        )

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        inside = schema_editor.connection.in_atomic_block
        (AddIndex if inside else AddIndexConcurrently).database_backwards(
            self, app_label, schema_editor, from_state, to_state
        )


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('elements', '0012_version_names'),
    ]

    operations = [
        migrations.RunPython(fill_names, migrations.RunPython.noop),
        *(
            AddIndexWhileOthersWork(model_name='elementversion', index=models.Index(fields=['storage_id', column], name=name))
            for column, name in [
                ('changed_on', 'version_by_change'),
                ('created_on', 'version_by_creation'),
                ('released_on', 'version_by_release'),
                ('valid_from', 'version_by_start'),
                ('valid_until', 'version_by_end'),
            ]
        ),
    ]
