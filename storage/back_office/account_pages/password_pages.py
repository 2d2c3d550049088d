"""Pages that reset a password by mail (D551). Every address gets the same answer."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.views import PasswordResetConfirmView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse, reverse_lazy
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_safe

from repository_site.core.client_network import client_network
from storage.access.sign_ins import SignInBlocked
from storage.accounts.password_resets import ask_for_reset, can_reset
from storage.accounts.sessions import end_sessions
from storage.back_office.sign_in import blocked_text, seconds_until
from storage.models import StaffAccount


class AddressForm(forms.Form):
    address = forms.EmailField(
        label=_("Mail address"), max_length=254, widget=forms.EmailInput({"autocomplete": "email", "autofocus": True})
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables()
def forgotten_page(request: HttpRequest) -> HttpResponse:
    """Ask for the address. Without a mail server, say who can help."""
    form = AddressForm(request.POST if request.method == "POST" and settings.MAIL_SERVER else None)
    context: dict[str, Any] = {"form": form if settings.MAIL_SERVER else None}
    if not form.is_bound or not form.is_valid():
        return render(request, "account/forgotten.html", context, status=422 if form.errors else 200)
    try:
        with transaction.atomic():
            ask_for_reset(form.cleaned_data["address"], client_network(request))
    except SignInBlocked as blocked:
        wait = seconds_until(blocked)
        form.add_error(None, blocked_text(wait))
        response = render(request, "account/forgotten.html", context, status=429)
        response["Retry-After"] = str(wait)
        return response
    return redirect("password_sent")


@never_cache
@require_safe
def sent_page(request: HttpRequest) -> HttpResponse:
    return render(request, "account/reset_sent.html", {"minutes": settings.PASSWORD_RESET_TIMEOUT // 60})


class ResetPage(PasswordResetConfirmView):
    """Sets the password, ends all sessions of the account, and signs nobody in."""

    template_name = "account/new_password.html"
    success_url = reverse_lazy("password_done")

    def get_user(self, uidb64: str) -> StaffAccount | None:
        """Return the account of a link, unless its password has been switched off since."""
        found = super().get_user(uidb64)
        return found if isinstance(found, StaffAccount) and can_reset(found) else None

    @transaction.atomic
    def form_valid(self, form: SetPasswordForm) -> HttpResponse:
        response = super().form_valid(form)
        end_sessions(form.user)
        return response

    def render_to_response(self, context: dict[str, Any], **options: Any) -> HttpResponse:
        if not context["validlink"]:
            options["status"] = 410
        elif context["form"].errors:
            options["status"] = 422
        return super().render_to_response({**context, "again": reverse("password_forgotten")}, **options)


@never_cache
@require_safe
def done_page(request: HttpRequest) -> HttpResponse:
    return render(request, "account/password_done.html", {"sign_in": reverse("admin:login")})


urlpatterns = [
    path("", forgotten_page, name="password_forgotten"),
    path("sent/", sent_page, name="password_sent"),
    path("done/", done_page, name="password_done"),
    path("<uidb64>/<token>/", ResetPage.as_view(), name="password_new"),
]
