"""Cheaper functions of the search index, with the same documents and words as before (D426).

PostgreSQL copies the text of `elements_search_texts` into the statement that calls it: the function is not strict and has
no settings. OFFSET 0 keeps it from evaluating the same expression several times.
"""

from importlib import import_module

from django.db import migrations

documents = import_module("elements.migrations.0020_search_documents")
triggers = import_module("elements.migrations.0023_search_triggers")
markup = import_module("elements.migrations.0025_markup_in_search_index")
scripts = import_module("elements.migrations.0028_search_scripts")
portions = import_module("elements.migrations.0030_search_without_jit")

# Each match of a regular expression takes about a microsecond, so single blanks do not match, and most signs are replaced
# before. The length of a text is counted once.
BETWEEN = scripts.SEPARATORS
SIGNS = BETWEEN.replace(r"\u000b-\u002f", r"\u000b-\u001f\u0021-\u002f")
FOLD = rf"""
CREATE OR REPLACE FUNCTION elements_search_fold(given text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    found text := given;
    is_cut boolean := octet_length(given) > 200000 AND length(given) > 200000;
    is_plain boolean;
BEGIN
    IF is_cut THEN
        found := left(found, 200000);
    END IF;
    is_plain := octet_length(found) = length(found);
    IF NOT is_plain THEN
        found := {scripts.REPLACED};
        is_plain := octet_length(found) = length(found);
        IF NOT is_plain THEN
            found := regexp_replace(normalize(found, NFKD) COLLATE "C", '[{scripts.DROPPED}]+', '', 'g');
            found := elements_fold_case(replace(replace(found, 'ß', 'ss'), 'ẞ', 'ss'));
        END IF;
    END IF;
    found := replace(replace(replace(lower(found COLLATE "C"), '. ', ' '), ', ', ' '), ': ', ' ');
    IF found ~ '[^a-z0-9 \n]|  ' THEN
        found := regexp_replace(found, ' [{BETWEEN}]+|[{SIGNS}][{BETWEEN}]*', ' ', 'g');
        IF NOT is_plain AND found ~ '[{scripts.UNSPACED}]' THEN
            -- ABC becomes A AB BC C. Long texts would have tens of thousands of words.
            is_cut := is_cut OR length(found) > 20000;
            found := left(found, 20000);
            found := regexp_replace(
                regexp_replace(found, '([{scripts.UNSPACED}]+)', ' \1 ', 'g'), '([{scripts.UNSPACED}])', '\1 \1', 'g');
            found := regexp_replace(found, '  +', ' ', 'g');
        END IF;
    END IF;
    IF found ~ '[^ \n]{{41}}' THEN
        found := regexp_replace(found, '([^ \n]{{40}})[^ \n]+', '\1', 'g');
        is_cut := true;
    END IF;
    RETURN E'\n ' || btrim(found, ' ') || CASE WHEN is_cut THEN E' … \n' ELSE E' \n' END;
END $$
"""
# The words of the markup of texts (D408).
MARKUP_OF = rf"""
CREATE FUNCTION elements_search_markup(given text[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET jit = off AS $$
DECLARE
    markup text := (SELECT string_agg(m.found[1], ' ') FROM unnest(given) AS g(text)
        CROSS JOIN LATERAL regexp_matches(g.text, '{markup.MARKUP}', 'g') AS m(found));
BEGIN
    IF length(markup) > 2000 THEN
        RETURN E' … \n';
    END IF;
    RETURN (SELECT ' ' || string_agg(DISTINCT CASE w.word WHEN '…' THEN '…' ELSE '<' || w.word END, ' ') || E' \n'
        FROM unnest(string_to_array(translate(elements_search_fold(markup), E'\n', ' '), ' ')) AS w(word)
        WHERE (length(w.word) > 2 OR w.word = '…') AND w.word <> ALL('{{{markup.COMMON}}}'));
END $$
"""  # noqa: S608  constants
TEXTS_OF = rf"""
CREATE FUNCTION elements_search_texts(attributes jsonb) RETURNS TABLE (names text, texts text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(elements_search_fold(t.names), ''),
        coalesce(elements_search_fold(t.texts), '') || coalesce(elements_search_markup(t.marked), '')
    FROM (SELECT string_agg(h.line, E' \n ') FILTER (WHERE h.is_name) AS names,
            string_agg(h.line, E' \n ') FILTER (WHERE NOT h.is_name) AS texts,
            array_agg(h.text) FILTER (
                WHERE h.is_markup AND replace(h.text, '{markup.DECLARATION}', '') ~ '<[^>]{{3}}|&') AS marked
        FROM (SELECT g.is_name, g.text, g.is_markup, replace(CASE WHEN g.is_markup
                    THEN regexp_replace(g.text, '{markup.MARKUP}', ' ', 'g') ELSE g.text END, E'\n', ' ') AS line
            FROM (SELECT f.is_name, f.text, f.text ~ '^\s*<\?xml\s' AS is_markup
                FROM (SELECT a.key = 'name' AS is_name,
                        CASE jsonb_typeof(c.value) WHEN 'string' THEN c.value #>> '{{}}'
                            WHEN 'array' THEN (SELECT string_agg(i ->> 'title', ' / ')
                                FROM jsonb_array_elements(c.value) i WHERE jsonb_typeof(i) = 'object') END AS text
                    FROM jsonb_each(attributes) a
                    CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(a.value) WHEN 'object' THEN a.value END) c
                    OFFSET 0) f
                WHERE f.is_name OR f.text !~ '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(T[0-9:.]+)?$' OFFSET 0) g
            OFFSET 0) h) t
$$
"""
# Lines of a document that another one does not have. Most changes leave most lines alone.
ADDED = r"""
CREATE FUNCTION elements_search_added(before text, after text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    line text;
    found text := '';
BEGIN
    IF before <> after THEN
        FOREACH line IN ARRAY string_to_array(after, E'\n') LOOP
            IF strpos(before, E'\n' || line || E'\n') = 0 THEN
                found := found || line;
            END IF;
        END LOOP;
    END IF;
    RETURN found;
END $$
"""
# Blanks separate the words and the line breaks of a document. Each document is grouped by itself: small hash tables are
# fast.
ALL_WORDS = r"""SELECT d.storage_id, d.id, w.word, w.in_name FROM {documents} d
    CROSS JOIN LATERAL (SELECT u.word, bool_or(u.in_name) AS in_name
        FROM (SELECT unnest(string_to_array(d.names, ' ')) AS word, TRUE AS in_name
            UNION ALL SELECT unnest(string_to_array(d.texts, ' ')), FALSE) u
        WHERE u.word <> '' AND u.word <> E'\n' GROUP BY u.word) w
    WHERE d.storage_id = {scope} AND d.id = ANY({ids})"""
