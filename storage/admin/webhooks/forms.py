"""Forms of webhooks. They give the domain functions what a client of the API would send."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminPasswordWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from repository_site.core.problems import Conflict
from storage.admin.tokens.rotation import OVERLAPS
from storage.back_office.domain_forms import DomainForm
from storage.back_office.fields import LinesField
from storage.models import EventType, Storage, Webhook, WebhookPayload
from storage.models.webhooks import LONGEST_URL
from storage.options import DEFAULT_OVERLAP
from storage.webhooks import checking
from storage.webhooks.checking import filter_names

# Shown instead of a stored header value, and sent back to keep it.
HIDDEN = "••••••"


class WebhookForm(DomainForm):
    places = {
        checking.URL: "url",
        checking.EVENTS: "events",
        checking.FACET: "facet",
        checking.ELEMENT_TYPE: "element_type",
        checking.STATE: "state",
        checking.PAYLOAD: "payload",
        checking.HEADERS: "headers",
        f"{checking.BASIC}.{checking.PASSWORD}": "password",
        checking.BASIC: "username",
        checking.IS_ENABLED: "is_enabled",
    }
    fieldsets = (
        (None, {"fields": ("url", "is_enabled")}),
        (_("Events"), {"fields": ("events", "facet", "element_type", "state", "payload")}),
        (_("Request"), {"fields": ("headers", "username", "password", "read_on")}),
    )

    url = forms.CharField(
        label=_("Address"),
        help_text=_("The receiver, such as https://example.org/hook. It gets a signed POST for each event."),
        widget=UnfoldAdminTextInputWidget({"maxlength": LONGEST_URL, "autofocus": True, "autocomplete": "off"}),
    )
    is_enabled = forms.BooleanField(label=_("Enabled"), required=False, widget=UnfoldBooleanSwitchWidget())
    events = forms.MultipleChoiceField(
        label=_("Events"),
        required=False,
        choices=[(each, each) for each in EventType.values],
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        help_text=_("Choose none for all events."),
    )
    facet = forms.ChoiceField(label=_("Only this facet"), required=False, widget=UnfoldAdminSelectWidget())
    element_type = forms.ChoiceField(
        label=_("Only this element type"), required=False, widget=UnfoldAdminSelectWidget()
    )
    state = forms.ChoiceField(label=_("Only this state"), required=False, widget=UnfoldAdminSelectWidget())
    payload = forms.ChoiceField(
        label=_("Content of a message"), choices=[*WebhookPayload.choices], widget=UnfoldAdminSelectWidget()
    )
    headers = LinesField(
        label=_("Headers"),
        required=False,
        widget=UnfoldAdminTextareaWidget({"rows": 3, "spellcheck": "false"}),
        help_text=_(
            "One on each line, such as X-Team: docs. Stored values are not shown; leave the dots to keep a value."
        ),
    )
    username = forms.CharField(
        label=_("User name"),
        required=False,
        help_text=_("For basic authentication; leave empty for none."),
        widget=UnfoldAdminTextInputWidget({"autocomplete": "off"}),
    )
    password = forms.CharField(
        label=_("Password"),
        required=False,
        help_text=_("Leave empty to keep the stored one."),
        widget=UnfoldAdminPasswordWidget({"autocomplete": "new-password"}),
    )

    read_on = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, storage: Storage, data: Any = None, webhook: Webhook | None = None) -> None:
        super().__init__(data, initial=_initial(webhook))
        known = filter_names(storage)
        for field, name in (
            ("facet", checking.FACET),
            ("element_type", checking.ELEMENT_TYPE),
            ("state", checking.STATE),
        ):
            kept = [getattr(webhook, field)] if webhook and getattr(webhook, field) else []
            names = sorted({*known.get(name, ()), *kept})
            choices = self.fields[field]
            assert isinstance(choices, forms.ChoiceField)  # noqa: S101  declared above
            choices.choices = [("", _("all")), *((each, each) for each in names)]

    def clean_headers(self) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for line in self.cleaned_data["headers"].splitlines():
            if not line.strip():
                continue
            name, colon, value = (part.strip() for part in line.partition(":"))
            if not colon or name in found:
                raise forms.ValidationError(
                    _("Expected a name, a colon and a value on each line, and each name only once.")
                )
            found[name] = None if value == HIDDEN else value
        return found

    def check(self, webhook: Webhook) -> None:
        """Refuse to overwrite what somebody else has changed since the page was opened, until it is saved again."""
        current = webhook.changed_on.isoformat()
        if self.cleaned_data["read_on"] not in ("", current):
            data = cast("QueryDict", self.data).copy()
            data["read_on"] = current
            self.data = data
            raise Conflict(
                gettext(
                    "Somebody else has changed the webhook since you opened this page. Save again to overwrite these"
                    " changes, or open the page again to see them."
                )
            )

    @property
    def given(self) -> dict[str, Any]:
        """The fields as a client of the API sends them."""
        data = self.cleaned_data
        basic = {checking.USERNAME: data["username"], checking.PASSWORD: data["password"] or None}
        return {
            checking.URL: data["url"],
            checking.IS_ENABLED: data["is_enabled"],
            checking.EVENTS: data["events"],
            checking.FACET: data["facet"],
            checking.ELEMENT_TYPE: data["element_type"],
            checking.STATE: data["state"],
            checking.PAYLOAD: data["payload"],
            checking.HEADERS: data["headers"],
            checking.BASIC: basic if data["username"] or data["password"] else None,
        }


def _initial(webhook: Webhook | None) -> dict[str, Any]:
    if webhook is None:
        return {"is_enabled": True}
    names = ("url", "is_enabled", "events", "facet", "element_type", "state", "payload", "username")
    headers = "\n".join(f"{name}: {HIDDEN}" for name in webhook.headers)
    return {
        **{name: getattr(webhook, name) for name in names},
        "headers": headers,
        "read_on": webhook.changed_on.isoformat(),
    }


class SecretForm(DomainForm):
    places = {"overlap": "overlap"}
    fieldsets = ((None, {"fields": ("overlap",)}),)

    overlap = forms.TypedChoiceField(
        label=_("Use of the old secret"),
        choices=[(int(each.total_seconds()), text) for each, text in OVERLAPS.items()],
        coerce=lambda text: timedelta(seconds=int(text)),
        widget=UnfoldAdminSelectWidget(),
        initial=int(DEFAULT_OVERLAP.total_seconds()),
        help_text=_("Until then, both secrets sign each message. Meanwhile, give the new one to the receiver."),
    )
