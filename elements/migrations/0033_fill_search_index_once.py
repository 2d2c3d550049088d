"""Nothing: a later migration fills the search index once, when all its functions are complete (D427)."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("elements", "0032_cheaper_search_index")]
