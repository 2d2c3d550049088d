"""Past rows of Element (D563)."""

from django.db import migrations

from storage.tenancy.past_operations import keep_past


class Migration(migrations.Migration):
    dependencies = [("elements", "0058_words_in_mixed_texts")]
    operations = keep_past(
        "Element",
        past_element_by_id=("row_id",),
        past_element_by_type=("type_id", "row_id"),
        past_element_by_place=("parent_id", "position", "rank", "row_id"),
        past_element_by_newest=("newest_id",),
        past_element_by_published=("published_id",),
    )
