"""Documents of versions that are older than the search, or than its functions (D427); the triggers add their words.

Each portion is a transaction of its own, so that requests continue meanwhile, and a repeated run goes on from there.
"""

from typing import Any

from django.db import migrations, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

AT_ONCE = 1_000
FIRST = "00000000-0000-0000-0000-000000000000"
# In a distributed database the scope reaches all nodes this way, and each statement must name its storage. Other
# databases do not know the first setting, and ignore it.
PROPAGATE = "SET LOCAL citus.propagate_set_commands = 'local'"
ENTER = "SET LOCAL repository.storage = %s"
NO_COMPILER = "SET LOCAL jit = off"
# The lock keeps the texts from changing until their document is written.
NEXT = """SELECT v.id::text FROM elements_elementversion v WHERE v.storage_id = %s::uuid AND v.id > %s::uuid
    ORDER BY v.id LIMIT %s FOR SHARE"""
WRITE = """INSERT INTO elements_searchdocument AS d (storage_id, id, names, texts)
    SELECT v.storage_id, v.id, t.names, t.texts
    FROM elements_elementversion v CROSS JOIN LATERAL elements_search_texts(v.attributes) t
    WHERE v.storage_id = %s::uuid AND v.id = ANY(%s::uuid[])
    ON CONFLICT (storage_id, id) DO UPDATE SET names = excluded.names, texts = excluded.texts
    WHERE (d.names, d.texts) IS DISTINCT FROM (excluded.names, excluded.texts)"""


def fill(apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
    connection = editor.connection
    with connection.cursor() as cursor:
        cursor.execute("SELECT id::text FROM storage_storage ORDER BY id")
        for (storage,) in cursor.fetchall():
            last = FIRST
            while last:
                with transaction.atomic(using=connection.alias):
                    cursor.execute(PROPAGATE)
                    cursor.execute(NO_COMPILER)
                    cursor.execute(ENTER, [storage])
                    cursor.execute(NEXT, [storage, last, AT_ONCE])
                    versions = [row[0] for row in cursor.fetchall()]
                    if versions:
                        cursor.execute(WRITE, [storage, "{" + ",".join(versions) + "}"])
                last = versions[-1] if versions else ""


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("elements", "0032_cheaper_search_index")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
