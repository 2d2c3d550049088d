from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from facets.models.base import ConfigurationModel, Texts
from storage.models.tenant import tenant_link


class Layout(ConfigurationModel):
    """A way to draw or arrange an element, which views offer."""

    key = models.CharField(max_length=100)
    display_names = Texts()

    class Meta:
        verbose_name, verbose_name_plural = _("layout"), _("layouts")
        ordering = ["position", "id"]
        constraints = [models.UniqueConstraint(fields=["storage_id", "key"], name="layout_key_once")]


class ViewType(ConfigurationModel):
    view = tenant_link("facets.FacetView", "types")
    type = tenant_link("facets.ElementType", "views")
    shows_all = models.BooleanField(default=False, help_text="Shows all properties, including future ones.")
    is_root = models.BooleanField(default=False, help_text="Can be a root of the view's tree.")

    class Meta:
        ordering = ["position", "id"]
        indexes = [models.Index(fields=["storage_id", "type"], name="view_type_by_type")]
        constraints = [models.UniqueConstraint(fields=["storage_id", "view", "type"], name="view_type_once")]


class ViewProperty(ConfigurationModel):
    """A property that a view shows of a type, unless it shows all."""

    view_type = tenant_link("facets.ViewType", "properties")
    property = tenant_link("facets.Property", "+")

    class Meta:
        ordering = ["position", "id"]
        indexes = [models.Index(fields=["storage_id", "property"], name="view_property_by_property")]
        constraints = [
            models.UniqueConstraint(fields=["storage_id", "view_type", "property"], name="view_property_once")
        ]


class ViewLayout(ConfigurationModel):
    view_type = tenant_link("facets.ViewType", "layouts")
    layout = tenant_link("facets.Layout", "+")

    class Meta:
        ordering = ["position", "id"]
        indexes = [models.Index(fields=["storage_id", "layout"], name="view_layout_by_layout")]
        constraints = [models.UniqueConstraint(fields=["storage_id", "view_type", "layout"], name="view_layout_once")]
