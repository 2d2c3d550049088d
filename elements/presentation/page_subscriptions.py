"""The button that subscribes to an element, on reader pages and in the back office."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import get_script_prefix, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from elements.people.subscriptions import can_subscribe, subscribe, subscription_of, unsubscribe
from elements.presentation.page_requests import reader_of
from elements.reading.rows import find_version
from repository_site.core.database.statements import Reading, ask_for
from repository_site.core.problems import NotFound
from storage.models import Subscription
from storage.pages import caller_of, in_scope

NOTHING, SUBTREE = "nothing", "subtree"


@dataclass(frozen=True, slots=True)
class Subscribing:
    """The form of the button. `back` is the page that shows it."""

    subscription: Subscription | None
    address: str
    back: str


def subscribing_of(request: HttpRequest, element: str) -> Reading[Subscribing | None]:
    """Return the button for an element; None for visitors who have not signed in."""
    caller = caller_of(request)
    if not can_subscribe(caller):
        return None
    found = yield from ask_for(subscription_of(caller, element))
    return Subscribing(found, reverse("reader:subscribe", args=[element]), request.get_full_path())


@require_POST
@in_scope
def subscribe_view(request: HttpRequest, element: UUID) -> HttpResponseBase:
    caller = caller_of(request)
    wanted = request.POST.get("to", "")
    if wanted == NOTHING:
        unsubscribe(caller, element)
    else:
        row = find_version(reader_of(request).audience, str(element))
        if row is None or row.element != str(element):
            raise NotFound(_("This element does not exist."))
        subscribe(caller, element, is_subtree=wanted == SUBTREE)
    back = request.POST.get("next", "")
    is_own = url_has_allowed_host_and_scheme(back, None) and back.startswith(get_script_prefix())
    return redirect(back if is_own else "reader:start")
