"""A real SMTP server for tests, in a thread. It keeps the mails that it takes, and refuses what a test wants."""

from __future__ import annotations

import asyncio
import email
import re
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller

from repository_site.core.environment.mail_server import MailServer
from tests.server_process import free_port


class MailRoom:
    """Handler of the server. `answers` has the answer to RCPT by address; `data_answer` that to the whole mail,
    and `sender_answer` that to MAIL."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, EmailMessage]] = []
        self.answers: dict[str, str] = {}
        self.data_answer = self.sender_answer = "250 OK"
        self.hangs = False
        self.stalls = False
        """Whether the server takes a mail, and does not say so."""

    async def handle_MAIL(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if self.sender_answer.startswith("250"):
            envelope.mail_from = address
        return self.sender_answer

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if self.hangs:
            await asyncio.sleep(60)
        answer = self.answers.get(address, "250 OK")
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self.data_answer.startswith("250"):
            message = email.message_from_bytes(envelope.content, policy=default)
            assert isinstance(message, EmailMessage)
            self.taken += [(each, message) for each in envelope.rcpt_tos]
        if self.stalls:
            await asyncio.sleep(60)
        return self.data_answer

    def empty(self) -> list[tuple[str, EmailMessage]]:
        """Return the mails since the last call."""
        found, self.taken = self.taken, []
        return found


@contextmanager
def mail_server() -> Iterator[tuple[MailServer, MailRoom]]:
    room = MailRoom()
    port = free_port()
    controller = Controller(room, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield MailServer("127.0.0.1", port, "", "", has_starttls=False, has_tls=False), room
    finally:
        controller.stop()


def seen(message: EmailMessage) -> dict[str, Any]:
    """Return everything of a mail but its date and the boundary of its parts; signed links are shortened."""
    text, markup = message.iter_parts()
    headers = {name: _plain(value) for name, value in message.items() if name not in ("Date", "Content-Type")}
    return {**headers, "text": _plain(text.get_content()), "html": _plain(markup.get_content())}


def _plain(text: str) -> str:
    # A long header begins on the line after its name.
    text = str(text).replace("\r\n", "\n").removeprefix(" ")
    return re.sub(r"unsubscribe/[^\s\">]+", "unsubscribe/SIGNED", text)


def stop_link(message: EmailMessage) -> str:
    return str(message["List-Unsubscribe"]).strip(" <>")
