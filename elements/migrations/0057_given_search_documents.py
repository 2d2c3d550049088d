"""An import writes most documents of the search index itself, before their versions; the trigger adds the others (D560)."""

from importlib import import_module

from django.db import migrations

triggers = import_module("elements.migrations.0023_search_triggers")
MISSING = """ARRAY(SELECT a.id FROM after a WHERE NOT EXISTS (
            SELECT FROM {documents} d WHERE d.storage_id = a.storage_id AND d.id = a.id))"""
BEFORE = triggers.KEEP_DOCUMENTS.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1).replace(
    "SET enable_seqscan = off AS", "SET enable_seqscan = off SET jit = off AS", 1
)
BEGINNING = "    IF TG_OP = 'DELETE' AND is_shard THEN"
KEEP_DOCUMENTS = BEFORE.replace(
    BEGINNING,
    f"""    IF TG_OP = 'INSERT' THEN
        IF is_shard THEN
            EXECUTE format('SELECT {MISSING.format(documents="%I")}', documents) INTO changed;
        ELSE
            changed := {MISSING.format(documents="elements_searchdocument")};
        END IF;
        IF cardinality(changed) = 0 THEN
            RETURN NULL;
        END IF;
    END IF;
{BEGINNING}""",  # noqa: S608  constants
)


class Migration(migrations.Migration):
    dependencies = [("elements", "0051_inherited_sets")]
    operations = [migrations.RunSQL(KEEP_DOCUMENTS, BEFORE)]
