"""Messages in the back office: the list, and mails that could not be sent."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.contrib import messages as notices
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import get_script_prefix
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elements.permissions import sees_drafts
from release.messages.sending import send_again
from release.messages.texts import MessageText, read_texts
from repository_site.core.database.statements import Reading, rows_of
from repository_site.core.problems import NotFound
from storage.back_office import NavigationEntry, NavigationGroup, storage_office
from storage.back_office.cells import ago
from storage.back_office.sites import require_administrator
from storage.messages.recipients import person_key
from storage.models import Message, MessageLog, OutgoingMail
from storage.options import Role
from storage.pages import caller_of, storage_of

MOST = 100
PAGE = "release_messages"


@dataclass(frozen=True, slots=True)
class ShownMessage:
    id: UUID
    text: MessageText
    when: SafeString
    is_new: bool


def own_key(request: HttpRequest) -> str | None:
    caller = caller_of(request)
    return person_key(caller.element_id, caller.label)


def number_of_new(request: HttpRequest) -> Reading[int | None]:
    """Return the number of messages that the caller has not read, up to a hundred: every page shows it."""
    sql = f"""SELECT count(*) FROM (SELECT m.id FROM storage_message m JOIN storage_recipient r ON r.id = m.recipient_id
        WHERE r.key = %s AND m.read_on IS NULL LIMIT {MOST}) AS new"""  # noqa: S608  a constant
    [(number,)] = yield from rows_of(sql, [own_key(request)])
    return number or None


def messages_page(request: HttpRequest) -> HttpResponse:
    caller = caller_of(request)
    own = Message.objects.filter(recipient__key=own_key(request))
    if request.method == "POST":
        own.filter(read_on=None).update(read_on=timezone.now())
        return redirect(f"admin:{PAGE}")
    found = list(own[:MOST])
    texts = read_texts(storage_of(request), found, sees_drafts=sees_drafts(caller))
    is_administrator = Role.ADMINISTRATOR in caller.roles
    context = {
        **storage_office.each_context(request),
        "title": _("My messages"),
        "shown": [
            ShownMessage(each.id, text, ago(each.made_on), each.read_on is None)
            for each, text in zip(found, texts, strict=True)
        ],
        "has_new": any(each.read_on is None for each in found),
        "has_server": settings.MAIL_SERVER is not None,
        "failed": _failed() if is_administrator else [],
        "log": MessageLog.objects.exclude(problem="").first() if is_administrator else None,
    }
    return TemplateResponse(request, "back_office/messages/list.html", context)


def _failed() -> list[OutgoingMail]:
    failed = OutgoingMail.objects.filter(failed_on__isnull=False, attempts__gt=0)
    return list(failed.order_by("-failed_on", "id")[:MOST])


def open_message(request: HttpRequest, message: UUID) -> HttpResponseBase:
    """Mark a message as read, and show what it is about."""
    found = Message.objects.filter(id=message, recipient__key=own_key(request)).first()
    if found is None:
        raise NotFound(_("There is no such page."))
    if found.read_on is None:
        found.read_on = timezone.now()
        found.save(update_fields=["read_on"])
    [text] = read_texts(storage_of(request), [found], sees_drafts=sees_drafts(caller_of(request)))
    return redirect(f"{get_script_prefix()}{text.path}" if text.path else f"admin:{PAGE}")


def send_again_view(request: HttpRequest, mail: UUID) -> HttpResponseBase:
    require_administrator(request)
    if request.method == "POST" and send_again(storage_of(request), mail):
        notices.success(request, _("The mail will be sent again."))
    return redirect(f"admin:{PAGE}")


storage_office.add_page("messages/", messages_page, PAGE)
storage_office.add_page("messages/<uuid:message>/", open_message, "release_message")
storage_office.add_page("messages/mails/<uuid:mail>/again/", send_again_view, "release_mail_again")
storage_office.add_navigation(
    NavigationEntry(NavigationGroup.CONTENT, gettext_lazy("My messages"), "mail", PAGE, badge=number_of_new)
)
