"""Messages to people, their mails, and the subscriptions that cause some of them (D370 to D378)."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from storage.models.tenant import TenantModel, tenant_link


class MessageKind(models.TextChoices):
    TASK = "task", _("A task for me")
    REMINDER = "reminder", _("A reminder of a task")
    DECIDED = "decided", _("My request was decided")
    RELEASED = "released", _("An element that I own or subscribe to was released")
    EXPIRING = "expiring", _("An element that I own or subscribe to ends soon")
    INVITED = "invited", _("I was added to the staff of a storage")
    TOKEN = "token", _("An API token ends soon, or was used from a new address")


class MailTime(models.TextChoices):
    """When a person gets a mail about a message."""

    NOW = "now", _("at once")
    DAILY = "daily", _("once a day")
    NEVER = "never", _("never")


class Recipient(TenantModel):
    """A person who gets messages in a storage: a user element, or a staff account without one (D370)."""

    key = models.CharField(max_length=60, help_text="`user:` and the id of the element, or `staff:` and the account.")
    preferences = models.JSONField(default=dict, help_text="Time of mails by kind of message, if not the default.")
    refused_address = models.CharField(max_length=254, blank=True, help_text="Address that gets no further mail.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["storage_id", "key"], name="recipient_once")]

    def __str__(self) -> str:
        return self.key


class OutgoingMail(TenantModel):
    """A mail about one or more messages. Its id is in the Message-ID, which a repeated mail has again (D373)."""

    storage_through = "recipient"

    recipient = tenant_link("storage.Recipient", "+")
    made_on = models.DateTimeField()
    due_on = models.DateTimeField(help_text="Time of the next attempt.")
    attempts = models.SmallIntegerField(default=0)
    sent_on = models.DateTimeField(null=True)
    failed_on = models.DateTimeField(null=True, help_text="No further attempt is made.")
    address = models.CharField(max_length=254, blank=True, help_text="Address of the last attempt.")
    error = models.TextField(blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["storage_id", "due_on"], name="mail_due", condition=Q(sent_on=None) & Q(failed_on=None)
            ),
            models.Index(fields=["storage_id", "recipient", "made_on"], name="mail_by_recipient"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Message(TenantModel):
    """A message to one person. It has ids and values; pages and mails make sentences of them."""

    storage_through = "recipient"
    concerns = ("element_id",)

    recipient = tenant_link("storage.Recipient", "+")
    kind = models.CharField(max_length=20, choices=MessageKind)
    cause = models.UUIDField(help_text="Id of the event, or of another cause; a person is told of it once.")
    made_on = models.DateTimeField()
    element_id = models.UUIDField(null=True)
    version_id = models.UUIDField(null=True)
    data = models.JSONField(default=dict)
    read_on = models.DateTimeField(null=True)
    mail_time = models.CharField(max_length=10, choices=MailTime)
    mail = tenant_link("storage.OutgoingMail", "+", null=True)

    class Meta:
        ordering = ["-made_on", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["storage_id", "recipient", "cause", "kind"], name="message_once")
        ]
        indexes = [
            models.Index(fields=["storage_id", "recipient", "made_on"], name="message_by_recipient"),
            models.Index(
                fields=["storage_id", "mail_time"],
                name="message_without_mail",
                condition=Q(mail=None) & ~Q(mail_time=MailTime.NEVER),
            ),
            models.Index(fields=["storage_id", "mail"], name="message_by_mail"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.cause}"


class MessageLog(TenantModel):
    """How far the messages of a storage are: events, daily mails, and failures of the mail server."""

    position = models.BigIntegerField(help_text="Number of the last event that has its messages.")
    daily_on = models.DateField(null=True, help_text="Local day of the last daily mails.")
    failures = models.SmallIntegerField(default=0, help_text="Attempts in a row that the mail server did not answer.")
    resume_on = models.DateTimeField(null=True, help_text="Time of the next attempt after these failures.")
    problem = models.TextField(blank=True, help_text="The last of these failures.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["storage_id"], name="one_message_log")]

    def __str__(self) -> str:
        return f"{self.storage_id} {self.position}"


class Subscription(TenantModel):
    """A person follows an element, optionally with everything below it."""

    storage_through = "recipient"
    concerns = ("element_id",)

    recipient = tenant_link("storage.Recipient", "+")
    element_id = models.UUIDField(help_text="The element, which may have been deleted.")
    is_subtree = models.BooleanField()
    created_on = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["storage_id", "recipient", "element_id"], name="subscription_once")
        ]
        indexes = [models.Index(fields=["storage_id", "element_id"], name="subscription_by_element")]

    def __str__(self) -> str:
        return f"{self.recipient_id} {self.element_id}"
