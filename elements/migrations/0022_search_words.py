"""Words of a storage and their stems, and the trigger that adds the words of documents (D380, D381).

On a node of a distributed database, the trigger of a shard must name the shards of the other tables. Elsewhere the
tables have fixed names, so that PostgreSQL keeps the plans.
"""

import uuid

from django.db import migrations, models
from django.db.models import Func, Value
from django.db.models.functions import Cast

from storage.tenancy.migration_operations import IsolateTenantTable

STORAGE = Cast(
    Func(Value("repository.storage"), function="current_setting", output_field=models.TextField()),
    output_field=models.UUIDField(),
)
# The words of all lines, each once; `in_name` if a word occurs in a name.
WORDS = r"""SELECT {of}.storage_id, {of}.id, w.word, bool_or(w.in_name) AS in_name FROM {source}
    CROSS JOIN LATERAL (
        SELECT unnest(string_to_array(translate({of}.names, E'\n', ' '), ' ')) AS word, TRUE AS in_name
        UNION ALL SELECT unnest(string_to_array(translate({of}.texts, E'\n', ' '), ' ')), FALSE) w
    WHERE w.word <> ''{condition} GROUP BY 1, 2, 3"""
ALL_WORDS = WORDS.format(of="d", source="{documents} d", condition=" AND d.storage_id = {scope} AND d.id = ANY({ids})")
# A word of a text is added again if it gets into a name.
NEW_WORDS = f"""{WORDS.format(of="a", source="after a", condition="")}
    EXCEPT {WORDS.format(of="b", source="before b", condition="")}"""
# Because of its order, the sub-select is one index look-up for each word, even if its plan was made when the table was
# small.
POST = """WITH words AS MATERIALIZED ({words}),
    posted AS (INSERT INTO {postings} (storage_id, id, word, in_name, size, versions)
        SELECT w.storage_id, gen_random_uuid(), w.word, w.in_name, count(*), array_agg(w.id)
        FROM words w GROUP BY w.storage_id, w.word, w.in_name)
    INSERT INTO {vocabulary} (storage_id, id, word, stem)
        SELECT n.storage_id, gen_random_uuid(), n.word, s.stem
        FROM (SELECT DISTINCT w.storage_id, w.word FROM words w) n CROSS JOIN LATERAL (SELECT n.word AS stem
            UNION SELECT unnest(ts_lexize('pg_catalog.german_stem', n.word))
            UNION SELECT unnest(ts_lexize('pg_catalog.english_stem', n.word))) s
        WHERE (SELECT x.id FROM {vocabulary} x
            WHERE x.storage_id = n.storage_id AND x.word = n.word ORDER BY x.storage_id, x.word LIMIT 1) IS NULL"""
FIXED = {
    "documents": "elements_searchdocument",
    "postings": "elements_searchposting",
    "vocabulary": "elements_searchword",
    "scope": "scope",
    "ids": "ids[first : first + 499]",
}
COMPOSED = {"documents": "%1$I", "postings": "%2$I", "vocabulary": "%3$I", "scope": "$1", "ids": "$2"}


def posting(words: str, names: dict[str, str]) -> str:
    return POST.format(words=words.format(**names), **{key: names[key] for key in ("postings", "vocabulary")})


# A restored storage inserts all its versions at once, so their words are added in portions.
POST_WORDS = f"""
CREATE FUNCTION elements_post_words() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    scope uuid := nullif(current_setting('repository.storage', true), '')::uuid;
    postings text := 'elements_searchposting';
    vocabulary text := 'elements_searchword';
    is_shard boolean := TG_TABLE_NAME <> 'elements_searchdocument';
    ids uuid[];
    first int;
BEGIN
    ids := ARRAY(SELECT id FROM after);
    IF cardinality(ids) = 0 THEN
        RETURN NULL;
    END IF;
    IF is_shard THEN
        EXECUTE 'SELECT $1 || ''_'' || get_shard_id_for_distribution_column($1::regclass, $3),'
            ' $2 || ''_'' || get_shard_id_for_distribution_column($2::regclass, $3)'
            INTO postings, vocabulary USING postings, vocabulary, scope;
    END IF;
    IF TG_OP = 'UPDATE' AND is_shard THEN
        EXECUTE format($sql$ {posting(NEW_WORDS, COMPOSED)} $sql$, TG_TABLE_NAME, postings, vocabulary);
    ELSIF TG_OP = 'UPDATE' THEN
        {posting(NEW_WORDS, FIXED)};
    ELSE
        FOR first IN SELECT generate_series(1, cardinality(ids), 500) LOOP
            IF is_shard THEN
                EXECUTE format($sql$ {posting(ALL_WORDS, COMPOSED)} $sql$, TG_TABLE_NAME, postings, vocabulary)
                    USING scope, {FIXED["ids"]};
            ELSE
                {posting(ALL_WORDS, FIXED)};
            END IF;
        END LOOP;
    END IF;
    RETURN NULL;
END $$
"""  # noqa: S608  constants
TRIGGERS = {
    "insert": "AFTER INSERT ON elements_searchdocument REFERENCING NEW TABLE AS after",
    "update": "AFTER UPDATE ON elements_searchdocument REFERENCING OLD TABLE AS before NEW TABLE AS after",
}


class Migration(migrations.Migration):
    dependencies = [("elements", "0021_search_postings")]
    operations = [
        migrations.CreateModel(
            name="SearchWord",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("word", models.TextField(db_collation="C")),
                ("stem", models.TextField(db_collation="C")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["storage_id", "word"], name="search_word_by_word"),
                    models.Index(fields=["storage_id", "stem"], name="search_word_by_stem"),
                ],
            },
        ),
        IsolateTenantTable("searchword"),
        migrations.RunSQL(POST_WORDS, "DROP FUNCTION elements_post_words()"),
        *(
            migrations.RunSQL(
                f"CREATE TRIGGER words_posted_on_{name} {text}"
                " FOR EACH STATEMENT EXECUTE FUNCTION elements_post_words()",
                f"DROP TRIGGER words_posted_on_{name} ON elements_searchdocument",
            )
            for name, text in TRIGGERS.items()
        ),
    ]
