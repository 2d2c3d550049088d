"""Rotation of tokens in the back offices (D147): form, new value, and the end of the old value."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminSelectWidget

from storage.access.rotation import end_old_value, rotate_token
from storage.access.tokens import IssuedToken
from storage.back_office.cells import NOTHING, ago, badge, moment
from storage.back_office.domain_forms import DomainForm, FormPage
from storage.back_office.fields import MomentField
from storage.models import ApiToken, TokenState
from storage.options import DEFAULT_OVERLAP

OVERLAPS = {
    timedelta(0): _("None: end it at once"),
    timedelta(hours=1): _("An hour"),
    timedelta(days=1): _("A day"),
    timedelta(days=7): _("A week"),
    timedelta(days=30): _("Thirty days"),
}


class RotateForm(DomainForm):
    """Overlap of a rotation. `seen` is the last rotation when the form was shown: a form sent twice rotates once."""

    places = {"overlap": "overlap", "valid until": "valid_until"}
    overlap = forms.TypedChoiceField(
        label=_("Validity of the old value"),
        choices=[(int(each.total_seconds()), text) for each, text in OVERLAPS.items()],
        coerce=lambda text: timedelta(seconds=int(text)),
        widget=UnfoldAdminSelectWidget(),
        help_text=_("Until then, give the new value to every program that uses this token."),
    )
    valid_until = MomentField(label=_("New end of the token"))
    seen = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, token: ApiToken, data: Any = None) -> None:
        seen = _seen(token)
        super().__init__(data, initial={"overlap": int(DEFAULT_OVERLAP.total_seconds()), "seen": seen})
        end = moment(token.valid_until) if token.valid_until else _("never")
        self.fields["valid_until"].help_text = _("Leave empty to keep the end of the token: %s.") % end

    def add_error(self, field: str | None, error: Any) -> None:
        super().add_error(None if field == "seen" else field, error)


def _seen(token: ApiToken) -> str:
    return token.rotated_on.isoformat() if token.rotated_on else ""


class RotationPages(admin.ModelAdmin):
    def may_rotate(self, token: ApiToken) -> bool:
        """Allow rotation of tokens that have not ended; ended tokens are replaced."""
        return token.state(timezone.now()) in (TokenState.ACTIVE, TokenState.NOT_YET_VALID)

    @action(description=_("New value"), url_path="rotate", icon="autorenew", permissions=["rotate"])
    def rotate(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        token = self._found(request, object_id)
        if not self.may_rotate(token):
            raise PermissionDenied
        form = RotateForm(token, request.POST if request.method == "POST" else None)
        if form.is_valid():
            if form.cleaned_data["seen"] != _seen(token):
                messages.info(request, _("“%s” has already been rotated. Its value is shown only once.") % token)
                return redirect("admin:storage_apitoken_change", token.pk)
            given = form.cleaned_data
            issued = form.attempt(lambda: rotate_token(token, given["overlap"], valid_until=given["valid_until"]))
            if issued is not None:
                return self._rotated_page(request, issued)
        fieldsets = ((None, {"fields": ("overlap", "valid_until", "seen")}),)
        return FormPage(_("New value for the token"), _("Create the new value"), fieldsets, token).render(
            self, request, form
        )

    def _rotated_page(self, request: HttpRequest, issued: IssuedToken) -> HttpResponse:
        end = issued.token.old_valid_until
        note = _("The old value is valid until %s.") % moment(end) if end else _("The old value has ended.")
        return self._issued_page(request, issued, _("The token has a new value"), str(note))

    @action(
        description=_("End the old value"),
        url_path="end-old-value",
        icon="key_off",
        variant=ActionVariant.DANGER,
        permissions=["rotate"],
    )
    def end_old(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        token = self._found(request, object_id)
        if request.method != "POST":
            context = {
                **self.admin_site.each_context(request),
                "title": _("End the old value?"),
                "opts": self.opts,
                "original": token,
                "used": self.old_used(token),
            }
            return TemplateResponse(request, "back_office/tokens/end_old_value.html", context)
        if end_old_value(token):
            messages.success(request, _("The old value has ended."))
        else:
            messages.info(request, _("The old value had already ended."))
        return redirect("admin:storage_apitoken_change", token.pk)

    def has_rotate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self.has_view_permission(request)

    @admin.display(description=_("rotated"))
    def rotated(self, token: ApiToken) -> SafeString:
        return ago(token.rotated_on, str(_("never")))

    @admin.display(description=_("old value"))
    def old_state(self, token: ApiToken) -> SafeString:
        if token.has_valid_old_value(timezone.now()):
            return badge(str(_("Valid until %s") % moment(token.old_valid_until)), "warning")
        return badge(str(_("Ended"))) if token.old_valid_until else SafeString(NOTHING)

    @admin.display(description=_("old value last used"))
    def old_used(self, token: ApiToken) -> SafeString:
        return ago(token.old_last_used_on, str(_("never")) if token.old_valid_until else NOTHING)

    def _found(self, request: HttpRequest, object_id: str) -> ApiToken:
        raise NotImplementedError

    def _issued_page(self, request: HttpRequest, issued: IssuedToken, title: Any, note: str = "") -> HttpResponse:
        raise NotImplementedError
