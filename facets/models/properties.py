from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from facets.blueprint.data_types import DataType
from facets.models.base import ConfigurationModel, Texts
from storage.models.tenant import tenant_link


class Property(ConfigurationModel):
    """An attribute of a type, or a related context if it has no data type."""

    type = tenant_link("facets.ElementType", "properties")
    key = models.CharField(max_length=100)
    display_names = Texts()
    descriptions = Texts()
    tooltips = Texts()
    editable_in_released = models.BooleanField(default=False)
    # An attribute:
    data_type = models.CharField(max_length=30, blank=True, choices=[(kind.value, kind.value) for kind in DataType])
    is_invariant_culture = models.BooleanField(default=False)
    # A related context:
    target_facet = tenant_link("facets.Facet", "+", null=True, blank=True)
    can_add_new = models.BooleanField(default=False)
    max_occurrence = models.PositiveIntegerField(null=True, blank=True)
    read_only = models.BooleanField(default=False)

    class Meta:
        verbose_name, verbose_name_plural = _("property"), _("properties")
        ordering = ["position", "id"]
        indexes = [models.Index(fields=["storage_id", "target_facet"], name="property_by_facet")]
        constraints = [
            models.UniqueConstraint(fields=["storage_id", "type", "key"], name="property_key_once"),
            models.CheckConstraint(
                condition=(
                    (~Q(data_type="") & Q(target_facet__isnull=True, max_occurrence__isnull=True))
                    | Q(data_type="", target_facet__isnull=False, max_occurrence__isnull=False)
                ),
                name="attribute_or_related",
            ),
        ]


class RelatedType(ConfigurationModel):
    """A type that a related context accepts; without any, the context accepts every type of its facet."""

    property = tenant_link("facets.Property", "related_types")
    type = tenant_link("facets.ElementType", "+")

    class Meta:
        ordering = ["position", "id"]
        indexes = [models.Index(fields=["storage_id", "type"], name="related_by_type")]
        constraints = [models.UniqueConstraint(fields=["storage_id", "property", "type"], name="related_type_once")]


class SelectableValue(ConfigurationModel):
    """A value of a selection attribute; the value without a key means that nothing is selected."""

    property = tenant_link("facets.Property", "selectable_values")
    key = models.CharField(max_length=100, null=True, blank=True)  # noqa: DJ001  an absent key is not an empty one
    display_names = Texts()
    descriptions = Texts()
    tooltips = Texts()

    class Meta:
        verbose_name, verbose_name_plural = _("selectable value"), _("selectable values")
        ordering = ["position", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["storage_id", "property", "key"], name="value_key_once", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return self.key or ""
