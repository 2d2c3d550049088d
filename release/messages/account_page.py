"""The page of a signed-in person: mail address, mails, subscriptions, tokens, sessions (D353, D487, D552).

Viewers have it, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from django.conf import settings
from django.contrib import messages as notices
from django.db.models import Prefetch
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from elements.pages.visits import Visit
from elements.presentation.labels import Named
from elements.presentation.page_requests import reader_of
from elements.reading.names import language_culture
from elements.reading.rows import read_identities
from release.messages.mail_addresses import (
    VALID_HOURS,
    ask_to_confirm,
    confirm_address,
    is_address_link,
    remove_address,
)
from repository_site.core.problems import Forbidden, TooManyRequests, Unauthenticated
from storage.accounts.sessions import end_session, end_sessions, is_recent, sessions_of
from storage.api.throttling import throttle_caller
from storage.back_office.sites import METHODS, works_in_office
from storage.messages.mailing import is_mail_address
from storage.messages.recipients import find_recipient, mail_time, need_recipients, person_key, set_times
from storage.models import (
    ApiToken,
    MailTime,
    MessageKind,
    Recipient,
    StaffAccount,
    Subscription,
    TokenAddress,
    TokenState,
)
from storage.pages import caller_of, in_scope, storage_of
from storage.single_sign_on.providers import refuses_password

# Subscriptions on the page, the newest first.
SHOWN = 100
ADDRESS = "address"
# Which sessions a button ends, if not one by its number.
OTHERS = "others"


@dataclass(frozen=True, slots=True)
class OwnSubscription:
    """A subscription with its element, or None if the person cannot see it any more. `stop` ends it."""

    link: Named | None
    is_subtree: bool
    stop: str


@require_http_methods(METHODS)
@in_scope
def account_page(request: HttpRequest) -> HttpResponseBase:
    account, key = _person(request)
    problem, typed, refusal = "", "", 422
    if request.method == "POST":
        if ADDRESS in request.POST:
            typed = request.POST[ADDRESS].strip()
            try:
                problem = _change_address(request, account, typed)
            except TooManyRequests as too_many:
                problem, refusal = too_many.message, 429
        elif "end" in request.POST:
            _end_sessions(request, account, request.POST["end"])
        else:
            set_times(need_recipients([key])[key], _times(request.POST))
            notices.success(request, _("Your choice has been saved."))
        if not problem:
            return redirect("account")
    recipient = find_recipient(key)
    subscriptions = Subscription.objects.filter(recipient=recipient) if recipient else Subscription.objects.none()
    shown = list(subscriptions.order_by("-created_on", "id")[:SHOWN])
    context = {
        **_frame(request),
        "account": account,
        "typed": typed or account.new_email or account.email,
        "problem": problem,
        "hours": VALID_HOURS,
        "has_server": settings.MAIL_SERVER is not None,
        "is_refused": bool(account.email and recipient and recipient.refused_address == account.email),
        "kinds": [(kind, mail_time(recipient, kind)) for kind in MessageKind],
        "times": list(MailTime),
        "subscriptions": _shown(request, shown),
        "more": subscriptions.count() - SHOWN if len(shown) == SHOWN else 0,
        "tokens": _tokens(request),
        "sessions": sessions_of(account),
        "own_session": request.session.session_key,
    }
    return TemplateResponse(request, "pages/account.html", context, status=refusal if problem else 200)


@require_http_methods(METHODS)
@in_scope
def confirm_page(request: HttpRequest, value: str) -> HttpResponseBase:
    """Show a button. GET changes nothing, because programs that check mails open all links."""
    account, key = _person(request)
    if text := _managed(account):
        # Since the person has asked for the mail.
        notices.error(request, text)
        return redirect("account")
    if request.method != "POST" and is_address_link(account, value):
        context = {**_frame(request), "address": account.new_email}
        return TemplateResponse(request, "pages/confirm_address.html", context)
    address = confirm_address(storage_of(request), account, value) if request.method == "POST" else None
    if address is None:
        text = _("The link is too old, has been used, or belongs to another account. Enter the address again.")
        notices.error(request, text)
        return redirect("account")
    # The server has taken a mail to this address.
    Recipient.objects.filter(key=key).update(refused_address="")
    notices.success(request, _("Mails go to %(address)s from now on.") % {"address": address})
    return redirect("account")


def _person(request: HttpRequest) -> tuple[StaffAccount, str]:
    """Return the signed-in account, and the key of its person in the storage. Others are asked to sign in."""
    caller = caller_of(request)
    throttle_caller(caller)
    key = person_key(caller.element_id, caller.label)
    if key is None:
        raise Unauthenticated("Sign in to see this page.")
    return cast("StaffAccount", request.user), key


def _frame(request: HttpRequest) -> dict[str, object]:
    storage = storage_of(request)
    return {
        "storage_title": storage.title or str(storage),
        "works_in_office": works_in_office(caller_of(request)),
        "place": request.path,
    }


def _change_address(request: HttpRequest, account: StaffAccount, wanted: str) -> str:
    """Remove the address, or ask its owner to confirm another one. Return what is wrong with it."""
    if settings.MAIL_SERVER is None:
        raise Forbidden(_("This installation sends no mails; messages are shown in the back office only."))
    if text := _managed(account):
        return text
    if not is_recent(request):
        return _("Your last sign-in is too long ago. Sign out and sign in again to change the address.")
    if not wanted:
        remove_address(storage_of(request), account)
        notices.success(request, _("Your account has no mail address any more, so you get no mails."))
    elif not is_mail_address(wanted):
        return _("This is not a valid mail address. Enter one such as name@example.org.")
    else:
        ask_to_confirm(storage_of(request), account, wanted)
    return ""


def _managed(account: StaffAccount) -> str:
    """Return why only a provider changes the address of an account; empty if its owner may do so."""
    provider = None if account.is_superuser else refuses_password(account.email) or _directory_of(account)
    return _("%s manages the address of your account.") % provider if provider else ""


def _directory_of(account: StaffAccount) -> str:
    """Return the provider whose directory has the person: another address would take the account out of its reach."""
    found = account.directory_people.select_related("provider").first()
    return str(found.provider) if found else ""


def _end_sessions(request: HttpRequest, account: StaffAccount, which: str) -> None:
    """End one session, or all but this one (D552)."""
    if which == OTHERS:
        number = end_sessions(account, but=request.session.session_key)
        text = ngettext("%d other session has ended.", "%d other sessions have ended.", number) % number
        notices.success(request, text)
    elif which.isdecimal() and end_session(account, int(which[:18])):
        notices.success(request, _("The session has ended."))


def _times(given: Mapping[str, str]) -> dict[MessageKind, MailTime]:
    chosen = {kind: given.get(kind.value, "") for kind in MessageKind}
    return {kind: MailTime(time) for kind, time in chosen.items() if time in MailTime.values}


def _tokens(request: HttpRequest) -> list[ApiToken]:
    """Return the valid tokens that were issued for the person, with the networks that they were used from (D487)."""
    user = caller_of(request).element_id
    if user is None:
        return []
    own = ApiToken.objects.filter(storage=storage_of(request), user_id=user).in_state(TokenState.ACTIVE, timezone.now())
    used = Prefetch("addresses", TokenAddress.objects.filter(is_refused=False), to_attr="used_from")
    return list(own.prefetch_related(used)[:SHOWN])


def _shown(request: HttpRequest, subscriptions: list[Subscription]) -> list[OwnSubscription]:
    reader = reader_of(request)
    visit = Visit(reader, language_culture(get_language(), reader.configuration.cultures))
    seen = visit.read_links(read_identities(reader.audience, [str(each.element_id) for each in subscriptions]).values())
    return [
        OwnSubscription(
            seen.get(str(each.element_id)), each.is_subtree, reverse("reader:subscribe", args=[each.element_id])
        )
        for each in subscriptions
    ]
