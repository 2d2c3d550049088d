"""The trigger of documents leaves the postings to an import that writes them itself, and the vocabulary to the trigger of
postings (D620)."""

from importlib import import_module

from django.db import migrations

words = import_module("elements.migrations.0032_cheaper_search_index")
drawn = import_module("elements.migrations.0037_search_in_diagrams")

POST = """INSERT INTO {postings} (storage_id, id, word, in_name, size, versions)
        SELECT w.storage_id, {made}, w.word, w.in_name, count(*), array_agg(w.id)
        FROM ({words}) w GROUP BY w.storage_id, w.word, w.in_name"""


def posting(found: str, names: dict[str, str]) -> str:
    return POST.format(words=found.format(**names), made=words.IDS, postings=names["postings"])


# Without nested loops, the rows before and after a change are joined in linear time.
POST_WORDS = drawn.changed(
    f"""
CREATE OR REPLACE FUNCTION elements_post_words() RETURNS trigger
    LANGUAGE plpgsql SET enable_seqscan = off SET enable_nestloop = off SET jit = off AS $$
DECLARE
    scope uuid := nullif(current_setting('repository.storage', true), '')::uuid;
    postings text := 'elements_searchposting';
    is_shard boolean := TG_TABLE_NAME <> 'elements_searchdocument';
    ids uuid[];
    first int;
BEGIN
    IF TG_OP = 'INSERT' AND current_setting('repository.posted', true) = scope::text THEN
        RETURN NULL;
    END IF;
    ids := ARRAY(SELECT id FROM after);
    IF cardinality(ids) = 0 THEN
        RETURN NULL;
    END IF;
    IF is_shard THEN
        EXECUTE 'SELECT $1 || ''_'' || get_shard_id_for_distribution_column($1::regclass, $2)'
            INTO postings USING postings, scope;
    END IF;
    IF TG_OP = 'UPDATE' AND is_shard THEN
        EXECUTE format($sql$ {posting(words.NEW_WORDS, words.COMPOSED)} $sql$, TG_TABLE_NAME, postings);
    ELSIF TG_OP = 'UPDATE' THEN
        {posting(words.NEW_WORDS, words.FIXED)};
    ELSE
        FOR first IN SELECT generate_series(1, cardinality(ids), 1000) LOOP
            IF is_shard THEN
                EXECUTE format($sql$ {posting(words.ALL_WORDS, words.COMPOSED)} $sql$, TG_TABLE_NAME, postings)
                    USING scope, {words.FIXED["ids"]};
            ELSE
                {posting(words.ALL_WORDS, words.FIXED)};
            END IF;
        END LOOP;
    END IF;
    RETURN NULL;
END $$
""",  # noqa: S608  constants
    *drawn.DRAWN_WORDS,
)


class Migration(migrations.Migration):
    dependencies = [("elements", "0080_words_of_postings")]
    operations = [migrations.RunSQL(POST_WORDS, drawn.POST_WORDS)]
