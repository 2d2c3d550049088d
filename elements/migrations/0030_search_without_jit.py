"""The functions of the search index run without just-in-time compilation, and add words in larger portions (D391).

PostgreSQL compiles a statement that it expects to be expensive, each time it runs. It takes the lists of a JSON document
for long, so it would compile for a tenth of a second to read the texts of one version.
"""

from importlib import import_module

from django.db import migrations

FUNCTIONS = ("elements_search_texts(jsonb)", "elements_keep_documents()", "elements_post_words()")
# An import writes as many versions at once. Fewer portions have fewer rows of postings.
BEFORE = import_module("elements.migrations.0022_search_words").POST_WORDS.replace("CREATE", "CREATE OR REPLACE", 1)
LARGER = BEFORE.replace("first + 499", "first + 999").replace("cardinality(ids), 500)", "cardinality(ids), 1000)")


class Migration(migrations.Migration):
    dependencies = [("elements", "0029_index_scripts_again")]
    operations = [
        migrations.RunSQL(LARGER, BEFORE),
        *(
            migrations.RunSQL(f"ALTER FUNCTION {name} SET jit = off", f"ALTER FUNCTION {name} RESET jit")
            for name in FUNCTIONS
        ),
    ]
