"""The trigger that keeps names writes into the shard beside its own in a distributed database (D251).

A statement of a node that reaches other tables by their usual names cannot read transition tables.
"""

from django.db import migrations

# Statements are composed, because only then their table can vary. Few changes rename anything.
KEEP_NAMES = """
CREATE OR REPLACE FUNCTION elements_keep_names() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed uuid[];
    names text := 'elements_versionname';
    remove text := 'DELETE FROM %I n USING %s g WHERE n.storage_id = g.storage_id AND n.version_id = g.id';
    add text := 'INSERT INTO %I (storage_id, id, version_id, folded)'
        ' SELECT a.storage_id, gen_random_uuid(), a.id, name FROM after a, elements_names_of(a.attributes) name';
BEGIN
    IF TG_TABLE_NAME <> 'elements_elementversion' THEN
        EXECUTE 'SELECT $1 || ''_'' || get_shard_id_for_distribution_column($1::regclass, $2)'
            INTO names USING names, current_setting('repository.storage')::uuid;
    END IF;
    -- Removing a storage deletes its names with everything else.
    IF TG_OP = 'DELETE' AND nullif(current_setting('repository.removing', true), '') IS NULL THEN
        EXECUTE format(remove, names, 'before');
    ELSIF TG_OP = 'INSERT' THEN
        EXECUTE format(add, names);
    ELSIF TG_OP = 'UPDATE' THEN
        changed := ARRAY(SELECT id FROM (SELECT storage_id, id, attributes -> 'name' FROM after
            EXCEPT SELECT storage_id, id, attributes -> 'name' FROM before) AS renamed);
        IF cardinality(changed) > 0 THEN
            EXECUTE format(remove || ' AND g.id = ANY($1)', names, 'after') USING changed;
            EXECUTE format(add || ' WHERE a.id = ANY($1)', names) USING changed;
        END IF;
    END IF;
    RETURN NULL;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("elements", "0009_marks_on_shards")]
    operations = [migrations.RunSQL(KEEP_NAMES, migrations.RunSQL.noop)]
