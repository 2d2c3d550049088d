"""Functions and triggers that keep the texts of diagrams in the search index (D437) and read numeric character references
of markup as letters (D408), all documents once (D427), and the index by which a searched id finds copies (D402).

Each step is a transaction of its own, so that requests continue meanwhile, and can be repeated.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

earlier = import_module("elements.migrations.0032_cheaper_search_index")
markup = import_module("elements.migrations.0025_markup_in_search_index")


def changed(function: str, *changes: tuple[str, str]) -> str:
    for before, after in (("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"), *changes):
        function = function.replace(before, after)
    return function


# Tags go first: a decoded < does not begin one. Each piece but the first begins with the digits of a reference.
DECODED = r"""
CREATE OR REPLACE FUNCTION elements_search_decoded(given text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET jit = off AS $$
    SELECT string_agg(CASE WHEN p.place = 1 THEN p.piece WHEN c.code IS NULL THEN ' ' || p.piece
            WHEN c.code BETWEEN 1 AND 55295 AND c.code NOT IN (38, 60) OR c.code BETWEEN 57344 AND 1114111
            THEN chr(c.code) || r.rest ELSE ' ' || r.rest END, '' ORDER BY p.place)
    FROM unnest(string_to_array(regexp_replace(given, '<[^>]*>', ' ', 'g'), '&#')) WITH ORDINALITY AS p(piece, place)
    CROSS JOIN LATERAL (SELECT split_part(p.piece, ';', 1) AS digits, substr(p.piece, strpos(p.piece, ';') + 1) AS rest
        OFFSET 0) r
    CROSS JOIN LATERAL (SELECT CASE
            WHEN r.digits ~ '^0*[0-9]{1,7}$' THEN right(r.digits, 7)::int
            WHEN r.digits ~ '^x0*[0-9a-fA-F]{1,6}$'
                THEN ('x' || right('0000000' || substr(r.digits, 2), 8))::bit(32)::int
            END AS code OFFSET 0) c
$$
"""
# The words around a reference are words of the value, but not of the text.
AROUND_REFERENCES = r"<[^>]*>|[^\s<>]*&(?:#[0-9]+|#x[0-9a-fA-F]+);[^\s<>]*|&[a-z]+;"
MARKUP_OF = changed(
    earlier.MARKUP_OF,
    (
        f"'{markup.MARKUP}'",
        f"CASE WHEN strpos(g.text, '&#') > 0 THEN '{AROUND_REFERENCES}' ELSE '{markup.MARKUP}' END",
    ),
)
TEXTS_OF = changed(
    earlier.TEXTS_OF,
    (
        "THEN regexp_replace(g.text,",
        "THEN regexp_replace(CASE WHEN strpos(g.text, '&#') > 0 THEN elements_search_decoded(g.text) ELSE g.text END,",
    ),
)
DRAWN_WORDS = (
    ("string_to_array(d.texts, ' ')", "string_to_array(d.texts || ' ' || d.drawn, ' ')"),
    ("(b.texts, a.texts)", "(b.texts || b.drawn, a.texts || a.drawn)"),
    ("(a.texts, b.texts)", "(a.texts || a.drawn, b.texts || b.drawn)"),
)
POST_WORDS = changed(earlier.POST_WORDS, *DRAWN_WORDS)
# An upsert: a rebuild may just have replaced the document (D381), and an update would not find the new one.
KEEP = """INSERT INTO %1$I AS d (storage_id, id, names, texts, drawn)
    SELECT v.storage_id, v.id, t.names, t.texts, coalesce(elements_search_fold(g.lines), '')
    FROM %5$I v CROSS JOIN LATERAL elements_search_texts(v.attributes) t CROSS JOIN LATERAL (
        SELECT string_agg(DISTINCT replace(x.text, E'\\n', ' '), E' \\n ') AS lines FROM (
            SELECT c.value AS text FROM %2$I l CROSS JOIN LATERAL jsonb_each_text(l.name) c
                WHERE l.storage_id = $1 AND l.version_id = v.id
            UNION ALL SELECT c.value FROM %3$I s JOIN %4$I f ON f.storage_id = s.storage_id AND f.shape_id = s.id
                CROSS JOIN LATERAL jsonb_each_text(f.label) c
                WHERE s.storage_id = $1 AND s.version_id = v.id) x) g
    WHERE v.storage_id = $1 AND v.id = ANY($2)
    ON CONFLICT (storage_id, id) DO UPDATE SET drawn = excluded.drawn WHERE d.drawn <> excluded.drawn"""
# A trigger of lanes and of flows. Most flows have no label. A changed row is deleted and inserted again.
KEEP_DRAWN = f"""
CREATE OR REPLACE FUNCTION elements_keep_drawn() RETURNS trigger
    LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
    scope uuid := nullif(current_setting('repository.storage', true), '')::uuid;
    is_flow boolean := TG_TABLE_NAME LIKE 'elements\\_shapeflow%';
    is_shard boolean := TG_TABLE_NAME NOT IN ('elements_lane', 'elements_shapeflow');
    names text[] := ARRAY['elements_searchdocument', 'elements_lane', 'elements_shape', 'elements_shapeflow',
        'elements_elementversion'];
    changed text := CASE TG_OP WHEN 'INSERT' THEN 'after' WHEN 'DELETE' THEN 'before'
        ELSE '(SELECT * FROM after UNION ALL SELECT * FROM before)' END;
    ids uuid[];
    first int;
BEGIN
    IF TG_OP = 'DELETE' AND nullif(current_setting('repository.removing', true), '') IS NOT NULL THEN
        RETURN NULL;
    END IF;
    EXECUTE format('SELECT array_agg(DISTINCT c.%I) FROM %s c WHERE c.%I <> ''{{}}''',
        CASE WHEN is_flow THEN 'shape_id' ELSE 'version_id' END, changed,
        CASE WHEN is_flow THEN 'label' ELSE 'name' END) INTO ids;
    IF ids IS NULL THEN
        RETURN NULL;
    END IF;
    IF is_shard THEN
        EXECUTE 'SELECT array_agg(n.name || ''_'' || get_shard_id_for_distribution_column(n.name::regclass, $2)'
            ' ORDER BY n.place) FROM unnest($1) WITH ORDINALITY AS n(name, place)' INTO names USING names, scope;
    END IF;
    IF is_flow THEN
        EXECUTE format('SELECT array_agg(DISTINCT s.version_id) FROM %I s WHERE s.storage_id = $1 AND s.id = ANY($2)',
            names[3]) INTO ids USING scope, ids;
    END IF;
    FOR first IN SELECT generate_series(1, cardinality(ids), 500) LOOP
        EXECUTE format($sql$ {KEEP} $sql$, VARIADIC names) USING scope, ids[first : first + 499];
    END LOOP;
    RETURN NULL;
END $$
"""  # noqa: S608  constants
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
    dependencies = [("elements", "0036_searchdocument_drawn")]
    operations = [
        migrations.RunSQL(DECODED, "DROP FUNCTION IF EXISTS elements_search_decoded(text)"),
        migrations.RunSQL(MARKUP_OF, changed(earlier.MARKUP_OF)),
        migrations.RunSQL(TEXTS_OF, changed(earlier.TEXTS_OF)),
        migrations.RunSQL(POST_WORDS, earlier.POST_WORDS),
        migrations.RunSQL(KEEP_DRAWN, "DROP FUNCTION IF EXISTS elements_keep_drawn()"),
        migrations.RunPython(add_triggers, remove_triggers),
        migrations.RunPython(fill, migrations.RunPython.noop),
        AddIndexConcurrently("element", models.Index(fields=["storage_id", "creation_id"], name="element_by_creation")),
    ]
