"""Sign-in form of both back offices and the reader pages, protected against guessing (D146)."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_variables
from unfold.forms import AuthenticationForm
from unfold.sites import UnfoldAdminSite

from repository_site.core.client_network import client_network
from storage.access.sign_ins import SignInBlocked, begin_attempt
from storage.accounts.waiting_sign_ins import PAGE as FACTOR_PAGE
from storage.accounts.waiting_sign_ins import let_wait, must_wait
from storage.models import StaffAccount
from storage.single_sign_on.linking import drop_stale_roles
from storage.single_sign_on.provider_sessions import follow_session
from storage.single_sign_on.providers import offered_providers, refuses_password
from storage.single_sign_on.sessions import sign_out_address
from storage.tenancy.addresses import public_base

BLOCKED = "blocked"


class SignInForm(AuthenticationForm):
    wait = 0
    """Seconds until the next permitted attempt, if this one was blocked."""
    waiting: StaffAccount | None = None
    """The account whose password was right, and whose second factor is missing."""

    @sensitive_variables()
    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = self.cleaned_data
        if not given.get("username") or not given.get("password"):
            return given
        try:
            attempt = begin_attempt(given["username"], client_network(self.request))
        except SignInBlocked as blocked:
            raise self._blocked(blocked) from None
        try:
            cleaned: dict[str, Any] = super().clean()
        except ValidationError:
            attempt.failed()
            raise
        attempt.succeeded()
        drop_stale_roles(self.get_user())
        # Somebody who has begun to sign in at a provider has a short session.
        self.request.session.set_expiry(None)
        if must_wait(self.get_user(), is_password=True):
            self.waiting = self.get_user()
            raise ValidationError("", code="second_factor")
        return cleaned

    def confirm_login_allowed(self, user: Any) -> None:
        """Refuse the right password of an account that must sign in at its provider (D506)."""
        super().confirm_login_allowed(user)
        if not user.is_superuser and (provider := refuses_password(user.email)):
            text = _("Passwords are switched off for your mail domain. Sign in with %s.") % provider
            raise ValidationError(text, code="single_sign_on")

    def _blocked(self, blocked: SignInBlocked) -> ValidationError:
        self.wait = seconds_until(blocked)
        return ValidationError(blocked_text(self.wait), code=BLOCKED)


def seconds_until(blocked: SignInBlocked) -> int:
    return max(math.ceil((blocked.until - timezone.now()).total_seconds()), 1)


def blocked_text(seconds: int) -> str:
    minutes = math.ceil(seconds / 60)
    text = ngettext(
        "Signing in has failed too often from your address. Try again in %(minutes)d minute, or ask an"
        " administrator of the site to lift the block.",
        "Signing in has failed too often from your address. Try again in %(minutes)d minutes, or ask an"
        " administrator of the site to lift the block.",
        minutes,
    )
    return text % {"minutes": minutes}


def _offered(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the providers of a sign-in page, with the addresses that lead to them and back."""
    storage = getattr(request, "storage", None)
    after = request.GET.get(REDIRECT_FIELD_NAME, "") or reverse("admin:index")
    found = offered_providers(storage.collection_id if storage else None)
    return [{"provider": each, "address": f"/admin/sso/{each.key}/?{urlencode({'next': after})}"} for each in found]


class GuardedSignIn(UnfoldAdminSite):
    """Base of both sites: protected sign-in and password change."""

    login_form = SignInForm

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        offered = [] if request.user.is_authenticated else _offered(request)
        context = {**(extra_context or {}), "sign_on_providers": offered}
        response: HttpResponseBase = super().login(request, context)
        form = (getattr(response, "context_data", None) or {}).get("form")
        if isinstance(form, SignInForm) and form.waiting is not None:
            after = request.POST.get(REDIRECT_FIELD_NAME, "") or request.GET.get(REDIRECT_FIELD_NAME, "")
            let_wait(request, form.waiting, after or reverse("admin:index"))
            return redirect(FACTOR_PAGE)
        if isinstance(form, SignInForm) and form.is_bound and form.has_error(NON_FIELD_ERRORS, BLOCKED):
            response.status_code = 429
            response["Retry-After"] = str(form.wait)
        return response

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        """Sign out here, then at the provider where the session began (D507)."""
        address = ""
        if request.method == "POST":
            address = sign_out_address(request, f"{public_base(request)}/admin/login/")
        response: HttpResponseBase = super().logout(request, extra_context)
        return render(request, "sign_on/leaving.html", {"address": address}) if address else response

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Count wrong old passwords as failed sign-ins, so that a signed-in browser allows no unlimited guessing."""
        if request.method != "POST" or not request.POST.get("old_password"):
            return self._change_password(request, extra_context)
        try:
            attempt = begin_attempt(request.user.get_username(), client_network(request))
        except SignInBlocked as blocked:
            wait = seconds_until(blocked)
            messages.error(request, blocked_text(wait))
            # Show the empty form; the typed values are not checked.
            request.method = "GET"
            try:
                response = self._change_password(request, extra_context)
            finally:
                request.method = "POST"
            response.status_code = 429
            response["Retry-After"] = str(wait)
            return response
        response = self._change_password(request, extra_context)
        form = (getattr(response, "context_data", None) or {}).get("form")
        if form is not None and form.has_error("old_password"):
            attempt.failed()
        else:
            attempt.succeeded()
        return response

    def _change_password(self, request: HttpRequest, extra_context: dict[str, Any] | None) -> HttpResponse:
        before = request.session.session_key
        response: HttpResponse = super().password_change(request, extra_context)
        follow_session(before, request.session.session_key)
        return response
