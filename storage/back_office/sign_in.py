"""Sign-in form of both back offices and the reader pages, protected against guessing (D146)."""

from __future__ import annotations

import math
from typing import Any

from django.contrib import messages
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_variables
from unfold.forms import AuthenticationForm
from unfold.sites import UnfoldAdminSite

from repository_site.core.client_network import client_network
from storage.access.sign_ins import SignInBlocked, begin_attempt

BLOCKED = "blocked"


class SignInForm(AuthenticationForm):
    wait = 0
    """Seconds until the next permitted attempt, if this one was blocked."""

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
        return cleaned

    def _blocked(self, blocked: SignInBlocked) -> ValidationError:
        self.wait = _seconds_until(blocked)
        return ValidationError(_explanation(self.wait), code=BLOCKED)


def _seconds_until(blocked: SignInBlocked) -> int:
    return max(math.ceil((blocked.until - timezone.now()).total_seconds()), 1)


def _explanation(seconds: int) -> str:
    minutes = math.ceil(seconds / 60)
    text = ngettext(
        "Signing in has failed too often from your address. Try again in %(minutes)d minute, or ask an"
        " administrator of the site to lift the block.",
        "Signing in has failed too often from your address. Try again in %(minutes)d minutes, or ask an"
        " administrator of the site to lift the block.",
        minutes,
    )
    return text % {"minutes": minutes}


class GuardedSignIn(UnfoldAdminSite):
    """Base of both sites: protected sign-in and password change."""

    login_form = SignInForm

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        response: HttpResponseBase = super().login(request, extra_context)
        form = (getattr(response, "context_data", None) or {}).get("form")
        if isinstance(form, SignInForm) and form.is_bound and form.has_error(NON_FIELD_ERRORS, BLOCKED):
            response.status_code = 429
            response["Retry-After"] = str(form.wait)
        return response

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Count wrong old passwords as failed sign-ins, so that a signed-in browser allows no unlimited guessing."""
        if request.method != "POST" or not request.POST.get("old_password"):
            return self._change_password(request, extra_context)
        try:
            attempt = begin_attempt(request.user.get_username(), client_network(request))
        except SignInBlocked as blocked:
            wait = _seconds_until(blocked)
            messages.error(request, _explanation(wait))
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
        response: HttpResponse = super().password_change(request, extra_context)
        return response
