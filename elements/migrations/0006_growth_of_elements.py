"""Triggers that note the growth of elements (D190). A migration locks one table only."""

from django.db import migrations

TABLES = {
    "INSERT": "NEW TABLE AS after",
    "UPDATE": "OLD TABLE AS before NEW TABLE AS after",
    "DELETE": "OLD TABLE AS before",
}


class Migration(migrations.Migration):
    dependencies = [("elements", "0005_growth_of_versions")]
    operations = [
        migrations.RunSQL(
            f"CREATE TRIGGER growth_noted_on_{event.lower()} AFTER {event} ON elements_element"
            f" REFERENCING {TABLES[event]} FOR EACH STATEMENT EXECUTE FUNCTION elements_note_growth()",
            f"DROP TRIGGER growth_noted_on_{event.lower()} ON elements_element",
        )
        for event in ("INSERT", "DELETE")
    ]
