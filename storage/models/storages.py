"""Collections and their storages. A storage is a tenant; its id is the tenant GUID."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.postgres.functions import TransactionNow
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from repository_site.core.problems import NotFound
from storage.localisation.cultures import CultureSet
from storage.options import (
    EVENT_DAYS,
    MAX_EVENT_DAYS,
    MAX_PAST_DAYS,
    MAX_STUCK_AFTER_DAYS,
    PAST_DAYS,
    STUCK_AFTER_DAYS,
    AnonymousAccess,
)
from storage.origins import validate_origins


class StorageCollection(models.Model):
    """A group of storages under one first path segment."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    key = models.CharField(_("id"), max_length=63, help_text=_("First segment of every address of the collection."))
    title = models.CharField(_("title"), max_length=200, blank=True)
    description = models.TextField(_("description"), blank=True)
    quota_storages = models.PositiveIntegerField(
        _("largest number of storages"),
        null=True,
        blank=True,
        help_text=_("The API provisions no more storages than this. Leave empty for the default of the installation."),
    )
    created_on = models.DateTimeField(_("created on"), auto_now_add=True)

    class Meta:
        verbose_name = _("collection")
        verbose_name_plural = _("collections")
        ordering = ["key"]
        constraints = [
            # Addresses match exactly, but ids that differ only in letter case would invite mistakes.
            models.UniqueConstraint(Lower("key"), name="collection_key_unique"),
        ]

    def __str__(self) -> str:
        return self.key


class Storage(models.Model):
    """One tenant: everything below `/{collection}/{key}`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    collection = models.ForeignKey(
        StorageCollection, on_delete=models.PROTECT, related_name="storages", verbose_name=_("collection")
    )
    key = models.CharField(_("id"), max_length=63, help_text=_("Second segment of every address of the storage."))
    base = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="derived", verbose_name=_("base storage")
    )
    title = models.CharField(_("title"), max_length=200, blank=True)
    description = models.TextField(_("description"), blank=True)
    template = models.CharField(_("template"), max_length=200)
    region = models.CharField(_("region"), max_length=2, help_text=_("ISO 3166 code, such as DE."))
    time_zone = models.CharField(_("time zone"), max_length=64, help_text=_("IANA name, such as Europe/Berlin."))
    is_valid = models.BooleanField(
        _("valid"), default=True, help_text=_("Shown to clients in the storage info. It has no other effect.")
    )
    anonymous_access = models.CharField(
        _("callers without a credential"),
        max_length=4,
        choices=AnonymousAccess.choices,
        default=AnonymousAccess.NONE,
    )
    token_in_query = models.BooleanField(
        _("token in the address"),
        default=False,
        help_text=_("Accept the token as a query parameter. Not recommended: addresses appear in logs."),
    )
    allowed_origins = models.TextField(
        _("web pages of other origins"),
        blank=True,
        default="",
        db_default="",
        validators=[validate_origins],
        help_text=_(
            "Origins whose pages may call the API from a browser (CORS), one on each line, such as"
            " https://app.example.org. Leave empty to allow none."
        ),
    )
    stuck_after_days = models.PositiveSmallIntegerField(
        _("tasks count as stuck after"),
        default=STUCK_AFTER_DAYS,
        db_default=STUCK_AFTER_DAYS,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_STUCK_AFTER_DAYS)],
        help_text=_("Days for which a release task may be open."),
    )
    event_days = models.PositiveSmallIntegerField(
        _("events are kept for"),
        default=EVENT_DAYS,
        db_default=EVENT_DAYS,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_EVENT_DAYS)],
        help_text=_("Days for which clients can read what has changed."),
    )
    past_days = models.PositiveSmallIntegerField(
        _("former states are kept for"),
        default=PAST_DAYS,
        db_default=PAST_DAYS,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_PAST_DAYS)],
        help_text=_("Days for which clients can read the content as it was at an earlier time ($asOf)."),
    )
    quota_elements = models.PositiveBigIntegerField(
        _("largest number of elements"), null=True, blank=True, help_text=_("Leave empty for no limit.")
    )
    quota_bytes = models.PositiveBigIntegerField(
        _("largest size in bytes"),
        null=True,
        blank=True,
        help_text=_(
            "Stored size of content, former states, change history and configuration, without indexes."
            " Leave empty for no limit."
        ),
    )
    quota_files = models.PositiveBigIntegerField(
        _("largest number of files"), null=True, blank=True, help_text=_("Leave empty for no limit.")
    )
    quota_history = models.PositiveBigIntegerField(
        _("largest number of changes in the history"), null=True, blank=True, help_text=_("Leave empty for no limit.")
    )
    created_on = models.DateTimeField(_("created on"), auto_now_add=True)

    # Known once a scope has been entered.
    configuration_revision = -1

    class Meta:
        verbose_name = _("storage")
        verbose_name_plural = _("storages")
        ordering = ["collection__key", "key"]
        constraints = [models.UniqueConstraint("collection", Lower("key"), name="storage_key_unique")]

    def __str__(self) -> str:
        return f"{self.collection.key}/{self.key}"

    def save(self, *args: Any, **options: Any) -> None:
        is_new = self._state.adding
        super().save(*args, **options)
        if is_new:
            # On one server a trigger has made it. On Citus a trigger of this table cannot.
            StorageRevision.objects.bulk_create([StorageRevision(storage=self)], ignore_conflicts=True)

    @property
    def origins(self) -> list[str]:
        """The allowed origins, exactly as browsers send them."""
        return self.allowed_origins.split()

    def culture_set(self) -> CultureSet:
        rows = list(self.cultures.all())
        if not rows:
            # Every storage has cultures. Without them, the storage was removed after this row was read.
            raise NotFound(gettext("There is no storage at this address."))
        return CultureSet(
            data=tuple(row.lcid for row in rows),
            default=next(row.lcid for row in rows if row.is_default),
            mandatory=tuple(row.lcid for row in rows if row.is_mandatory),
        )


class StorageRevision(models.Model):
    """Revision of the configuration of a storage, read-only for code: triggers replace it with every change.

    A table of its own, because a distributed database keeps it beside the rows of the storage (D251).
    """

    storage = models.OneToOneField(Storage, on_delete=models.CASCADE, primary_key=True, related_name="revision")
    configuration_revision = models.BigIntegerField(
        db_default=0, help_text="Random number that the database replaces with every configuration change."
    )
    recorded_since = models.DateTimeField(
        db_default=TransactionNow(), help_text="From this time on, past rows are kept (D563)."
    )

    def __str__(self) -> str:
        return f"{self.storage_id} {self.configuration_revision}"


class Culture(models.Model):
    """A data culture of a storage, by its Windows culture id (LCID)."""

    storage = models.ForeignKey(Storage, on_delete=models.CASCADE, related_name="cultures")
    lcid = models.PositiveIntegerField()
    position = models.PositiveSmallIntegerField()
    is_default = models.BooleanField(default=False)
    is_mandatory = models.BooleanField(default=False)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["storage", "lcid"], name="culture_once_a_storage"),
            models.UniqueConstraint(
                fields=["storage"], condition=models.Q(is_default=True), name="culture_one_default"
            ),
        ]

    def __str__(self) -> str:
        return str(self.lcid)
