"""Words of long texts that have scripts with and without blanks (D531).

Only the characters of scripts without blanks are limited, and no longer the whole text that has one of them.
"""

from importlib import import_module

from django.db import migrations

cheaper = import_module("elements.migrations.0032_cheaper_search_index")
scripts = import_module("elements.migrations.0028_search_scripts")

BEFORE = """            is_cut := is_cut OR length(found) > 20000;
            found := left(found, 20000);
"""
AFTER = f"""            IF length(found) > 20000 AND length(regexp_replace(found, '[^{scripts.UNSPACED}]+', '', 'g')) > 20000 THEN
                found := left(found, 20000) || regexp_replace(substr(found, 20001), '[{scripts.UNSPACED}]+', ' ', 'g');
                is_cut := true;
            END IF;
"""
FOLD = cheaper.FOLD.replace(BEFORE, AFTER)


class Migration(migrations.Migration):
    dependencies = [("elements", "0057_given_search_documents")]
    operations = [migrations.RunSQL(FOLD, cheaper.FOLD)]
