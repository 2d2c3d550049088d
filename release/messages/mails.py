"""Mails about messages: text and HTML, with the headers for unsubscribing by one click (D375)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.mail import EmailMultiAlternatives
from django.utils import translation
from django.utils.translation import ngettext

from elements.people.addressees import Addressee, read_addressees
from elements.permission_sets.callers import limits_of_person
from release.messages.deciders import find_open_tasks
from release.messages.mail_links import ACCOUNT_PAGE, MESSAGES_PAGE, storage_link, unsubscribe_path
from release.messages.texts import MessageText, read_texts
from storage.localisation.culture_names import interface_language
from storage.messages.mailing import is_mail_address, new_mail
from storage.messages.recipients import mail_time, user_of
from storage.models import MailTime, Message, MessageKind, OutgoingMail, Storage
from storage.tenancy.scope import narrowed_to, whole_content

# Messages that a mail lists; a link leads to the others.
LISTED = 50
REQUESTS = (MessageKind.TASK, MessageKind.REMINDER)


@dataclass(frozen=True, slots=True)
class ListedMessage:
    text: MessageText
    address: str


def compose(storage: Storage, mail: OutgoingMail) -> EmailMultiAlternatives | None:
    """Return a mail in the language of its reader; None if nobody is to get it any more. Call this in the scope."""
    reader = read_addressees(storage, [mail.recipient.key]).get(mail.recipient.key)
    if reader is None or not is_mail_address(reader.address):
        return None
    # Messages about elements that the reader no longer sees are left out (D491).
    with narrowed_to(limits_of_person(storage, user_of(mail.recipient.key), reader.roles)):
        return _compose(storage, mail, reader)


def _compose(storage: Storage, mail: OutgoingMail, reader: Addressee) -> EmailMultiAlternatives | None:
    messages = _current_messages(storage, mail)
    if not messages:
        return None
    language = reader.language or interface_language(storage.culture_set().default)
    with translation.override(language):
        texts = read_texts(storage, messages[:LISTED], sees_drafts=reader.sees_drafts)
        return _composed(storage, mail, reader, messages, texts, language)


def _current_messages(storage: Storage, mail: OutgoingMail) -> list[Message]:
    """Return the messages of a mail without kinds that its reader has stopped, and without tasks that are decided, or
    that the reader cannot decide any more. A task of a round can stand for the one that somebody else has accepted."""
    found = [
        each
        for each in Message.objects.filter(mail=mail).order_by("made_on", "id")
        if mail_time(mail.recipient, MessageKind(each.kind)) != MailTime.NEVER
    ]
    asked = {each.data["task"] for each in found if each.kind in REQUESTS}
    with whole_content():
        tasks = find_open_tasks(storage, mail.recipient.key, asked)
    kept, listed = [], set()
    for each in found:
        if each.kind in REQUESTS:
            task = tasks.get(each.data["task"])
            if task is None or (each.kind, task) in listed:
                continue
            listed.add((each.kind, task))
            each.data = {**each.data, "task": task}
        kept.append(each)
    return kept


def _composed(
    storage: Storage,
    mail: OutgoingMail,
    reader: Addressee,
    messages: Sequence[Message],
    texts: Sequence[MessageText],
    language: str,
) -> EmailMultiAlternatives:
    title = storage.title or str(storage)
    kinds = sorted({MessageKind(each.kind) for each in messages})
    stop = storage_link(storage, unsubscribe_path(storage, mail.recipient_id, kinds))
    context = {
        "language": language,
        "subject": _subject(title, len(messages), texts),
        "storage": title,
        "messages": [ListedMessage(each, storage_link(storage, each.path)) for each in texts],
        "more": _more(len(messages) - len(texts)),
        "all": storage_link(storage, MESSAGES_PAGE if reader.sees_drafts else ""),
        "preferences": storage_link(storage, ACCOUNT_PAGE),
        "stop": stop,
    }
    headers = {"List-Unsubscribe": f"<{stop}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    return new_mail("messages", reader.address, context, mail.id, headers)


def _subject(storage: str, number: int, texts: Sequence[MessageText]) -> str:
    if number == 1:
        return texts[0].title
    words = {"number": number, "storage": " ".join(storage.split())}
    return ngettext("%(number)s message from %(storage)s", "%(number)s messages from %(storage)s", number) % words


def _more(number: int) -> str:
    return ngettext("and %(number)s more", "and %(number)s more", number) % {"number": number} if number > 0 else ""
