"""Pages of the second factor (D553): the step after the password, and the page on which people manage their factors."""

from __future__ import annotations

import json
import time
from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from repository_site.core.client_network import client_network
from storage.access.sign_ins import SignInBlocked, begin_attempt, begin_factor_attempts
from storage.accounts.second_factors import (
    MOST_PASSKEYS,
    PASSKEY,
    TOTP,
    add_app,
    add_passkey,
    check_code,
    check_passkey,
    count_recovery_codes,
    factors_of,
    has_factor,
    needs_factor,
    new_secret,
    passkey_options,
    recovery_codes,
    remove_factor,
    secret_picture,
)
from storage.accounts.sessions import CONFIRMED, is_recent
from storage.accounts.waiting_sign_ins import WaitingSignIn, complete_sign_in, waiting_sign_in
from storage.back_office.sign_in import blocked_text, seconds_until
from storage.back_office.sign_on import safe_address
from storage.models import StaffAccount
from storage.single_sign_on.sessions import limit_session

METHODS = ["GET", "HEAD", "POST"]


@never_cache
@require_http_methods(METHODS)
@sensitive_post_parameters()
@sensitive_variables()
def factor_page(request: HttpRequest) -> HttpResponse:
    """Ask for the factor of a sign-in that waits, or have the first one set up."""
    waiting = waiting_sign_in(request)
    if waiting is None:
        return redirect("admin:login")
    if not has_factor(waiting.account):
        return _setup(request, waiting.account, waiting)
    problem, status, wait = "", 200, 0
    if request.method == "POST":
        try:
            attempts = begin_factor_attempts(waiting.account, client_network(request))
        except SignInBlocked as blocked:
            wait = seconds_until(blocked)
            problem, status = blocked_text(wait), 429
        else:
            if _is_right(request, waiting.account):
                for each in attempts:
                    each.succeeded()
                complete_sign_in(request, waiting)
                return redirect(_after(request, waiting))
            attempts[0].failed()
            problem, status = _("The code or passkey is wrong. Try again, or use a recovery code."), 422
    kinds = {each.type for each in factors_of(waiting.account)}
    context = {
        "problem": problem,
        "has_app": TOTP in kinds,
        "options": json.dumps(passkey_options(request, waiting.account, is_new=False)) if PASSKEY in kinds else "",
    }
    return _answer(request, "account/factor.html", context, status, wait)


def _answer(request: HttpRequest, template: str, context: dict[str, Any], status: int, wait: int) -> HttpResponse:
    response = render(request, template, context, status=status)
    if wait:
        response["Retry-After"] = str(wait)
    return response


def _is_right(request: HttpRequest, account: StaffAccount) -> bool:
    if answer := request.POST.get("passkey", ""):
        return check_passkey(request, account, answer)
    return check_code(account, request.POST.get("code", ""))


def _after(request: HttpRequest, waiting: WaitingSignIn) -> str:
    return safe_address(request, waiting.next_address) or reverse("landing")


@never_cache
@require_http_methods(METHODS)
@sensitive_post_parameters()
@sensitive_variables()
def factors_page(request: HttpRequest) -> HttpResponse:
    """Let a signed-in person add and remove factors, after a recent sign-in."""
    if not isinstance(request.user, StaffAccount):
        return redirect_to_login(request.path, reverse("admin:login"))
    # The page stores secrets in the session, which must not prolong it (D149).
    limit_session(request)
    if not is_recent(request):
        return _confirm(request, request.user)
    return _setup(request, request.user, None)


def _confirm(request: HttpRequest, account: StaffAccount) -> HttpResponse:
    """Ask for the password again, so that an open browser is not enough to change factors."""
    problem, status, wait = "", 200, 0
    if request.method == "POST" and account.has_usable_password() and "old_password" in request.POST:
        try:
            attempt = begin_attempt(account.get_username(), client_network(request))
        except SignInBlocked as blocked:
            wait = seconds_until(blocked)
            problem, status = blocked_text(wait), 429
        else:
            if account.check_password(request.POST["old_password"]):
                attempt.succeeded()
                request.session[CONFIRMED] = time.time()
                return redirect("second_factors")
            attempt.failed()
            problem, status = _("The password is wrong."), 422
    context = {"problem": problem, "has_password": account.has_usable_password()}
    return _answer(request, "account/confirm_password.html", context, status, wait)


def _setup(request: HttpRequest, account: StaffAccount, waiting: WaitingSignIn | None) -> HttpResponse:
    problem = ""
    if request.method == "POST":
        is_first = not has_factor(account)
        done, problem = _changed(request, account)
        if done and (is_first or "recovery" in request.POST) and has_factor(account):
            return _show_codes(request, account, waiting, is_new="recovery" in request.POST)
        if done:
            return redirect("second_factors")
    secret = new_secret(request)
    factors = factors_of(account)
    context = {
        "problem": problem,
        "account": account,
        "is_waiting": waiting is not None,
        "is_required": needs_factor(account),
        "factors": [(each.pk, _name(each), each) for each in factors],
        "codes_left": count_recovery_codes(account),
        "has_app": any(each.type == TOTP for each in factors),
        "secret": " ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
        "picture": secret_picture(request, account, secret),
        "options": json.dumps(passkey_options(request, account, is_new=True)),
    }
    with timezone.override(settings.DEFAULT_TIME_ZONE):
        return render(request, "account/factors.html", context, status=422 if problem else 200)


def _name(factor: Any) -> str:
    return _("App with one-time codes") if factor.type == TOTP else str(factor.wrap().name)


def _changed(request: HttpRequest, account: StaffAccount) -> tuple[bool, str]:
    """Change the factors as the form says; return whether that was done, and what is wrong otherwise."""
    given = request.POST
    if "code" in given:
        added = add_app(request, account, given["code"])
        return added, "" if added else _("The code is wrong. Try the next one.")
    if given.get("passkey"):
        added = add_passkey(request, account, given.get("name", ""), given["passkey"])
        text = _("The passkey could not be added. Try again; an account has at most %d.") % MOST_PASSKEYS
        return added, "" if added else text
    if given.get("remove", "").isdecimal():
        removed = remove_factor(account, int(given["remove"][:18]))
        return removed, "" if removed else _("This factor is required. Add another one first.")
    return "recovery" in given, ""


def _show_codes(
    request: HttpRequest, account: StaffAccount, waiting: WaitingSignIn | None, *, is_new: bool
) -> HttpResponse:
    """Show the recovery codes, once. A sign-in that has waited for the first factor is complete now."""
    codes = recovery_codes(account, is_new=is_new)
    after = reverse("second_factors")
    if waiting is not None:
        after = _after(request, waiting)
        complete_sign_in(request, waiting)
    return render(request, "account/recovery_codes.html", {"codes": codes, "after": after})


urlpatterns = [
    path("", factor_page, name="second_factor"),
    path("own/", factors_page, name="second_factors"),
]
