"""Mails: their form, and the sending of one mail that is about an account and not about messages."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from urllib.parse import urlsplit
from uuid import UUID

import structlog
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage, EmailMultiAlternatives
from django.core.validators import validate_email
from django.template.loader import render_to_string

from storage.messages.answers import Result, attempt

log = structlog.get_logger("mail")
# Seconds until the next attempts of a job that sends one mail.
RETRY = (60.0, 600.0, 3600.0)


class MailNotSent(Exception):
    """The mail server does not accept a mail now; the job is tried again."""


def is_mail_address(text: str) -> bool:
    """Return whether mail can go to an address. Ours are ASCII before the @; others need servers that few have."""
    try:
        validate_email(text)
    except ValidationError:
        return False
    return text.rpartition("@")[0].isascii() and len(text) <= 254


def new_mail(
    template: str, address: str, context: Mapping[str, object], id: UUID, headers: Mapping[str, str] | None = None
) -> EmailMultiAlternatives:
    """Return a mail with the text and HTML of a template. The context has its subject and language. Its Message-ID has
    the name of the service; by default it would tell the name of this machine."""
    found = EmailMultiAlternatives(
        subject=str(context["subject"]),
        body=render_to_string(f"mail/{template}.txt", dict(context)).strip() + "\n",
        to=[address],
        headers={
            "Message-ID": f"<{id}@{_host()}>",
            "Auto-Submitted": "auto-generated",
            "Content-Language": str(context["language"]),
            **(headers or {}),
        },
    )
    found.attach_alternative(render_to_string(f"mail/{template}.html", dict(context)), "text/html")
    return found


def _host() -> str:
    return urlsplit(settings.PUBLIC_URL).hostname or "localhost"


def send_mail(message: EmailMessage, **about: object) -> None:
    """Send one mail; raise MailNotSent if a later attempt may succeed. The log has `about`, not the address."""
    server = settings.MAIL_SERVER
    if server is None:
        return
    with closing(server.connect()) as connection:
        outcome = attempt(connection, message)
    if outcome.result in (Result.LATER, Result.NO_SERVER):
        raise MailNotSent(outcome.reason)
    if outcome.error:
        log.warning("mail about an account not sent", reason=outcome.reason, **about)
