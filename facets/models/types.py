from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from facets.models.base import ConfigurationModel, Texts
from storage.models.tenant import tenant_link


class ElementType(ConfigurationModel):
    """A type of elements: its facet, its place in trees and diagrams, and whether elements have versions."""

    facet = tenant_link("facets.Facet", "types")
    key = models.CharField(max_length=100)
    display_names = Texts()
    descriptions = Texts()
    color = models.CharField(max_length=7, validators=[RegexValidator(r"^#[0-9A-F]{6}$")])
    is_versioned = models.BooleanField(default=False)
    is_architectural = models.BooleanField(default=False, help_text="Only architects can change elements of this type.")
    has_diagram = models.BooleanField(default=False)
    lives_in_diagrams = models.BooleanField(default=False, help_text="Exists only as a shape of a diagram.")
    element_type_name = models.CharField(max_length=100, help_text="elementTypeName of ElementInfo.")
    entity_type_name = models.CharField(max_length=100, help_text="entityTypeName of ElementInfo.")
    static_state = models.CharField(max_length=100, blank=True, help_text="State of a type without versions.")
    release_cycle = tenant_link("facets.ReleaseCycle", "types", null=True, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("type"), _("types")
        ordering = ["position", "id"]
        indexes = [
            models.Index(fields=["storage_id", "facet"], name="type_by_facet"),
            models.Index(fields=["storage_id", "release_cycle"], name="type_by_cycle"),
        ]
        constraints = [
            models.UniqueConstraint("storage_id", Lower("key"), name="type_key_once"),
            models.CheckConstraint(
                condition=models.Q(is_versioned=True, release_cycle__isnull=False)
                | models.Q(is_versioned=False, release_cycle__isnull=True),
                name="versions_have_a_cycle",
            ),
        ]


class AllowedParent(ConfigurationModel):
    """Elements of `type` can be children of elements of `parent` in a tree."""

    type = tenant_link("facets.ElementType", "parents")
    parent = tenant_link("facets.ElementType", "+")

    class Meta:
        ordering = ["position", "id"]
        indexes = [models.Index(fields=["storage_id", "parent"], name="parent_by_type")]
        constraints = [models.UniqueConstraint(fields=["storage_id", "type", "parent"], name="parent_once")]


class InsertableType(ConfigurationModel):
    """Elements of `inserted` can be drawn into the diagram of an element of `type`."""

    type = tenant_link("facets.ElementType", "insertables")
    inserted = tenant_link("facets.ElementType", "+")

    class Meta:
        ordering = ["position", "id"]
        indexes = [models.Index(fields=["storage_id", "inserted"], name="insertable_by_type")]
        constraints = [models.UniqueConstraint(fields=["storage_id", "type", "inserted"], name="insertable_once")]
