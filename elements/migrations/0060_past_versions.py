"""Past rows of ElementVersion (D563)."""

from django.db import migrations

from storage.tenancy.past_operations import keep_past


class Migration(migrations.Migration):
    dependencies = [("elements", "0059_past_elements")]
    operations = keep_past(
        "ElementVersion",
        past_version_by_id=("row_id",),
        past_version_by_element=("element_id",),
        past_version_by_name=("sort_name", "row_id"),
    )
