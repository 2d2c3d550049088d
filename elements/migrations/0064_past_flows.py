"""Past rows of ShapeFlow (D563)."""

from django.db import migrations

from storage.tenancy.past_operations import keep_past


class Migration(migrations.Migration):
    dependencies = [("elements", "0063_past_shapes")]
    operations = keep_past(
        "ShapeFlow",
        past_flow_by_shape=("shape_id",),
        past_flow_by_predecessor=("predecessor_id",),
    )
