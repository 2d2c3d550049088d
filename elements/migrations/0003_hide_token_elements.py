"""Elements of tokens are not published any more: viewers and anonymous callers do not see them (D206)."""

from django.db import migrations

# The owner of the tables is subject to the policies, too, and a migration has no tenant scope.
TABLES = ("elements_element", "facets_elementtype")
HIDE = """
UPDATE elements_element e SET published_id = NULL FROM facets_elementtype t
 WHERE t.storage_id = e.storage_id AND t.id = e.type_id AND t.key = 'authToken' AND e.published_id IS NOT NULL
"""


class Migration(migrations.Migration):
    dependencies = [("elements", "0002_revisions_never_repeat")]
    operations = [
        migrations.RunSQL(
            [
                *(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY" for table in TABLES),
                HIDE,
                # A table with pending checks cannot be altered.
                "SET CONSTRAINTS ALL IMMEDIATE",
                *(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY" for table in TABLES),
            ],
            migrations.RunSQL.noop,
        ),
    ]
