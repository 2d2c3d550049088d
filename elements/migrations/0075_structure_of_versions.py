"""Changes of versions mark the structure of the content if lists or references show them (D607)."""

from django.db import migrations

COLUMNS = ("element_id", "state", "category", "stereotype")
OLD, NEW = (", ".join(f"{row}.{name}" for name in COLUMNS) for row in ("OLD", "NEW"))
TRIGGERS = {
    "structure_changed": "AFTER INSERT OR DELETE ON elements_elementversion FOR EACH STATEMENT",
    "structure_changed_by_update": (
        f"AFTER UPDATE ON elements_elementversion FOR EACH ROW WHEN (({OLD}) IS DISTINCT FROM ({NEW}))"
    ),
}


class Migration(migrations.Migration):
    dependencies = [("elements", "0074_structure_of_elements")]
    operations = [
        migrations.RunSQL(
            f"CREATE OR REPLACE TRIGGER {name} {event} EXECUTE FUNCTION elements_mark_structure()",
            f"DROP TRIGGER {name} ON elements_elementversion",
        )
        for name, event in TRIGGERS.items()
    ]
