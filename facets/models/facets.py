from __future__ import annotations

from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from facets.models.base import ConfigurationModel, Texts
from storage.models.tenant import tenant_link


class Facet(ConfigurationModel):
    """A group of element types, such as processes or users."""

    name = models.CharField(max_length=100)
    display_names = Texts()
    type_name = models.CharField(max_length=100, help_text="facetTypeName of ElementInfo.")
    for_readers = models.BooleanField(
        default=True, db_default=True, help_text="Whether viewers and anonymous readers see the facet."
    )

    class Meta:
        verbose_name, verbose_name_plural = _("facet"), _("facets")
        ordering = ["position", "id"]
        constraints = [models.UniqueConstraint("storage_id", Lower("name"), name="facet_name_once")]


class FacetView(ConfigurationModel):
    """A selection of types of a facet, and of the properties to show of each."""

    facet = tenant_link("facets.Facet", "views")
    name = models.CharField(max_length=100)
    key = models.CharField(max_length=100, help_text="facetViewKey of ElementInfo.")
    display_names = Texts()
    is_hierarchical = models.BooleanField(default=False)

    class Meta:
        verbose_name, verbose_name_plural = _("view"), _("views")
        ordering = ["position", "id"]
        constraints = [models.UniqueConstraint("storage_id", "facet", Lower("name"), name="view_name_once")]
