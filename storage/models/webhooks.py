"""Webhooks of a storage, the messages for them, and the attempts to deliver each (D360 to D369)."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from storage.models.tenant import TenantModel, tenant_link

LONGEST_URL = 2000


class WebhookPayload(models.TextChoices):
    THIN = "thin", _("the event")
    ELEMENT = "element", _("the event and the element")


class DeliveryState(models.TextChoices):
    WAITING = "waiting", _("waiting")
    DELIVERED = "delivered", _("delivered")
    DEAD = "dead", _("dead letter")


class Webhook(TenantModel):
    """An address that gets the events of a storage. Secrets are encrypted (D360)."""

    url = models.CharField(_("address"), max_length=LONGEST_URL)
    events = ArrayField(models.CharField(max_length=40), default=list, blank=True, help_text="Empty for all events.")
    facet = models.CharField(max_length=100, blank=True)
    element_type = models.CharField(max_length=100, blank=True)
    state = models.CharField(max_length=100, blank=True)
    payload = models.CharField(_("content"), max_length=20, choices=WebhookPayload, default=WebhookPayload.THIN)
    headers = models.JSONField(default=dict, help_text="Encrypted values by name.")
    username = models.CharField(max_length=200, blank=True, help_text="For basic authentication.")
    password = models.TextField(blank=True, help_text="Encrypted.")
    secret = models.TextField(help_text="Encrypted.")
    old_secret = models.TextField(blank=True, help_text="Encrypted; signs beside the new one after a rotation.")
    old_secret_until = models.DateTimeField(null=True)
    is_enabled = models.BooleanField(_("enabled"), default=True)
    disabled_reason = models.TextField(blank=True)
    position = models.BigIntegerField(help_text="Number of the last event of which deliveries were made.")
    rests_until = models.DateTimeField(null=True, help_text="Nothing is sent until then, because attempts have failed.")
    created_on = models.DateTimeField(_("created on"))
    created_by = models.CharField(_("created by"), max_length=200)
    changed_on = models.DateTimeField(_("changed on"))
    changed_by = models.CharField(_("changed by"), max_length=200)

    class Meta:
        verbose_name = _("webhook")
        verbose_name_plural = _("webhooks")
        ordering = ["created_on", "id"]

    def __str__(self) -> str:
        return self.url


class WebhookDelivery(TenantModel):
    """One message for one webhook. It keeps what is sent, because the event may be deleted earlier."""

    concerns = ("subject_id",)

    storage_through: ClassVar[str | None] = "webhook"

    webhook = tenant_link("storage.Webhook", "deliveries")
    event_id = models.UUIDField(help_text="With the webhook, it gives the id of the message.")
    number = models.BigIntegerField(help_text="Place of the event in the feed; 0 for a test.")
    type = models.CharField(_("event"), max_length=40)
    subject_id = models.UUIDField(help_text="Messages with the same subject are sent in their order.")
    is_first = models.BooleanField(
        default=False, db_default=False, help_text="It waits, and nothing with its subject waits before it."
    )
    message = models.TextField(help_text="The CloudEvent as it is sent.")
    state = models.CharField(_("state"), max_length=20, choices=DeliveryState, default=DeliveryState.WAITING)
    attempts = models.IntegerField(_("attempts"), default=0, help_text="Since the message was sent first or again.")
    created_on = models.DateTimeField(_("created on"))
    first_attempt_on = models.DateTimeField(null=True, help_text="Retries end a day later.")
    next_attempt_on = models.DateTimeField(_("next attempt"), null=True)
    ended_on = models.DateTimeField(null=True, help_text="When the message was delivered, or given up.")

    class Meta:
        verbose_name = _("delivery")
        verbose_name_plural = _("deliveries")
        ordering = ["-created_on", "-number", "id"]
        constraints = [
            models.UniqueConstraint(fields=["storage_id", "webhook", "event_id"], name="event_delivered_once")
        ]
        indexes = [
            models.Index(
                fields=["storage_id", "webhook", "subject_id", "number", "id"],
                name="delivery_waiting",
                condition=models.Q(state="waiting"),
            ),
            models.Index(
                fields=["storage_id", "webhook", "number", "id"],
                name="delivery_first",
                condition=models.Q(state="waiting", is_first=True),
            ),
            models.Index(fields=["storage_id", "webhook"], name="delivery_dead", condition=models.Q(state="dead")),
            models.Index(fields=["storage_id", "webhook", "created_on", "number", "id"], name="delivery_by_time"),
            models.Index(fields=["storage_id", "created_on", "number"], name="delivery_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.event_id}"


class WebhookAttempt(TenantModel):
    """One attempt to deliver a message, as it ended."""

    storage_through: ClassVar[str | None] = "delivery"

    delivery = tenant_link("storage.WebhookDelivery", "log")
    time = models.DateTimeField(_("time"))
    status = models.SmallIntegerField(null=True, help_text="Of the answer; empty if there was none.")
    error = models.TextField(blank=True)
    milliseconds = models.IntegerField()
    answer = models.TextField(blank=True, help_text="The first bytes of the answer.")

    class Meta:
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")
        ordering = ["time", "id"]
        indexes = [
            models.Index(fields=["storage_id", "delivery", "time"], name="attempt_by_delivery"),
            models.Index(fields=["storage_id", "time"], name="attempt_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.time} {self.status or self.error}"
