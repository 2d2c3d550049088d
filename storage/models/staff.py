"""Staff accounts of the back office, and their memberships in storages."""

from __future__ import annotations

from collections.abc import Collection

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from storage.models.storages import Storage
from storage.options import Role


class StaffAccount(AbstractUser):
    """An account of the back office. A superuser administers the site and every storage."""

    storages = models.ManyToManyField(Storage, through="StorageMembership", related_name="staff")
    language = models.CharField(
        _("language"),
        max_length=10,
        blank=True,
        choices=settings.LANGUAGES,
        help_text=_("Language of the back office. Leave empty to use the preferred language of the browser."),
    )

    new_email = models.CharField(
        max_length=254,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="Address that the owner has entered and not confirmed.",
    )
    confirmations_until = models.DateTimeField(
        null=True,
        editable=False,
        help_text="Time over which the mails to addresses that are not confirmed are spread.",
    )
    resets_until = models.DateTimeField(
        null=True, editable=False, help_text="Time over which the mails that reset the password are spread."
    )
    deactivated_by = models.ForeignKey(
        "storage.IdentityProvider",
        on_delete=models.SET_NULL,
        null=True,
        editable=False,
        db_constraint=False,
        db_index=False,
        related_name="+",
        help_text="The provider whose directory has deactivated the account, and may activate it again (D543).",
    )
    ended_sessions = models.PositiveIntegerField(
        default=0,
        db_default=0,
        editable=False,
        help_text="How often all sessions were ended. Each session must know the current number (D545).",
    )

    class Meta:
        verbose_name = _("staff account")
        verbose_name_plural = _("staff accounts")

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Return what a session must know. Before the first end of all sessions, this is Django's digest."""
        digest: str = super()._get_session_auth_hash(secret)  # type: ignore[misc]  # not in the stubs
        return f"{digest}:{self.ended_sessions}" if self.ended_sessions else digest


class StorageMembership(models.Model):
    """The roles of a staff account in one storage, and where they come from (D504)."""

    BY_HAND = "hand"

    account = models.ForeignKey(StaffAccount, on_delete=models.CASCADE, related_name="memberships")
    storage = models.ForeignKey(Storage, on_delete=models.CASCADE, related_name="memberships")
    roles = ArrayField(models.CharField(max_length=20, choices=[(role.value, role.value) for role in Role]))
    user_id = models.UUIDField(
        null=True,
        blank=True,
        help_text=_(
            "The user element of this account in the storage. Changes show its name, and its role attributes limit the"
            " roles."
        ),
    )
    origins = models.JSONField(
        null=True,
        editable=False,
        help_text="Roles that were granted by hand, and by identity provider. Empty if all were granted by hand.",
    )

    class Meta:
        verbose_name = _("membership")
        verbose_name_plural = _("staff")
        constraints = [models.UniqueConstraint(fields=["account", "storage"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.account} in {self.storage}"

    @property
    def roles_by_hand(self) -> list[str]:
        return list(self.roles if self.origins is None else self.origins.get(self.BY_HAND, ()))

    @property
    def roles_by_rules(self) -> list[str]:
        found = {role for origin, held in (self.origins or {}).items() if origin != self.BY_HAND for role in held}
        return [role.value for role in Role if role in found]

    def set_roles(self, origin: str, roles: Collection[str]) -> None:
        """Replace the roles of one origin; `roles` has those of all."""
        held = {
            **(self.origins or {self.BY_HAND: self.roles or []}),
            origin: [each.value for each in Role if each in roles],
        }
        held = {name: found for name, found in held.items() if found}
        every = {role for found in held.values() for role in found}
        self.roles = [role.value for role in Role if role in every]
        self.origins = held if held.keys() - {self.BY_HAND} else None
