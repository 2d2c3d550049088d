"""Pages of single sign-on: to the provider, back from it, and its messages about ended sessions (D500, D507).

They are outside of storages: a provider knows one address for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_POST

from repository_site.core.fairness.admission import without_a_place
from repository_site.core.problems import Busy, Forbidden, TooManyRequests
from repository_site.core.rest.errors import status_of
from storage.accounts.second_factors import is_vouched
from storage.accounts.waiting_sign_ins import PAGE as FACTOR_PAGE
from storage.accounts.waiting_sign_ins import let_wait, must_wait
from storage.api.throttling import throttle_address
from storage.models import IdentityProvider
from storage.single_sign_on.linking import person_of, sign_on
from storage.single_sign_on.outgoing_requests import ProviderFailed
from storage.single_sign_on.provider_sessions import end_by_logout_token
from storage.single_sign_on.providers import provider_with
from storage.single_sign_on.sessions import begin_session, limit_session
from storage.single_sign_on.signed_tokens import TokenRefused, checked_logout_token

if TYPE_CHECKING:
    from storage.single_sign_on.adapter import SignedOn

log = structlog.get_logger("sign-on")


def _found(key: str) -> IdentityProvider:
    provider = provider_with(key)
    if provider is None or provider.key != key:
        raise Http404
    return provider


def safe_address(request: HttpRequest, address: str) -> str:
    """Return an address of this site, for a redirect; empty for any other."""
    is_here = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if address and is_here else ""


@never_cache
@require_GET
def start_page(request: HttpRequest, key: str) -> HttpResponse:
    """Send the browser to a provider."""
    from storage.single_sign_on.adapter import SignOnFailed, begin

    provider = _found(key)
    try:
        throttle_address(request)
        after = safe_address(request, request.GET.get("next", ""))
        limit_session(request)
        return without_a_place(request, lambda: begin(request, provider, after))
    except (TooManyRequests, Busy) as problem:
        return _refused(request, provider, problem.message, status_of(problem))
    except SignOnFailed as failed:
        log.warning("provider did not answer", provider=provider.key, problem=str(failed))
        return _refused(request, provider, _("%s does not answer as expected. Try again later.") % provider, 502)


@never_cache
@require_GET
@sensitive_variables()
def callback_page(request: HttpRequest, key: str) -> HttpResponse:
    """Sign in the person whom a provider sends back."""
    from storage.single_sign_on.adapter import SignOnFailed, finish

    provider = _found(key)
    try:
        throttle_address(request)
        done = without_a_place(request, lambda: finish(request, provider))
        return _signed_on(request, provider, done)
    except (TooManyRequests, Busy) as problem:
        return _refused(request, provider, problem.message, status_of(problem))
    except SignOnFailed as failed:
        log.warning("sign-in failed", provider=provider.key, problem=str(failed))
        if failed.is_cancelled:
            return _refused(request, provider, _("You have not signed in at %s.") % provider, 403)
        return _refused(request, provider, _("Try again. If that does not help, ask an administrator."), 403)
    except Forbidden as problem:
        log.warning("sign-in refused", provider=provider.key, problem=problem.message)
        return _refused(request, provider, problem.message, 403)


def _signed_on(request: HttpRequest, provider: IdentityProvider, done: SignedOn) -> HttpResponse:
    """Begin the session of a person with checked claims, or wait for the second factor (D553)."""
    account = sign_on(provider, person_of(provider, done.claims))
    after = safe_address(request, done.next_address) or reverse("admin:index")
    if must_wait(account, is_password=False) and not is_vouched(done.claims):
        let_wait(request, account, after, provider, done.claims, done.id_token)
        return redirect(FACTOR_PAGE)
    begin_session(request, provider, account, done.claims, done.id_token)
    return redirect(after)


def _refused(request: HttpRequest, provider: IdentityProvider, text: str, status: int) -> HttpResponse:
    again = reverse("sign_on", args=[provider.key])
    context = {"text": text, "provider": provider, "again": again, "back": reverse("admin:login")}
    return render(request, "sign_on/refused.html", context, status=status)


@never_cache
@csrf_exempt
@require_POST
@sensitive_variables()
def back_channel(request: HttpRequest, key: str) -> HttpResponse:
    """End sessions that a provider has ended (OpenID Connect Back-Channel Logout)."""
    provider = _found(key)
    token = request.POST.get("logout_token", "")
    try:
        claims = without_a_place(request, lambda: checked_logout_token(provider, token))
    except (TooManyRequests, Busy) as problem:
        return _try_again(status_of(problem), problem.retry_after)
    except ProviderFailed as failed:
        log.warning("provider did not answer", provider=provider.key, problem=str(failed))
        return _try_again(503, 5)
    except TokenRefused as refused:
        log.warning("logout token refused", provider=provider.key, problem=str(refused))
        try:
            throttle_address(request)
        except TooManyRequests as problem:
            return _try_again(429, problem.retry_after)
        return JsonResponse({"error": "invalid_request"}, status=400)
    number = end_by_logout_token(provider, claims)
    log.info("sessions ended by the provider", provider=provider.key, sessions=number)
    return HttpResponse(status=200)


def _try_again(status: int, seconds: int) -> HttpResponse:
    return JsonResponse({"error": "temporarily_unavailable"}, status=status, headers={"Retry-After": seconds})


urlpatterns = [
    path("<slug:key>/", start_page, name="sign_on"),
    path("<slug:key>/callback/", callback_page, name="sign_on_callback"),
    path("<slug:key>/back-channel/", back_channel, name="sign_on_back_channel"),
]
