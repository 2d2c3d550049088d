"""Triggers that keep the words of files in the search index (D447).

On a node of a distributed database, the trigger of a shard must name the shards of the other tables. These triggers run
once for each content, so they compose their statements everywhere.
"""

from importlib import import_module

from django.db import migrations

IDS = import_module("elements.migrations.0032_cheaper_search_index").IDS
# Blanks separate the words and the line breaks. A text keeps its lines, so that an excerpt finds the place of a word.
KEEP_FILE_WORDS = """
CREATE OR REPLACE FUNCTION elements_keep_file_words() RETURNS trigger LANGUAGE plpgsql SET jit = off AS $$
DECLARE
    files text := 'elements_searchfile';
BEGIN
    IF TG_OP = 'DELETE' AND nullif(current_setting('repository.removing', true), '') IS NOT NULL THEN
        RETURN NULL;
    END IF;
    IF TG_TABLE_NAME <> 'storage_filetext' THEN
        EXECUTE 'SELECT $1 || ''_'' || get_shard_id_for_distribution_column($1::regclass, $2)'
            INTO files USING files, current_setting('repository.storage')::uuid;
    END IF;
    IF TG_OP = 'DELETE' THEN
        EXECUTE format('DELETE FROM %I s USING before b WHERE s.storage_id = b.storage_id AND s.id = b.id', files);
    ELSE
        EXECUTE format($sql$ INSERT INTO %I (storage_id, id, words)
            SELECT a.storage_id, a.id, elements_search_fold(replace(a.text, E'\\n', E' \\n '))
            FROM after a WHERE a.text <> '' ON CONFLICT DO NOTHING $sql$, files);
    END IF;
    RETURN NULL;
END $$
"""
POST = f"""WITH posted AS (INSERT INTO %2$I AS p (storage_id, id, word, in_name, size, versions)
        SELECT w.storage_id, {IDS}, '@' || w.word, FALSE, count(*), array_agg(w.id)
        FROM (SELECT s.storage_id, s.id, u.word FROM %1$I s
            CROSS JOIN LATERAL (SELECT DISTINCT unnest(string_to_array(s.words, ' ')) AS word) u
            WHERE s.storage_id = $1 AND s.id = ANY($2) AND u.word <> '' AND u.word <> E'\\n') w
        GROUP BY w.storage_id, w.word RETURNING p.storage_id, p.word)
    INSERT INTO %3$I (storage_id, id, word, stem)
        SELECT n.storage_id, {IDS}, n.word, '@' || n.stem FROM (SELECT DISTINCT p.storage_id, p.word,
                unnest(ARRAY[substr(p.word, 2)] || ts_lexize('pg_catalog.german_stem', substr(p.word, 2))
                    || ts_lexize('pg_catalog.english_stem', substr(p.word, 2))) AS stem
            FROM posted p WHERE (SELECT x.id FROM %3$I x
                WHERE x.storage_id = p.storage_id AND x.word = p.word ORDER BY x.storage_id, x.word LIMIT 1) IS NULL) n"""
# A restored storage inserts all its files at once, so their words are added in portions.
POST_FILE_WORDS = f"""
CREATE OR REPLACE FUNCTION elements_post_file_words() RETURNS trigger
    LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
    scope uuid := nullif(current_setting('repository.storage', true), '')::uuid;
    names text[] := ARRAY['elements_searchfile', 'elements_searchposting', 'elements_searchword'];
    ids uuid[] := ARRAY(SELECT id FROM after);
    first int;
BEGIN
    IF TG_TABLE_NAME <> 'elements_searchfile' THEN
        EXECUTE 'SELECT array_agg(n.name || ''_'' || get_shard_id_for_distribution_column(n.name::regclass, $2)'
            ' ORDER BY n.place) FROM unnest($1) WITH ORDINALITY AS n(name, place)' INTO names USING names, scope;
    END IF;
    FOR first IN SELECT generate_series(1, cardinality(ids), 20) LOOP
        EXECUTE format($sql$ {POST} $sql$, VARIADIC names) USING scope, ids[first : first + 19];
    END LOOP;
    RETURN NULL;
END $$
"""  # noqa: S608  constants
EVENTS = {
    "insert": "NEW TABLE AS after",
    "update": "NEW TABLE AS after",
    "delete": "OLD TABLE AS before",
}


class Migration(migrations.Migration):
    dependencies = [("elements", "0049_search_files")]
    operations = [
        migrations.RunSQL(KEEP_FILE_WORDS, "DROP FUNCTION elements_keep_file_words()"),
        migrations.RunSQL(POST_FILE_WORDS, "DROP FUNCTION elements_post_file_words()"),
        *(
            migrations.RunSQL(
                f"CREATE TRIGGER file_words_kept_on_{event} AFTER {event.upper()} ON storage_filetext"
                f" REFERENCING {rows} FOR EACH STATEMENT EXECUTE FUNCTION elements_keep_file_words()",
                f"DROP TRIGGER file_words_kept_on_{event} ON storage_filetext",
            )
            for event, rows in EVENTS.items()
        ),
        migrations.RunSQL(
            "CREATE TRIGGER file_words_posted AFTER INSERT ON elements_searchfile REFERENCING NEW TABLE AS after"
            " FOR EACH STATEMENT EXECUTE FUNCTION elements_post_file_words()",
            "DROP TRIGGER file_words_posted ON elements_searchfile",
        ),
        # Responses of the search depend on the words of files, so their entity tags must change (D129).
        migrations.RunSQL(
            "CREATE TRIGGER content_changed AFTER INSERT OR DELETE ON elements_searchfile"
            " FOR EACH STATEMENT EXECUTE FUNCTION elements_mark_content()",
            "DROP TRIGGER content_changed ON elements_searchfile",
        ),
    ]
