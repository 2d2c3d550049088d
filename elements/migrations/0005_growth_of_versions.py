"""Triggers that note the growth of versions (D190). A migration locks one table only."""

from django.db import migrations

TABLES = {
    "INSERT": "NEW TABLE AS after",
    "UPDATE": "OLD TABLE AS before NEW TABLE AS after",
    "DELETE": "OLD TABLE AS before",
}


class Migration(migrations.Migration):
    dependencies = [("elements", "0004_growth")]
    operations = [
        migrations.RunSQL(
            f"CREATE TRIGGER growth_noted_on_{event.lower()} AFTER {event} ON elements_elementversion"
            f" REFERENCING {TABLES[event]} FOR EACH STATEMENT EXECUTE FUNCTION elements_note_growth()",
            f"DROP TRIGGER growth_noted_on_{event.lower()} ON elements_elementversion",
        )
        for event in ("INSERT", "UPDATE", "DELETE")
    ]
