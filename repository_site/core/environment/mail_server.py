"""The mail server of EMAIL_URL, and the connection to it (D374)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from email.utils import parseaddr
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

if TYPE_CHECKING:
    from django.core.mail.backends.smtp import EmailBackend

EXAMPLE = "expected an address such as smtp://user:password@mail.example.org:587"
SENDER = re.compile(r"[^@\s<>\"(),;:]+@[^@\s<>\"(),;:]+")
STARTTLS = "starttls"
PORTS = {"smtp": 587, "smtps": 465}
# Seconds for each step of the conversation with the server.
TIMEOUT = 10


@dataclass(frozen=True, slots=True)
class MailServer:
    host: str
    port: int
    user: str
    # Reports of errors show the settings.
    password: str = field(repr=False)
    has_starttls: bool
    has_tls: bool

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def connect(self, timeout: float = TIMEOUT) -> EmailBackend:
        """Return a connection that is not open yet."""
        from django.core.mail.backends.smtp import EmailBackend  # the settings are not loaded yet

        return EmailBackend(
            host=self.host,
            port=self.port,
            username=self.user,
            password=self.password,
            use_tls=self.has_starttls,
            use_ssl=self.has_tls,
            timeout=timeout,
            fail_silently=False,
        )


def read_mail_server(text: str) -> MailServer | None:
    """Return the server of an address; None for an empty text. Passwords go over encrypted connections only, unless
    the address says `starttls=false`."""
    if not text:
        return None
    parts = urlsplit(text)
    if parts.scheme not in PORTS or not parts.hostname or parts.path not in ("", "/") or parts.fragment:
        raise ValueError(EXAMPLE)
    try:
        port = parts.port or PORTS[parts.scheme]
    except ValueError:
        raise ValueError("the port must be a number from 1 to 65535") from None
    if bool(parts.username) != bool(parts.password):
        raise ValueError("expected both a user and a password, or neither")
    has_tls = parts.scheme == "smtps"
    choice = _starttls(parts.query)
    if has_tls and choice:
        raise ValueError("smtps is encrypted from the start; leave out starttls, or use smtp")
    has_starttls = not has_tls and (bool(parts.username) if choice is None else choice)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return MailServer(parts.hostname, port, user, password, has_starttls, has_tls)


def _starttls(query: str) -> bool | None:
    given = dict(parse_qsl(query, keep_blank_values=True))
    value = given.pop(STARTTLS, None)
    if given:
        raise ValueError(f"{', '.join(sorted(given))}: unknown option; the only one is {STARTTLS}=true or false")
    if value not in (None, "true", "false"):
        raise ValueError(f"{STARTTLS}: expected true or false")
    return None if value is None else value == "true"


def read_sender(text: str) -> str:
    """Return the sender of mails: an address, or a name and an address in angle brackets."""
    _, address = parseaddr(text)
    if text and (not SENDER.fullmatch(address) or not text.isprintable()):
        raise ValueError("expected an address such as repository@example.org or Repository <repository@example.org>")
    return text
