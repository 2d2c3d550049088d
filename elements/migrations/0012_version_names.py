import django.db.models.deletion
import django.db.models.functions.comparison
import uuid
from django.db import migrations, models

from storage.tenancy.migration_operations import IsolateTenantTable, StorageThroughOwner

# What `elements.filters.syntax.fold_case` does to letters beyond ASCII, one by one.
LETTERS = [letter for letter in map(chr, range(0x80, 0x20000)) if letter.lower()[0] != letter]
# Of those letters that occur one after the other: `translate` would look for each character among all of them.
FOLD = f"""
CREATE FUNCTION elements_fold_case(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    letters CONSTANT text := '{"".join(LETTERS)}';
    folded CONSTANT text := '{"".join(each.lower()[0] for each in LETTERS)}';
    found text := lower(value COLLATE "C");
    letter text;
BEGIN
    IF octet_length(value) > length(value) THEN
        FOR letter IN SELECT DISTINCT matched[1] COLLATE "C" FROM regexp_matches(
            value COLLATE "C", '([{"".join(LETTERS)}])', 'g') AS matched LOOP
            found := replace(found, letter, substr(folded, strpos(letters, letter), 1));
        END LOOP;
    END IF;
    RETURN found;
END $$
"""
NAMES_OF = """
CREATE FUNCTION elements_names_of(attributes jsonb) RETURNS SETOF text LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT DISTINCT elements_fold_case(left(given.value #>> '{}', 200))
    FROM jsonb_each(CASE jsonb_typeof(attributes -> 'name') WHEN 'object' THEN attributes -> 'name' END) AS given
    WHERE jsonb_typeof(given.value) = 'string'
$$
"""
# Which versions are called otherwise is found by EXCEPT, which takes a time in proportion: nothing is known of how many
# rows the tables of a trigger have, and a join of both might look at all of one for each of the other.
KEEP = """
CREATE FUNCTION elements_keep_names() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed uuid[];
BEGIN
    -- A storage that is being removed loses them with everything else.
    IF TG_OP = 'DELETE' AND nullif(current_setting('repository.removing', true), '') IS NULL THEN
        DELETE FROM elements_versionname n USING before b WHERE n.storage_id = b.storage_id AND n.version_id = b.id;
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO elements_versionname (storage_id, id, version_id, folded)
            SELECT a.storage_id, gen_random_uuid(), a.id, name FROM after a, elements_names_of(a.attributes) name;
    ELSIF TG_OP = 'UPDATE' THEN
        changed := ARRAY(SELECT id FROM (SELECT storage_id, id, attributes -> 'name' FROM after
            EXCEPT SELECT storage_id, id, attributes -> 'name' FROM before) AS renamed);
        IF cardinality(changed) > 0 THEN
            DELETE FROM elements_versionname n USING after a
                WHERE a.id = ANY(changed) AND n.storage_id = a.storage_id AND n.version_id = a.id;
            INSERT INTO elements_versionname (storage_id, id, version_id, folded)
                SELECT a.storage_id, gen_random_uuid(), a.id, name FROM after a, elements_names_of(a.attributes) name
                WHERE a.id = ANY(changed);
        END IF;
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
