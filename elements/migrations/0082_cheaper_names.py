"""Cheaper names of versions (D622), with the same content.

PostgreSQL copies a function of plain SQL into the statement that calls it only if the function is not strict. The rows of
one statement get ascending ids, which an index stores side by side.
"""

from importlib import import_module

from django.db import migrations

first = import_module("elements.migrations.0001_initial")
IDS = import_module("elements.migrations.0032_cheaper_search_index").IDS
BEFORE = import_module("elements.migrations.0010_names_on_shards").KEEP_NAMES
NAMES_BEFORE = first.NAMES_OF.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1)
KEEP_NAMES = BEFORE.replace("gen_random_uuid()", IDS.replace("'", "''"), 1)


class Migration(migrations.Migration):
    dependencies = [("elements", "0081_words_posted_by_import")]
    operations = [
        migrations.RunSQL(NAMES_BEFORE.replace(" STRICT", "", 1), NAMES_BEFORE),
        migrations.RunSQL(KEEP_NAMES, BEFORE),
    ]
