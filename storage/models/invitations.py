"""Invitations of mail addresses to storages (D550)."""

from __future__ import annotations

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from storage.models.staff import StaffAccount
from storage.models.storages import Storage, StorageCollection
from storage.options import Role


class Invitation(models.Model):
    """Roles that wait for the owner of a mail address, in one storage or in all storages of a collection."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    collection = models.ForeignKey(
        StorageCollection, on_delete=models.CASCADE, related_name="invitations", verbose_name=_("collection")
    )
    storage = models.ForeignKey(
        Storage,
        on_delete=models.CASCADE,
        null=True,
        related_name="invitations",
        verbose_name=_("storage"),
        help_text="Empty for all storages of the collection.",
    )
    address = models.CharField(_("address"), max_length=254, help_text="In lower case.")
    roles = ArrayField(models.CharField(max_length=20, choices=[(role.value, role.value) for role in Role]))
    language = models.CharField(max_length=10, help_text="Language of the mail, which is that of the inviter.")
    invited_by = models.ForeignKey(
        StaffAccount, on_delete=models.SET_NULL, null=True, related_name="+", verbose_name=_("invited by")
    )
    made_on = models.DateTimeField(_("made"))
    sendings = models.PositiveSmallIntegerField(default=0, help_text="Only the link of the last sending is valid.")
    valid_until = models.DateTimeField(_("valid until"))
    mails_until = models.DateTimeField(null=True, help_text="Time over which the mails to this address are spread.")
    withdrawn_on = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("invitation")
        verbose_name_plural = _("invitations")
        ordering = ["-made_on", "address"]
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "storage", "address"], name="invitation_once", nulls_distinct=False
            )
        ]
        indexes = [models.Index(fields=["address"], name="invitation_by_address")]

    def __str__(self) -> str:
        return self.address

    @property
    def place(self) -> Storage | StorageCollection:
        return self.storage or self.collection
