import django.db.models.deletion
import django.db.models.functions.comparison
import uuid
from django.db import migrations, models

from storage.migration_operations import IsolateTenantTable, StorageThroughOwner

# What `elements.filters.syntax.fold_case` does to letters beyond ASCII, one by one.
LETTERS = [letter for letter in map(chr, range(0x80, 0x20000)) if letter.lower()[0] != letter]
FOLD = f"""
CREATE FUNCTION elements_fold_case(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT CASE WHEN octet_length(value) = length(value) THEN lower(value COLLATE "C")
        ELSE translate(lower(value COLLATE "C"), '{"".join(LETTERS)}', '{"".join(each.lower()[0] for each in LETTERS)}')
        END
$$
"""
NAMES_OF = """
CREATE FUNCTION elements_names_of(attributes jsonb) RETURNS SETOF text LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT DISTINCT elements_fold_case(left(given.value #>> '{}', 200))
    FROM jsonb_each(CASE jsonb_typeof(attributes -> 'name') WHEN 'object' THEN attributes -> 'name' END) AS given
    WHERE jsonb_typeof(given.value) = 'string'
$$
"""
KEEP = """
CREATE FUNCTION elements_keep_names() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NOT EXISTS (
            SELECT FROM after a JOIN before b ON b.storage_id = a.storage_id AND b.id = a.id
            WHERE b.attributes -> 'name' IS DISTINCT FROM a.attributes -> 'name') THEN
            RETURN NULL;
        END IF;
        DELETE FROM elements_versionname n USING after a JOIN before b ON b.storage_id = a.storage_id AND b.id = a.id
            WHERE n.storage_id = a.storage_id AND n.version_id = a.id
            AND b.attributes -> 'name' IS DISTINCT FROM a.attributes -> 'name';
        INSERT INTO elements_versionname (storage_id, id, version_id, folded)
            SELECT a.storage_id, gen_random_uuid(), a.id, name
            FROM after a JOIN before b ON b.storage_id = a.storage_id AND b.id = a.id, elements_names_of(a.attributes) name
            WHERE b.attributes -> 'name' IS DISTINCT FROM a.attributes -> 'name';
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO elements_versionname (storage_id, id, version_id, folded)
            SELECT a.storage_id, gen_random_uuid(), a.id, name FROM after a, elements_names_of(a.attributes) name;
    ELSE
        DELETE FROM elements_versionname n USING before b WHERE n.storage_id = b.storage_id AND n.version_id = b.id;
    END IF;
    RETURN NULL;
END $$
"""
TRIGGERS = {
    "INSERT": "NEW TABLE AS after",
    "UPDATE": "OLD TABLE AS before NEW TABLE AS after",
    "DELETE": "OLD TABLE AS before",
}
TRIGGER = """
CREATE TRIGGER names_kept_on_{name} AFTER {event} ON elements_elementversion REFERENCING {tables}
    FOR EACH STATEMENT EXECUTE FUNCTION elements_keep_names()
"""


class Migration(migrations.Migration):

    dependencies = [
        ('elements', '0011_content_marks'),
    ]

    operations = [
        migrations.CreateModel(
            name='VersionName',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('storage_id', models.UUIDField(db_default=django.db.models.functions.comparison.Cast(models.Func(models.Value('repository.storage'), function='current_setting', output_field=models.TextField()), output_field=models.UUIDField()), editable=False)),
                ('folded', models.TextField(db_collation='C', help_text='As filters fold letter case, and cut.')),
                ('version', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='elements.elementversion')),
            ],
            options={
                'indexes': [models.Index(fields=['storage_id', 'folded', 'version'], name='name_by_text'), models.Index(fields=['storage_id', 'version'], name='name_by_version')],
            },
        ),
        IsolateTenantTable("VersionName"),
        StorageThroughOwner("VersionName"),
        migrations.RunSQL(FOLD, "DROP FUNCTION elements_fold_case(text)"),
        migrations.RunSQL(NAMES_OF, "DROP FUNCTION elements_names_of(jsonb)"),
        migrations.RunSQL(KEEP, "DROP FUNCTION elements_keep_names()"),
        *(
            migrations.RunSQL(
                TRIGGER.format(name=event.lower(), event=event, tables=tables),
                f"DROP TRIGGER names_kept_on_{event.lower()} ON elements_elementversion",
            )
            for event, tables in TRIGGERS.items()
        ),
    ]