# A word of a text is added again if it gets into a name.
NEW_WORDS = r"""SELECT c.storage_id, c.id, w.word, bool_or(w.in_name AND NOT w.is_lost) AS in_name
    FROM (SELECT a.storage_id, a.id, elements_search_added(b.names, a.names) AS names,
            elements_search_added(b.texts, a.texts) AS texts, elements_search_added(a.names, b.names) AS lost_names,
            elements_search_added(a.texts, b.texts) AS lost_texts
        FROM after a JOIN before b ON b.storage_id = a.storage_id AND b.id = a.id OFFSET 0) c
    CROSS JOIN LATERAL (SELECT unnest(string_to_array(c.names, ' ')) AS word, TRUE AS in_name, FALSE AS is_lost
        UNION ALL SELECT unnest(string_to_array(c.texts, ' ')), FALSE, FALSE
        UNION ALL SELECT unnest(string_to_array(c.lost_names, ' ')), TRUE, TRUE
        UNION ALL SELECT unnest(string_to_array(c.lost_texts, ' ')), FALSE, TRUE) w
    WHERE w.word <> '' AND w.word <> E'\n' GROUP BY 1, 2, 3
    HAVING NOT bool_or(w.is_lost) OR bool_or(w.in_name AND NOT w.is_lost) AND NOT bool_or(w.in_name AND w.is_lost)"""
# Ascending ids of one statement, which an index stores side by side; and PostgreSQL asks the kernel for each random one.
IDS = "((SELECT left(gen_random_uuid()::text, 24)) || lpad(to_hex(row_number() OVER ()), 12, '0'))::uuid"
# Because of its order, the sub-select is one index look-up for each word, even if its plan was made when the table was
# small.
POST = """WITH posted AS (INSERT INTO {postings} AS p (storage_id, id, word, in_name, size, versions)
        SELECT w.storage_id, {made}, w.word, w.in_name, count(*), array_agg(w.id)
        FROM ({words}) w GROUP BY w.storage_id, w.word, w.in_name RETURNING p.storage_id, p.word)
    INSERT INTO {vocabulary} (storage_id, id, word, stem)
        SELECT s.storage_id, {made}, s.word, s.stem FROM (SELECT DISTINCT n.storage_id, n.word,
                unnest(ARRAY[n.word] || ts_lexize('pg_catalog.german_stem', n.word)
                    || ts_lexize('pg_catalog.english_stem', n.word)) AS stem
            FROM posted n WHERE (SELECT x.id FROM {vocabulary} x
                WHERE x.storage_id = n.storage_id AND x.word = n.word ORDER BY x.storage_id, x.word LIMIT 1) IS NULL) s"""
FIXED = {
    "documents": "elements_searchdocument",
    "postings": "elements_searchposting",
    "vocabulary": "elements_searchword",
    "scope": "scope",
    "ids": "ids[first : first + 999]",
}
COMPOSED = {"documents": "%1$I", "postings": "%2$I", "vocabulary": "%3$I", "scope": "$1", "ids": "$2"}


def posting(words: str, names: dict[str, str]) -> str:
    return POST.format(words=words.format(**names), made=IDS, **{key: names[key] for key in ("postings", "vocabulary")})


# Without nested loops, the rows before and after a change are joined in linear time.
POST_WORDS = f"""
CREATE OR REPLACE FUNCTION elements_post_words() RETURNS trigger
    LANGUAGE plpgsql SET enable_seqscan = off SET enable_nestloop = off SET jit = off AS $$
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
        FOR first IN SELECT generate_series(1, cardinality(ids), 1000) LOOP
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


class Migration(migrations.Migration):
    dependencies = [("elements", "0031_appearance")]
    operations = [
        migrations.RunSQL(FOLD, scripts.FOLD),
        migrations.RunSQL(MARKUP_OF, "DROP FUNCTION elements_search_markup(text[])"),
        # A function that returns rows cannot replace one that does not.
        migrations.RunSQL(
            ["DROP FUNCTION elements_search_texts(jsonb)", TEXTS_OF],
            ["DROP FUNCTION elements_search_texts(jsonb)", markup.TEXTS_OF],
        ),
        migrations.RunSQL(ADDED, "DROP FUNCTION elements_search_added(text, text)"),
        migrations.RunSQL(
            POST_WORDS,
            [
                "ALTER FUNCTION elements_post_words() RESET ALL",
                portions.LARGER,
                "ALTER FUNCTION elements_post_words() SET jit = off",
            ],
        ),
    ]
