"""Words of markup in the search index (D408): no search finds them, and filters need them.

Each has the sign < before it. Short words and common ones are left out.
"""

from importlib import import_module

from django.db import migrations

COMMON = "xml,version,encoding,utf,div,span,strong,table,thead,tbody,amp,nbsp,quot"
# What a search does not see of a text that begins with an XML declaration.
MARKUP = "<[^>]*>|&(?:[a-z]+|#[0-9]+|#x[0-9a-fA-F]+);"
DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'
# Long markup contains pictures; the sign … stands for its words.
WORDS = rf"""CASE WHEN length(t.markup) > 2000 THEN E' … \n' ELSE (
            SELECT ' ' || string_agg(DISTINCT CASE w.word WHEN '…' THEN '…' ELSE '<' || w.word END, ' ') || E' \n'
            FROM unnest(string_to_array(translate(elements_search_fold(t.markup), E'\n', ' '), ' ')) AS w(word)
            WHERE (length(w.word) > 2 OR w.word = '…') AND w.word <> ALL('{{{COMMON}}}')) END"""  # noqa: S608  constants
# Most markup has short words only, which is quick to see. To compile the statement takes longer than to run it.
TEXTS_OF = rf"""
CREATE OR REPLACE FUNCTION elements_search_texts(attributes jsonb, OUT names text, OUT texts text)
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET jit = off AS $$
    SELECT coalesce(elements_search_fold(t.names), ''),
        coalesce(elements_search_fold(t.texts), '') || coalesce({WORDS}, '')
    FROM (SELECT string_agg(f.line, E' \n ') FILTER (WHERE f.is_name) AS names,
            string_agg(f.line, E' \n ') FILTER (WHERE NOT f.is_name) AS texts, string_agg(f.markup, ' ') AS markup
        FROM (SELECT h.is_name, replace(CASE WHEN h.is_markup THEN regexp_replace(h.text, '{MARKUP}', ' ', 'g')
                    ELSE h.text END, E'\n', ' ') AS line,
                CASE WHEN h.is_markup AND replace(h.text, '{DECLARATION}', '') ~ '<[^>]{{3}}|&' THEN (
                    SELECT string_agg(m.found[1], ' ') FROM regexp_matches(h.text, '{MARKUP}', 'g') AS m(found)) END
                    AS markup
            FROM (SELECT g.is_name, g.text, g.text ~ '^\s*<\?xml\s' AS is_markup
                FROM (SELECT a.key = 'name' AS is_name,
                        CASE jsonb_typeof(c.value) WHEN 'string' THEN c.value #>> '{{}}'
                            WHEN 'array' THEN (SELECT string_agg(i ->> 'title', ' / ')
                                FROM jsonb_array_elements(c.value) i WHERE jsonb_typeof(i) = 'object') END AS text
                    FROM jsonb_each(attributes) a
                    CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(a.value) WHEN 'object' THEN a.value END) c) g
                WHERE g.is_name OR g.text !~ '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(T[0-9:.]+)?$') h) f) t
$$
"""  # noqa: S608  constants
BEFORE = import_module("elements.migrations.0020_search_documents").TEXTS_OF.replace("CREATE", "CREATE OR REPLACE", 1)


class Migration(migrations.Migration):
    dependencies = [("elements", "0024_fill_search_index")]
    operations = [migrations.RunSQL(TEXTS_OF, BEFORE)]
