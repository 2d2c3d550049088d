"""Triggers that keep the texts of diagrams in the search index (D437), all documents once (D427), and the index by
which a searched id finds the copies of an element (D402).

Each step is a transaction of its own, so that requests continue meanwhile, and can be repeated.
"""

from collections.abc import Iterable
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

TABLES = ("elements_lane", "elements_shapeflow")
EVENTS = {
    "insert": "NEW TABLE AS after",
    "update": "OLD TABLE AS before NEW TABLE AS after",
    "delete": "OLD TABLE AS before",
}
AT_ONCE = 1_000
FIRST = "00000000-0000-0000-0000-000000000000"
# In a distributed database the scope reaches all nodes this way, and each statement must name its storage. Other
# databases do not know the first setting, and ignore it.
PROPAGATE = "SET LOCAL citus.propagate_set_commands = 'local'"
ENTER = "SET LOCAL repository.storage = %s"
NO_COMPILER = "SET LOCAL jit = off"
# The lock keeps the attributes from changing until their document is written.
NEXT = """SELECT v.id::text FROM elements_elementversion v WHERE v.storage_id = %s::uuid AND v.id > %s::uuid
    ORDER BY v.id LIMIT %s FOR SHARE"""
# This one keeps the triggers of diagrams from writing before the next statement has read the lanes and flows. They
# write complete documents, so one that is new meanwhile is left alone.
LOCK = """SELECT d.id::text FROM elements_searchdocument d WHERE d.storage_id = %s::uuid AND d.id = ANY(%s::uuid[])
    FOR UPDATE"""
WRITE = """INSERT INTO elements_searchdocument AS d (storage_id, id, names, texts, drawn)
    SELECT v.storage_id, v.id, t.names, t.texts, coalesce(elements_search_fold(g.lines), '')
    FROM elements_elementversion v CROSS JOIN LATERAL elements_search_texts(v.attributes) t CROSS JOIN LATERAL (
        SELECT string_agg(DISTINCT replace(x.text, E'\n', ' '), E' \n ') AS lines FROM (
            SELECT c.value AS text FROM elements_lane l CROSS JOIN LATERAL jsonb_each_text(l.name) c
                WHERE l.storage_id = %s::uuid AND l.version_id = v.id
            UNION ALL SELECT c.value FROM elements_shape s
                JOIN elements_shapeflow f ON f.storage_id = %s::uuid AND f.shape_id = s.id
                CROSS JOIN LATERAL jsonb_each_text(f.label) c
                WHERE s.storage_id = %s::uuid AND s.version_id = v.id) x) g
    WHERE v.storage_id = %s::uuid AND v.id = ANY(%s::uuid[])
    ON CONFLICT (storage_id, id) DO UPDATE
        SET names = excluded.names, texts = excluded.texts, drawn = excluded.drawn
        WHERE d.id = ANY(%s::uuid[])
            AND (d.names, d.texts, d.drawn) IS DISTINCT FROM (excluded.names, excluded.texts, excluded.drawn)"""


def add_triggers(apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
    remove_triggers(apps, editor)
    for table in TABLES:
        with editor.connection.schema_editor(atomic=True) as own:
            for event, rows in EVENTS.items():
                own.execute(
                    f"CREATE TRIGGER drawn_kept_on_{event} AFTER {event.upper()} ON {table} REFERENCING {rows}"
                    " FOR EACH STATEMENT EXECUTE FUNCTION elements_keep_drawn()"
                )


def remove_triggers(apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
    for table in TABLES:
        with editor.connection.schema_editor(atomic=True) as own:
            for event in EVENTS:
                own.execute(f"DROP TRIGGER IF EXISTS drawn_kept_on_{event} ON {table}")


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
                        cursor.execute(LOCK, [storage, _ids(versions)])
                        locked = _ids(row[0] for row in cursor.fetchall())
                        cursor.execute(WRITE, [*[storage] * 4, _ids(versions), locked])
                last = versions[-1] if versions else ""


def _ids(found: Iterable[str]) -> str:
    return "{" + ",".join(found) + "}"


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("elements", "0036_texts_of_diagrams")]
    operations = [
        migrations.RunPython(add_triggers, remove_triggers),
        migrations.RunPython(fill, migrations.RunPython.noop),
        AddIndexConcurrently("element", models.Index(fields=["storage_id", "creation_id"], name="element_by_creation")),
    ]
