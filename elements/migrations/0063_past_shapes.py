"""Past rows of Shape (D563)."""

from django.db import migrations

from storage.tenancy.past_operations import keep_past


class Migration(migrations.Migration):
    dependencies = [("elements", "0062_past_lanes")]
    operations = keep_past(
        "Shape",
        past_shape_by_id=("row_id",),
        past_shape_by_version=("version_id", "position"),
        past_shape_by_element=("element_id",),
    )
