"""Files that callers have uploaded into a storage (D450). Their content is outside of the database."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from storage.models.tenant import TenantModel


class StoredFile(TenantModel):
    """A name for a content. Callers who upload the same content have a row each; the content exists once."""

    digest = models.CharField(max_length=64, help_text="SHA-256 of the content, by which it is found.")
    size = models.PositiveBigIntegerField(help_text="Length of the content in bytes.")
    media_type = models.CharField(max_length=100, help_text="Media type that the content confirms (D452).")
    name = models.CharField(max_length=200)
    uploaded_by = models.CharField(max_length=200, help_text="The caller, as in logs.")
    uploaded_on = models.DateTimeField(help_text="Time of the last upload by this caller.")
    unused_since = models.DateTimeField(null=True, help_text="First night in which nothing had the file.")

    class Meta:
        verbose_name = _("file")
        verbose_name_plural = _("files")
        constraints = [
            # Also serves looking for other rows with the same content.
            models.UniqueConstraint(fields=["storage_id", "digest", "name", "uploaded_by"], name="stored_file_once")
        ]
        indexes = [models.Index(fields=["storage_id", "uploaded_on"], name="stored_file_by_age")]

    def __str__(self) -> str:
        return self.name


class FileText(TenantModel):
    """The text of a content, which a job reads for the search (D446). Files with the same content share it.

    A text never changes: the words of the search index (D447) belong to the id of this row.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("Not read yet")
        READ = "read", _("Searchable")
        CUT = "cut", _("Partly searchable")
        EMPTY = "empty", _("No text")
        UNREADABLE = "unreadable", _("Text cannot be read")

    digest = models.CharField(max_length=64, help_text="SHA-256 of the content.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    text = models.TextField(default="", db_default="", help_text="Pages or paragraphs, one in a line.")
    read_on = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["storage_id", "digest"], name="file_text_once")]
        indexes = [
            models.Index(fields=["storage_id"], condition=models.Q(state="waiting"), name="file_text_waiting"),
        ]

    def __str__(self) -> str:
        return self.digest
