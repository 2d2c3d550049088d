"""Past rows of Lane (D563)."""

from django.db import migrations

from storage.tenancy.past_operations import keep_past


class Migration(migrations.Migration):
    dependencies = [("elements", "0061_past_references")]
    operations = keep_past(
        "Lane",
        past_lane_by_version=("version_id", "position"),
        past_lane_by_element=("element_id",),
    )
