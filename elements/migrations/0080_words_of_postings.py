"""New words get into the vocabulary with their postings, whoever writes these: a trigger of documents, or an import (D620).

The words of files begin with @; their own trigger knows their stems.
"""

from importlib import import_module

from django.db import migrations

IDS = import_module("elements.migrations.0032_cheaper_search_index").IDS
# Because of its order, the sub-select is one index look-up for each word, even if its plan was made when the table was
# small.
ADD = f"""INSERT INTO {{vocabulary}} (storage_id, id, word, stem)
        SELECT s.storage_id, {IDS}, s.word, s.stem FROM (SELECT DISTINCT n.storage_id, n.word,
                unnest(ARRAY[n.word] || ts_lexize('pg_catalog.german_stem', n.word)
                    || ts_lexize('pg_catalog.english_stem', n.word)) AS stem
            FROM after n WHERE n.word NOT LIKE '@%' AND (SELECT x.id FROM {{vocabulary}} x
                WHERE x.storage_id = n.storage_id AND x.word = n.word ORDER BY x.storage_id, x.word LIMIT 1) IS NULL) s"""  # noqa: S608  constants
ADD_WORDS = f"""
CREATE FUNCTION elements_add_words() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
    vocabulary text := 'elements_searchword';
BEGIN
    IF TG_TABLE_NAME <> 'elements_searchposting' THEN
        EXECUTE 'SELECT $1 || ''_'' || get_shard_id_for_distribution_column($1::regclass, $2)'
            INTO vocabulary USING vocabulary, current_setting('repository.storage')::uuid;
        EXECUTE format($sql$ {ADD.format(vocabulary="%1$I").replace("'@%'", "'@%%'")} $sql$, vocabulary);
    ELSE
        {ADD.format(vocabulary="elements_searchword")};
    END IF;
    RETURN NULL;
END $$
"""  # noqa: S608  constants


class Migration(migrations.Migration):
    dependencies = [("elements", "0077_growth_of_past_sources")]
    operations = [
        migrations.RunSQL(ADD_WORDS, "DROP FUNCTION elements_add_words()"),
        migrations.RunSQL(
            "CREATE TRIGGER words_added AFTER INSERT ON elements_searchposting REFERENCING NEW TABLE AS after"
            " FOR EACH STATEMENT EXECUTE FUNCTION elements_add_words()",
            "DROP TRIGGER words_added ON elements_searchposting",
        ),
    ]
