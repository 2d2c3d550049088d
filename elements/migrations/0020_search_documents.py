"""Searched words of versions, and the functions that fold texts and list words (D380)."""

import uuid

from django.db import migrations, models
from django.db.models import Func, Value
from django.db.models.functions import Cast

from storage.tenancy.migration_operations import IsolateTenantTable

STORAGE = Cast(
    Func(Value("repository.storage"), function="current_setting", output_field=models.TextField()),
    output_field=models.UUIDField(),
)
# Characters between words, and characters that are dropped: combining marks, soft hyphens and joiners.
SEPARATORS = (
    r"\u0001-\u0009\u000b-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u00d7\u00f7\u2000-\u206f\u20a0-\u20cf"
    r"\u2190-\u2bff\u3000-\u3004\u3008-\u3020\u3030\ue000-\uf8ff\ufff9-\uffff\U0001f000-\U0001faff"
)
DROPPED = r"\u0300-\u036f\u00ad\u200b-\u200d"
# These letters are frequent, and `replace` is several times faster than `normalize`.
FREQUENT = {"ä": "a", "ö": "o", "ü": "u", "ß": "ss", "Ä": "a", "Ö": "o", "Ü": "u", "é": "e"}
PAIRS = "".join(f", '{letter}', '{folded}')" for letter, folded in FREQUENT.items())
REPLACED = "replace(" * len(FREQUENT) + "found" + PAIRS
# `elements/filters/words.py` does the same in Python. Lines stay lines. The sign … is never part of a word; it marks
# cut texts.
FOLD = rf"""
CREATE FUNCTION elements_search_fold(given text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    found text := left(given, 200000);
    is_cut boolean := length(given) > 200000;
BEGIN
    IF octet_length(found) > length(found) THEN
        found := {REPLACED};
        IF octet_length(found) > length(found) THEN
            found := regexp_replace(normalize(found, NFKD) COLLATE "C", '[{DROPPED}]+', '', 'g');
            found := elements_fold_case(replace(replace(found, 'ß', 'ss'), 'ẞ', 'ss'));
        END IF;
    END IF;
    found := lower(found COLLATE "C");
    -- Most texts have nothing but words and blanks, or few other signs.
    IF found ~ '[^a-z0-9 \n]|  ' THEN
        found := regexp_replace(found, '[{SEPARATORS}]+', ' ', 'g');
    END IF;
    IF found ~ '[^ \n]{{41}}' THEN
        found := regexp_replace(found, '([^ \n]{{40}})[^ \n]+', '\1', 'g');
        is_cut := true;
    END IF;
    RETURN E'\n ' || btrim(found, ' ') || CASE WHEN is_cut THEN E' … \n' ELSE E' \n' END;
END $$
"""
# Texts are strings by attribute and culture, and the titles of files. Dates are strings, too, but not words.
TEXTS_OF = r"""
CREATE FUNCTION elements_search_texts(attributes jsonb, OUT names text, OUT texts text)
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET jit = off AS $$
    SELECT coalesce(elements_search_fold(string_agg(f.line, E' \n ') FILTER (WHERE f.is_name)), ''),
        coalesce(elements_search_fold(string_agg(f.line, E' \n ') FILTER (WHERE NOT f.is_name)), '')
    FROM (SELECT g.is_name, replace(CASE WHEN g.text ~ '^\s*<\?xml\s' THEN regexp_replace(g.text,
                '<[^>]*>|&([a-z]+|#[0-9]+|#x[0-9a-fA-F]+);', ' ', 'g') ELSE g.text END, E'\n', ' ') AS line
        FROM (SELECT a.key = 'name' AS is_name, CASE jsonb_typeof(c.value) WHEN 'string' THEN c.value #>> '{}'
                WHEN 'array' THEN (SELECT string_agg(i ->> 'title', ' / ') FROM jsonb_array_elements(c.value) i
                    WHERE jsonb_typeof(i) = 'object') END AS text
            FROM jsonb_each(attributes) a
            CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(a.value) WHEN 'object' THEN a.value END) c) g
        WHERE g.is_name OR g.text !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+)?$') f
$$
"""


class Migration(migrations.Migration):
    dependencies = [("elements", "0019_calls_of_sources")]
    operations = [
        migrations.CreateModel(
            name="SearchDocument",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", models.UUIDField(db_default=STORAGE, editable=False)),
                ("names", models.TextField(help_text="Names in all cultures.")),
                ("texts", models.TextField(help_text="All other texts in all cultures.")),
            ],
            options={"abstract": False},
        ),
        IsolateTenantTable("searchdocument"),
        migrations.RunSQL(FOLD, "DROP FUNCTION elements_search_fold(text)"),
        migrations.RunSQL(TEXTS_OF, "DROP FUNCTION elements_search_texts(jsonb)"),
    ]
