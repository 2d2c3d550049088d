"""The facet of tokens is not for readers (D397). New storages get that from their template."""

from typing import Any

from django.db import migrations, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

# One storage at a time, in its scope: the policy applies to the owner of the table, too, and the trigger renews the
# revision of the storage in scope. In a distributed database the scope reaches all nodes this way. Other databases do not
# know the first setting, and ignore it.
PROPAGATE = "SET LOCAL citus.propagate_set_commands = 'local'"
ENTER = "SET LOCAL repository.storage = %s"
HIDE = """UPDATE facets_facet f SET for_readers = false
    WHERE f.storage_id = %s::uuid AND f.name = 'automation' AND f.for_readers"""


def hide(apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
    connection = editor.connection
    with connection.cursor() as cursor:
        cursor.execute("SELECT id::text FROM storage_storage ORDER BY id")
        for (storage,) in cursor.fetchall():
            with transaction.atomic(using=connection.alias):
                cursor.execute(PROPAGATE)
                cursor.execute(ENTER, [storage])
                cursor.execute(HIDE, [storage])


class Migration(migrations.Migration):
    # A transaction for each storage, so that none waits for the others.
    atomic = False
    dependencies = [("facets", "0003_facets_for_readers"), ("storage", "0013_revision_of_every_storage")]
    operations = [migrations.RunPython(hide, migrations.RunPython.noop)]
