"""Triggers that maintain the searched words of versions (D380).

On a node of a distributed database, the trigger of a shard must name the shard of the documents. Elsewhere the table
has a fixed name, so that PostgreSQL keeps the plans.
"""

from django.db import migrations

# Few changes touch the attributes. EXCEPT finds them in linear time.
KEEP = """INSERT INTO {documents} AS d (storage_id, id, names, texts)
    SELECT a.storage_id, a.id, t.names, t.texts
    FROM after a CROSS JOIN LATERAL elements_search_texts(a.attributes) t
    WHERE {changed} IS NULL OR a.id IN (SELECT unnest({changed}))
    ON CONFLICT (storage_id, id) DO UPDATE SET names = excluded.names, texts = excluded.texts
    WHERE (d.names, d.texts) IS DISTINCT FROM (excluded.names, excluded.texts)"""
REMOVE = "DELETE FROM {documents} d USING before b WHERE d.storage_id = b.storage_id AND d.id = b.id"
KEEP_DOCUMENTS = f"""
CREATE FUNCTION elements_keep_documents() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    documents text := 'elements_searchdocument';
    is_shard boolean := TG_TABLE_NAME <> 'elements_elementversion';
    changed uuid[];
BEGIN
    -- Removing a storage deletes its documents with everything else.
    IF TG_OP = 'DELETE' AND nullif(current_setting('repository.removing', true), '') IS NOT NULL THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        changed := ARRAY(SELECT id FROM (SELECT id, attributes FROM after
            EXCEPT SELECT id, attributes FROM before) AS rewritten);
        IF cardinality(changed) = 0 THEN
            RETURN NULL;
        END IF;
    END IF;
    IF is_shard THEN
        EXECUTE 'SELECT $1 || ''_'' || get_shard_id_for_distribution_column($1::regclass, $2)'
            INTO documents USING documents, current_setting('repository.storage')::uuid;
    END IF;
    IF TG_OP = 'DELETE' AND is_shard THEN
        EXECUTE format('{REMOVE.format(documents="%I")}', documents);
    ELSIF TG_OP = 'DELETE' THEN
        {REMOVE.format(documents="elements_searchdocument")};
    ELSIF is_shard THEN
        EXECUTE format('{KEEP.format(documents="%I", changed="$1")}', documents) USING changed;
    ELSE
        {KEEP.format(documents="elements_searchdocument", changed="changed")};
    END IF;
    RETURN NULL;
END $$
"""  # noqa: S608  constants
TRIGGERS = {
    "insert": "NEW TABLE AS after",
    "update": "OLD TABLE AS before NEW TABLE AS after",
    "delete": "OLD TABLE AS before",
}


class Migration(migrations.Migration):
    dependencies = [("elements", "0022_search_words")]
    operations = [
        migrations.RunSQL(KEEP_DOCUMENTS, "DROP FUNCTION elements_keep_documents()"),
        *(
            migrations.RunSQL(
                f"CREATE TRIGGER search_kept_on_{name} AFTER {name.upper()} ON elements_elementversion"
                f" REFERENCING {tables} FOR EACH STATEMENT EXECUTE FUNCTION elements_keep_documents()",
                f"DROP TRIGGER search_kept_on_{name} ON elements_elementversion",
            )
            for name, tables in TRIGGERS.items()
        ),
    ]
