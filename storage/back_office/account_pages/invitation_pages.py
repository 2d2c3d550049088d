"""The page of the link in an invitation (D550). Programs that check mails open all links, so GET changes nothing."""

from __future__ import annotations

from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from repository_site.core.problems import Conflict, TooManyRequests
from storage.accounts.invitations import (
    OpenedInvitation,
    accept,
    accept_with_password,
    foreign_provider_of,
    has_account,
    open_link,
    place_name,
    providers_for,
)
from storage.api.throttling import throttle_address
from storage.back_office.domain_forms import DomainForm
from storage.models import StaffAccount
from storage.single_sign_on.providers import refuses_password


class InvitedPersonForm(DomainForm):
    """Name and password of an invited person."""

    places = {"password": "password"}

    first_name = forms.CharField(
        label=gettext_lazy("First name"),
        max_length=150,
        required=False,
        widget=forms.TextInput({"autocomplete": "given-name"}),
    )
    last_name = forms.CharField(
        label=gettext_lazy("Last name"), max_length=150, widget=forms.TextInput({"autocomplete": "family-name"})
    )
    password = forms.CharField(
        label=gettext_lazy("Password"),
        max_length=4096,
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
        help_text=gettext_lazy("At least 12 characters, and not a common password."),
    )
    repeated = forms.CharField(
        label=gettext_lazy("Password again"),
        max_length=4096,
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )

    def clean_repeated(self) -> str:
        repeated: str = self.cleaned_data["repeated"]
        if "password" in self.cleaned_data and self.cleaned_data["password"] != repeated:
            raise forms.ValidationError(_("The two passwords are different."))
        return repeated


@never_cache
@sensitive_post_parameters()
@sensitive_variables()
@require_http_methods(["GET", "HEAD", "POST"])
def invitation_page(request: HttpRequest, value: str) -> HttpResponse:
    opened = open_link(value)
    if opened is None:
        return _invalid(request)
    account = request.user if isinstance(request.user, StaffAccount) and request.user.is_staff else None
    if request.method == "POST" and account is not None:
        return _accepted(request, value, account)
    form = InvitedPersonForm(request.POST if request.method == "POST" and "password" in request.POST else None)
    if account is None and form.is_bound and _needs_account(opened) and form.is_valid():
        given = form.cleaned_data
        try:
            made = form.attempt(
                lambda: accept_with_password(value, given["first_name"], given["last_name"], given["password"]),
                but=Conflict,
            )
        except Conflict:
            return _invalid(request)
        if made is not None:
            return render(request, "account/ready.html", {"account": made, "sign_in": _sign_in(reverse("landing"))})
    context = {
        "storage": place_name(opened.invitation),
        "invitation": opened.invitation,
        "account": account,
        "form": form if _needs_account(opened) else None,
        "is_foreign": foreign_provider_of(opened.invitation) is not None,
        "has_account": has_account(opened),
        "providers": [
            {"name": each.name, "address": f"/admin/sso/{each.key}/?{urlencode({'next': request.path})}"}
            for each in providers_for(opened.invitation)
        ],
        "sign_in": _sign_in(request.path),
    }
    return render(request, "account/invitation.html", context, status=422 if form.errors else 200)


def _needs_account(opened: OpenedInvitation) -> bool:
    """Tell whether the holder of a link may choose a password."""
    return not has_account(opened) and refuses_password(opened.invitation.address) is None


def _accepted(request: HttpRequest, value: str, account: StaffAccount) -> HttpResponse:
    try:
        storages = accept(value, account)
    except Conflict:
        return _invalid(request)
    if len(storages) == 1:
        return redirect(f"/{storages[0].collection.key}/{storages[0].key}/")
    return redirect("landing")


def _sign_in(after: str) -> str:
    return f"{reverse('admin:login')}?{urlencode({'next': after})}"


def _invalid(request: HttpRequest) -> HttpResponse:
    """Answer a link that is not valid. These count for the network, as wrong tokens do."""
    try:
        throttle_address(request)
    except TooManyRequests as problem:
        response = render(request, "problem.html", {"status": 429}, status=429)
        response["Retry-After"] = str(problem.retry_after)
        return response
    text = _("The link is too old, has been used, or was withdrawn. Ask for a new one.")
    return render(request, "account/invalid_link.html", {"text": text}, status=410)


urlpatterns = [path("<str:value>/", invitation_page, name="invitation")]
