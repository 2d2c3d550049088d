"""Providers of identities (D501), their rules (D503), the sessions that began with them (D507), and the people and
groups of their directories (D543).

allauth's `SocialAccount` has the subjects of people: its `provider` is the id of an `IdentityProvider`.
"""

from __future__ import annotations

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from storage.models.staff import StaffAccount
from storage.models.storages import Storage, StorageCollection
from storage.options import Role

LONGEST_ISSUER = 500


class IdentityProvider(models.Model):
    """An OpenID Connect provider of the installation or, with a collection, of the storages in it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    key = models.SlugField(
        _("id"), max_length=40, unique=True, help_text=_("Part of the addresses that the provider calls.")
    )
    name = models.CharField(_("name"), max_length=40, help_text=_("Shown on the button for signing in."))
    collection = models.ForeignKey(
        StorageCollection,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="identity_providers",
        verbose_name=_("collection"),
        help_text=_("A provider of a collection grants roles in its storages only. Empty for the installation."),
    )
    issuer = models.CharField(
        _("issuer"), max_length=LONGEST_ISSUER, help_text=_("As the provider names it in its discovery document.")
    )
    client_id = models.CharField(_("client id"), max_length=191)
    secret = models.TextField(blank=True, help_text="Encrypted.")
    scopes = models.CharField(
        _("scopes"), max_length=200, default="openid profile email", help_text=_("Separated by spaces.")
    )
    mail_domains = ArrayField(
        models.CharField(max_length=253),
        verbose_name=_("mail domains"),
        default=list,
        blank=True,
        help_text=_("Domains of the accounts that the provider signs in."),
    )
    refuses_passwords = models.BooleanField(
        _("no passwords"),
        default=False,
        help_text=_("Accounts with these mail domains cannot sign in with a password, except site administrators."),
    )
    verifies_addresses = models.BooleanField(
        _("addresses are verified"),
        default=False,
        help_text=_("The provider verifies every address of these domains, even if its tokens do not say so."),
    )
    accepts_tokens = models.BooleanField(
        _("access tokens"), default=False, help_text=_("The API accepts access tokens of the provider.")
    )
    audience = models.CharField(
        _("audience"), max_length=200, blank=True, help_text=_("The audience that access tokens must have.")
    )
    is_enabled = models.BooleanField(_("enabled"), default=True)
    is_from_settings = models.BooleanField(default=False, editable=False)

    class Meta:
        verbose_name = _("identity provider")
        verbose_name_plural = _("identity providers")
        ordering = ["name", "key"]

    def __str__(self) -> str:
        return self.name


class RuleComparison(models.TextChoices):
    EQUALS = "equals", _("equals")
    CONTAINS = "contains", _("contains")
    PATTERN = "pattern", _("matches the pattern")
    ANY = "any", _("has any value")


class AccessRule(models.Model):
    """Grants roles in a storage to people whose claim compares as stated."""

    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="rules")
    position = models.PositiveSmallIntegerField()
    claim = models.CharField(_("claim"), max_length=100)
    comparison = models.CharField(_("comparison"), max_length=10, choices=RuleComparison, default=RuleComparison.EQUALS)
    value = models.CharField(_("text"), max_length=200, blank=True)
    storage = models.ForeignKey(
        Storage, on_delete=models.CASCADE, related_name="access_rules", verbose_name=_("storage")
    )
    roles = ArrayField(models.CharField(max_length=20, choices=[(role.value, role.value) for role in Role]))
    user_claim = models.CharField(_("claim of the user element"), max_length=100, blank=True)
    user_attribute = models.CharField(_("attribute of the user element"), max_length=100, blank=True)

    class Meta:
        verbose_name = _("rule")
        verbose_name_plural = _("rules")
        ordering = ["provider", "position", "id"]

    def __str__(self) -> str:
        return f"{self.claim} {self.comparison} {self.value}".strip()


class ProviderSession(models.Model):
    """A session that began at a provider, which can end it. The session itself is Django's."""

    session_key = models.CharField(max_length=40, unique=True)
    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="sessions")
    account = models.ForeignKey(StaffAccount, on_delete=models.CASCADE, related_name="provider_sessions")
    subject = models.CharField(max_length=255)
    sid = models.CharField(max_length=255, blank=True, help_text="Id of the session at the provider.")
    began_on = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["provider", "subject"], name="provider_session_by_subject")]

    def __str__(self) -> str:
        return f"{self.account} {self.began_on:%Y-%m-%d %H:%M}"


class DirectoryPerson(models.Model):
    """A person whom the directory of a provider has sent. Without an account, the person has no access."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="people")
    account = models.ForeignKey(StaffAccount, on_delete=models.SET_NULL, null=True, related_name="directory_people")
    user_name = models.CharField(max_length=255)
    user_key = models.CharField(max_length=255, help_text="The user name for comparisons, without letter case.")
    external_id = models.CharField(max_length=255, blank=True)
    is_active = models.BooleanField(default=True)
    attributes = models.JSONField(default=dict, help_text="Further attributes, as SCIM names them.")
    version = models.PositiveIntegerField(default=1)
    created_on = models.DateTimeField()
    changed_on = models.DateTimeField()

    class Meta:
        ordering = ["created_on", "id"]
        constraints = [
            models.UniqueConstraint(fields=["provider", "user_key"], name="directory_person_user_name"),
            models.UniqueConstraint(fields=["provider", "account"], name="directory_person_account"),
        ]
        indexes = [
            models.Index(fields=["provider", "external_id"], name="directory_person_external"),
            models.Index(fields=["provider", "created_on", "id"], name="directory_person_order"),
        ]

    def __str__(self) -> str:
        return self.user_name


class DirectoryGroup(models.Model):
    """A group of people in the directory of a provider, for rules."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="groups")
    display_name = models.CharField(max_length=255)
    name_key = models.CharField(max_length=255, help_text="The name for comparisons, without letter case.")
    external_id = models.CharField(max_length=255, blank=True)
    version = models.PositiveIntegerField(default=1)
    created_on = models.DateTimeField()
    changed_on = models.DateTimeField()

    class Meta:
        ordering = ["created_on", "id"]
        indexes = [
            models.Index(fields=["provider", "name_key"], name="directory_group_name"),
            models.Index(fields=["provider", "external_id"], name="directory_group_external"),
        ]

    def __str__(self) -> str:
        return self.display_name


class DirectoryMember(models.Model):
    group = models.ForeignKey(DirectoryGroup, on_delete=models.CASCADE, related_name="members")
    person = models.ForeignKey(DirectoryPerson, on_delete=models.CASCADE, related_name="memberships")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["group", "person"], name="directory_member_once")]

    def __str__(self) -> str:
        return f"{self.person_id} in {self.group_id}"
