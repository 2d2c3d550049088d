"""Changes of versions mark the structure of the content if lists or references show them (D607)."""

from importlib import import_module

from django.db import migrations

marks = import_module("elements.migrations.0074_structure_of_elements")
COLUMNS = ("element_id", "state", "category", "stereotype")
OLD, NEW = (", ".join(f"{row}.{name}" for name in COLUMNS) for row in ("OLD", "NEW"))
# The function compares the columns. A trigger with a condition would depend on them, and their types could not change.
MARK_UPDATE = marks.MARK_STRUCTURE.replace("elements_mark_structure", "elements_mark_structure_of_version").replace(
    "BEGIN\n", f"BEGIN\n    IF ({OLD}) IS NOT DISTINCT FROM ({NEW}) THEN\n        RETURN NULL;\n    END IF;\n", 1
)
TRIGGERS = {
    "structure_changed": ("INSERT OR DELETE", "STATEMENT", "elements_mark_structure"),
    "structure_changed_by_update": ("UPDATE", "ROW", "elements_mark_structure_of_version"),
}


class Migration(migrations.Migration):
    dependencies = [("elements", "0074_structure_of_elements")]
    operations = [
        migrations.RunSQL(MARK_UPDATE, "DROP FUNCTION elements_mark_structure_of_version()"),
        *(
            migrations.RunSQL(
                f"CREATE OR REPLACE TRIGGER {name} AFTER {event} ON elements_elementversion\n"
                f"    FOR EACH {unit} EXECUTE FUNCTION {function}()",
                f"DROP TRIGGER {name} ON elements_elementversion",
            )
            for name, (event, unit, function) in TRIGGERS.items()
        ),
    ]
