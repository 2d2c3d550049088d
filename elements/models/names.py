from __future__ import annotations

from django.db import models

from storage.models.past import DatedModel, past_rows_of
from storage.models.tenant import tenant_link


class VersionName(DatedModel):
    """Name of a version in a culture, in a form by which filters find it.

    Under row-level security, no index on the JSON attributes can serve a condition. Triggers maintain these rows with
    every change of the attribute `name`. They only narrow down the candidates: filters test culture and letter case on
    the attributes themselves.
    """

    storage_through = "version"
    # Names of all times narrow down the candidates of any time. A restore makes new rows of the current names.
    dated_by = ""

    version = tenant_link("elements.ElementVersion", "+")
    folded = models.TextField(db_collation="C", help_text="Name with folded letter case, as in filters, and shortened.")

    class Meta:
        indexes = [
            models.Index(fields=["storage_id", "folded", "version"], name="name_by_text"),
            models.Index(fields=["storage_id", "version"], name="name_by_version"),
        ]

    def __str__(self) -> str:
        return self.folded


PastVersionName = past_rows_of(
    VersionName, past_name_by_text=("folded", "version_id"), past_name_by_version=("version_id",)
)
