"""Pairs of characters as words in scripts without blanks, and further signs between words and marks (D388)."""

from django.db import migrations

# As in `elements/filters/words.py`, but lines stay lines.
SEPARATORS = (
    r"\u0001-\u0009\u000b-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u00d7\u00f7\u055a-\u055f\u0589\u058a\u05be"
    r"\u05c0\u05c3\u05f3\u05f4\u060c\u061b-\u061f\u066a-\u066d\u06d4\u0964\u0965\u0e3f\u0e4f\u0e5a\u0e5b\u0f08-\u0f14"
    r"\u104a-\u104f\u1360-\u1368\u1680\u17d4-\u17da\u1800-\u180a\u2000-\u206f\u20a0-\u20cf\u2190-\u2bff\u2e00-\u2e7f"
    r"\u3000-\u3004\u3008-\u3020\u3030\u30a0\u30fb\ue000-\uf8ff\ufff9-\uffff\U0001f000-\U0001faff"
)
DROPPED = (
    r"\u0300-\u036f\u00ad\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f"
    r"\u0670\u06d6-\u06dc\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200d\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\ufeff"
)
UNSPACED = (
    r"\u0e01-\u0e3e\u0e40-\u0e4e\u0e50-\u0e59\u0e80-\u0eff\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17d7\u17dc-\u17ff"
    r"\u3005-\u3007\u3031-\u3035\u303b\u3040-\u309f\u30a1-\u30fa\u30fc-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uf900-\ufaff\U00020000-\U0003ffff"
)
FREQUENT = {"ä": "a", "ö": "o", "ü": "u", "ß": "ss", "Ä": "a", "Ö": "o", "Ü": "u", "é": "e"}
PAIRS = "".join(f", '{letter}', '{folded}')" for letter, folded in FREQUENT.items())
REPLACED = "replace(" * len(FREQUENT) + "found" + PAIRS
FOLD = rf"""
CREATE OR REPLACE FUNCTION elements_search_fold(given text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
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
        IF octet_length(found) > length(found) AND found ~ '[{UNSPACED}]' THEN
            -- ABC becomes A AB BC C. Long texts would have tens of thousands of words.
            is_cut := is_cut OR length(found) > 20000;
            found := left(found, 20000);
            found := regexp_replace(regexp_replace(found, '([{UNSPACED}]+)', ' \1 ', 'g'), '([{UNSPACED}])', '\1 \1', 'g');
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


class Migration(migrations.Migration):
    dependencies = [("elements", "0027_permalinks")]
    operations = [migrations.RunSQL(FOLD, migrations.RunSQL.noop)]
