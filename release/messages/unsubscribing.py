"""The page of the signed link that stops kinds of mails, without signing in (RFC 8058, D375)."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from release.messages.mail_links import read_unsubscribe_link
from repository_site.core.problems import NotFound
from storage.api.throttling import throttle_address
from storage.messages.recipients import set_times
from storage.models import MailTime, Recipient
from storage.pages import in_scope, storage_of


# The link is the credential, and mail programs send no cookie: there is nothing that a foreign page could misuse.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@in_scope
def unsubscribe_page(request: HttpRequest, value: str) -> HttpResponseBase:
    """Show a button. GET changes nothing, because programs that check mails open all links."""
    throttle_address(request)
    storage = storage_of(request)
    found = read_unsubscribe_link(storage, value)
    recipient = Recipient.objects.filter(id=found[0]).first() if found else None
    if found is None or recipient is None:
        raise NotFound(_("There is no such page."))
    kinds = found[1]
    if request.method == "POST":
        set_times(recipient, dict.fromkeys(kinds, MailTime.NEVER))
    context = {
        "is_done": request.method == "POST",
        "kinds": [each.label for each in kinds],
        "storage_title": storage.title or str(storage),
    }
    return render(request, "pages/unsubscribe.html", context)
