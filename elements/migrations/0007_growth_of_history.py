"""Triggers that note the growth of the change history (D190). A migration locks one table only."""

from django.db import migrations

TABLES = {
    "INSERT": "NEW TABLE AS after",
    "UPDATE": "OLD TABLE AS before NEW TABLE AS after",
    "DELETE": "OLD TABLE AS before",
}


class Migration(migrations.Migration):
    dependencies = [("elements", "0006_growth_of_elements")]
    operations = [
        migrations.RunSQL(
            f"CREATE TRIGGER growth_noted_on_{event.lower()} AFTER {event} ON elements_elementchange"
            f" REFERENCING {TABLES[event]} FOR EACH STATEMENT EXECUTE FUNCTION elements_note_growth()",
            f"DROP TRIGGER growth_noted_on_{event.lower()} ON elements_elementchange",
        )
        for event in ("INSERT",)
    ]
