"""Forms of identity providers and of their rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminPasswordWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from storage.back_office.domain_forms import DomainForm
from storage.back_office.role_texts import ROLE_NAMES
from storage.models import AccessRule, IdentityProvider, RuleComparison, Storage, StorageCollection
from storage.models.identity import LONGEST_ISSUER
from storage.options import Role
from storage.single_sign_on.providers import NO_STORAGE

NO_SUGGESTIONS = {"autocomplete": "off", "spellcheck": "false"}


def _text(longest: int, **attributes: Any) -> UnfoldAdminTextInputWidget:
    return UnfoldAdminTextInputWidget({**NO_SUGGESTIONS, "maxlength": longest, **attributes})


def _switch(name: str) -> forms.BooleanField:
    field: Any = IdentityProvider._meta.get_field(name)
    return forms.BooleanField(
        label=capfirst(field.verbose_name),
        required=False,
        help_text=field.help_text,
        widget=UnfoldBooleanSwitchWidget(),
    )


class ProviderForm(DomainForm):
    places = {
        "id": "key",
        "name": "name",
        "issuer": "issuer",
        "client id": "client_id",
        "scopes": "scopes",
        "mail domains": "mail_domains",
        "audience": "audience",
    }
    fieldsets = (
        (None, {"fields": ("name", "key", "collection", "is_enabled")}),
        (_("Connection"), {"fields": ("issuer", "client_id", "client_secret", "scopes")}),
        (_("People"), {"fields": ("mail_domains", "verifies_addresses", "refuses_passwords")}),
        (_("API"), {"fields": ("accepts_tokens", "audience")}),
    )

    name = forms.CharField(
        label=_("Name"), max_length=40, help_text=_("Shown on the button for signing in."), widget=_text(40)
    )
    key = forms.CharField(
        label=_("Id"),
        max_length=40,
        help_text=_("Part of the addresses that the provider calls. It cannot be changed later."),
        widget=_text(40),
    )
    collection = forms.ModelChoiceField(
        label=_("Collection"),
        queryset=StorageCollection.objects.all(),
        required=False,
        empty_label=_("The whole installation"),
        help_text=_("The provider of a collection grants roles in its storages only."),
        widget=UnfoldAdminSelectWidget(),
    )
    is_enabled = forms.BooleanField(
        label=_("Enabled"),
        required=False,
        help_text=_("If you disable the provider, its sessions end, and nobody can sign in with it."),
        widget=UnfoldBooleanSwitchWidget(),
    )
    issuer = forms.CharField(
        label=_("Issuer"),
        max_length=LONGEST_ISSUER,
        help_text=_("As the provider names it in its discovery document, such as https://login.example.org/realms/a."),
        widget=_text(LONGEST_ISSUER),
    )
    client_id = forms.CharField(label=_("Client id"), max_length=191, widget=_text(191))
    client_secret = forms.CharField(
        label=_("Client secret"),
        required=False,
        max_length=1000,
        help_text=_("Stored encrypted and never shown. Leave empty to keep the stored one."),
        widget=UnfoldAdminPasswordWidget({"autocomplete": "new-password"}),
    )
    scopes = forms.CharField(
        label=_("Scopes"), max_length=200, help_text=_("Separated by spaces."), widget=_text(200), required=False
    )
    mail_domains = forms.CharField(
        label=_("Mail domains"),
        required=False,
        max_length=20_000,
        help_text=_(
            "One on each line. The provider signs in accounts with these domains; a collection needs at least one."
        ),
        widget=UnfoldAdminTextareaWidget({"rows": 3, "spellcheck": "false"}),
    )
    verifies_addresses = _switch("verifies_addresses")
    refuses_passwords = _switch("refuses_passwords")
    accepts_tokens = _switch("accepts_tokens")
    audience = forms.CharField(
        label=_("Audience"),
        required=False,
        max_length=200,
        help_text=_("The audience that access tokens must have."),
        widget=_text(200),
    )

    def __init__(self, data: Any = None, provider: IdentityProvider | None = None) -> None:
        super().__init__(data, initial=_initial(provider))
        if provider is not None:
            self.fields["key"].disabled = True
            # Everything that rules have granted there would have to move as well.
            self.fields["collection"].disabled = True
        if provider is not None and provider.is_from_settings:
            for field in self.fields.values():
                field.disabled = True

    def clean_mail_domains(self) -> list[str]:
        return str(self.cleaned_data["mail_domains"]).replace(",", " ").split()

    @property
    def columns(self) -> dict[str, Any]:
        return {name: value for name, value in self.cleaned_data.items() if name != "client_secret"}

    @property
    def secret(self) -> str | None:
        return self.cleaned_data["client_secret"] or None


def _initial(provider: IdentityProvider | None) -> dict[str, Any]:
    if provider is None:
        return {"is_enabled": True, "scopes": "openid profile email"}
    names = ("name", "key", "is_enabled", "issuer", "client_id", "scopes", "audience")
    switches = ("verifies_addresses", "refuses_passwords", "accepts_tokens")
    found = {name: getattr(provider, name) for name in (*names, *switches)}
    return {**found, "collection": provider.collection_id, "mail_domains": "\n".join(provider.mail_domains)}


class AccessRuleForm(forms.Form):
    """One rule in the table of rules. A row without a claim and without roles is empty."""

    claim = forms.CharField(label=_("Claim"), max_length=100, required=False)
    comparison = forms.ChoiceField(label=_("Comparison"), choices=RuleComparison.choices, required=False)
    value = forms.CharField(label=_("Text"), max_length=200, required=False, strip=False)
    storage = forms.ChoiceField(label=_("Storage"), required=False)
    roles = forms.MultipleChoiceField(
        label=_("Roles"),
        required=False,
        choices=[(role.value, ROLE_NAMES[role]) for role in Role],
        widget=forms.CheckboxSelectMultiple(),
    )
    user_claim = forms.CharField(label=_("Claim of the user element"), max_length=100, required=False)
    user_attribute = forms.CharField(label=_("Attribute of the user element"), max_length=100, required=False)
    is_removed = forms.BooleanField(label=_("Remove"), required=False)

    def __init__(self, *args: Any, storages: Mapping[UUID, Storage], **options: Any) -> None:
        super().__init__(*args, **options)
        field = self.fields["storage"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  declared above
        field.choices = [("", "–"), *((str(key), str(each)) for key, each in storages.items())]
        for name in ("claim", "value", "user_claim", "user_attribute"):
            self.fields[name].widget.attrs |= {**NO_SUGGESTIONS, "class": "el-input"}
        for name in ("comparison", "storage"):
            self.fields[name].widget.attrs["class"] = "el-input"

    def rule(self) -> AccessRule | None:
        """Return the typed rule; None for a row that is empty or to be removed."""
        given = self.cleaned_data
        typed = ("claim", "value", "storage", "roles", "user_claim", "user_attribute")
        if given["is_removed"] or not any(given[name] for name in typed):
            return None
        return AccessRule(
            claim=given["claim"],
            comparison=given["comparison"] or RuleComparison.EQUALS,
            value="" if given["comparison"] == RuleComparison.ANY else given["value"],
            storage_id=UUID(given["storage"]) if given["storage"] else NO_STORAGE,
            roles=given["roles"],
            user_claim=given["user_claim"],
            user_attribute=given["user_attribute"],
        )
