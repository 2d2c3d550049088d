from __future__ import annotations

from django.db import models

from storage.models import TenantModel


class LinkType(models.TextChoices):
    OF_ELEMENT = "ofElement"
    OF_VERSION = "ofVersion"
    OF_SELECTION = "ofSelection"
    OF_OVERVIEW = "ofOverview"


class Permalink(TenantModel):
    """A short address of an element, a version, a selection or a facet (D413). It may outlive its target."""

    concerns = ("target_id",)

    key = models.CharField(max_length=20, help_text="The last part of the address.")
    link_type = models.CharField(max_length=20, choices=LinkType)
    target_id = models.UUIDField(null=True, help_text="The element or version, which may have been deleted.")
    facet = models.CharField(max_length=100, blank=True)
    view = models.CharField(max_length=100, blank=True)
    filter = models.TextField(blank=True)
    culture = models.IntegerField(null=True, help_text="Empty for the culture that the visitor prefers.")
    digest = models.CharField(max_length=64, help_text="Digest of the target: the same target has one permalink.")
    created_on = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["storage_id", "key"], name="permalink_key_once"),
            models.UniqueConstraint(fields=["storage_id", "digest"], name="permalink_target_once"),
        ]
        indexes = [
            models.Index(fields=["storage_id", "created_on", "id"], name="permalink_by_creation"),
            models.Index(fields=["storage_id", "target_id"], name="permalink_by_target"),
        ]

    def __str__(self) -> str:
        return self.key
