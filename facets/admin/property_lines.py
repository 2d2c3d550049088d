"""The properties of a type as lines of its form; each property has a page with all details."""

from __future__ import annotations

from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _

from facets import models
from facets.admin.drafting.part_tables import PartTable
from facets.admin.drafting.row_forms import PartForm
from facets.admin.property_forms import HoldsForm


class PropertyLineForm(HoldsForm, PartForm):
    pass


class PropertyLines(PartTable):
    model = models.Property
    form = PropertyLineForm
    columns = ("key", "display_names", "holds", "is_invariant_culture")
    link = _("Details")
    verbose_name = _("property")
    verbose_name_plural = _("Properties")
    labels: ClassVar[dict[str, Any]] = {"key": _("Key"), "is_invariant_culture": _("Same in all cultures")}
    helps: ClassVar[dict[str, Any]] = {
        "key": _("Identifies the attribute or related context in the API. It cannot change while values exist."),
        "is_invariant_culture": _("For attributes: one value for all cultures instead of one per culture."),
    }
