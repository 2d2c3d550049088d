"""API tokens (D4), stored as keyed digests of the value and, after a rotation (D147), of the old value; and the
networks that they were used from (D487), and the calls of agents with them (D596)."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from enum import StrEnum

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from storage.models.storages import Storage, StorageCollection
from storage.options import Role

# Writing the time of use with every request would turn each read into a write on one hot row.
LAST_USED_STEP = timedelta(minutes=1)


class TokenState(StrEnum):
    ACTIVE = "active"
    NOT_YET_VALID = "not yet valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


class TokenQuerySet(models.QuerySet["ApiToken"]):
    def in_state(self, state: TokenState, now: datetime) -> TokenQuerySet:
        """Return the tokens whose `ApiToken.state` is the given one."""
        if state is TokenState.REVOKED:
            return self.filter(revoked_on__isnull=False)
        left = self.filter(revoked_on__isnull=True)
        if state is TokenState.EXPIRED:
            return left.filter(valid_until__lte=now)
        left = left.filter(Q(valid_until__isnull=True) | Q(valid_until__gt=now))
        return left.filter(valid_from__lte=now) if state is TokenState.ACTIVE else left.filter(valid_from__gt=now)


class TokenRevocation(models.Model):
    """The end of a token or of one of its values, which the installation remembers when the storage is gone (D205).

    A restored backup contains the token as it was before. There is no foreign key: this row outlives the token.
    """

    token_id = models.UUIDField(primary_key=True, editable=False)
    revoked_on = models.DateTimeField(null=True)
    rotated_on = models.DateTimeField(null=True, help_text="The last rotation, which replaced all earlier values.")
    old_ended_on = models.DateTimeField(null=True, help_text="When the old value of a rotation was ended early.")
    limited_on = models.DateTimeField(
        null=True, help_text="The last change of the limits, which an earlier backup lacks."
    )

    def __str__(self) -> str:
        return str(self.token_id)


class ApiToken(models.Model):
    """A token of one storage, of one collection, or (neither set) of the site."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    name = models.CharField(_("name"), max_length=200)
    storage = models.ForeignKey(Storage, on_delete=models.CASCADE, null=True, related_name="tokens")
    collection = models.ForeignKey(StorageCollection, on_delete=models.CASCADE, null=True, related_name="tokens")
    roles = ArrayField(models.CharField(max_length=20, choices=[(role.value, role.value) for role in Role]))
    user_id = models.UUIDField(null=True, help_text="The user element of the calls with this token.")
    provider = models.ForeignKey(
        "storage.IdentityProvider",
        on_delete=models.CASCADE,
        null=True,
        db_constraint=False,
        db_index=False,
        related_name="tokens",
        help_text="The provider whose directory uses the token for SCIM (D541). Such a token has no role.",
    )
    valid_from = models.DateTimeField(_("valid from"))
    valid_until = models.DateTimeField(_("valid until"), null=True)
    created_on = models.DateTimeField(_("issued on"))
    last_used_on = models.DateTimeField(_("last used on"), null=True)
    revoked_on = models.DateTimeField(_("revoked on"), null=True)
    rotated_on = models.DateTimeField(null=True)
    old_digest = models.BinaryField(max_length=32, unique=True, null=True, editable=False)
    old_valid_until = models.DateTimeField(null=True)
    old_last_used_on = models.DateTimeField(null=True)
    networks = ArrayField(models.CharField(max_length=50), blank=True, default=list, db_default=[])
    is_read_only = models.BooleanField(default=False, db_default=False)
    facets = ArrayField(models.CharField(max_length=100), blank=True, default=list, db_default=[])
    operations = ArrayField(models.CharField(max_length=100), blank=True, default=list, db_default=[])
    limited_on = models.DateTimeField(null=True, help_text="The last change of the limits or of the end (D509).")
    reminded_days = models.PositiveSmallIntegerField(null=True, help_text="Last stage of reminders, in days (D486).")

    objects = TokenQuerySet.as_manager()

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        ordering = ["created_on", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(storage__isnull=True) | Q(collection__isnull=True), name="token_one_scope"
            )
        ]

    def __str__(self) -> str:
        return self.name

    def has_valid_old_value(self, now: datetime) -> bool:
        """Tell whether the value before the last rotation is still valid while the token itself is."""
        return self.old_digest is not None and self.old_valid_until is not None and self.old_valid_until > now

    def was_just_used(self, now: datetime) -> bool:
        return self.last_used_on is not None and now - self.last_used_on < LAST_USED_STEP

    def state(self, now: datetime) -> TokenState:
        if self.revoked_on is not None:
            return TokenState.REVOKED
        if self.valid_until is not None and self.valid_until <= now:
            return TokenState.EXPIRED
        return TokenState.ACTIVE if self.valid_from <= now else TokenState.NOT_YET_VALID


class TokenAddress(models.Model):
    """A network that a token was used from, or that its limit has refused."""

    token = models.ForeignKey(ApiToken, on_delete=models.CASCADE, related_name="addresses")
    network = models.CharField(max_length=50)
    is_refused = models.BooleanField()
    requests = models.BigIntegerField()
    first_on = models.DateTimeField()
    last_on = models.DateTimeField()

    class Meta:
        ordering = ["-last_on", "id"]
        constraints = [models.UniqueConstraint(fields=["token", "network", "is_refused"], name="token_address_once")]

    def __str__(self) -> str:
        return f"{self.token_id} {self.network}"


class AgentCalls(models.Model):
    """The calls of one tool by an agent with a token on one day (D596). `refused` counts those without a result."""

    # The unique constraint has the index.
    token = models.ForeignKey(ApiToken, on_delete=models.CASCADE, db_index=False, related_name="agent_calls")
    day = models.DateField()
    tool = models.CharField(max_length=60)
    calls = models.BigIntegerField()
    refused = models.BigIntegerField()
    last_on = models.DateTimeField()

    class Meta:
        ordering = ["-day", "tool"]
        constraints = [models.UniqueConstraint(fields=["token", "day", "tool"], name="agent_calls_once")]

    def __str__(self) -> str:
        return f"{self.token_id} {self.day} {self.tool}"
