"""Every change of elements marks the structure of the content (D607)."""

from importlib import import_module

from django.db import migrations

marks = import_module("elements.migrations.0009_marks_on_shards")
MARK_STRUCTURE = (
    marks.MARK_CONTENT.replace("elements_mark_content", "elements_mark_structure")
    .replace("elements_contentmark", "elements_structuremark")
    .replace("repository.marked", "repository.restructured")
)
TRIGGER = """
CREATE OR REPLACE TRIGGER structure_changed AFTER INSERT OR UPDATE OR DELETE ON elements_element
    FOR EACH STATEMENT EXECUTE FUNCTION elements_mark_structure()
"""


class Migration(migrations.Migration):
    dependencies = [("elements", "0073_structure_marks")]
    operations = [
        migrations.RunSQL(MARK_STRUCTURE, "DROP FUNCTION elements_mark_structure()"),
        migrations.RunSQL(TRIGGER, "DROP TRIGGER structure_changed ON elements_element"),
    ]
