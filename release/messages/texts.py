"""Messages as texts, in the language of the reader: for pages and mails alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.utils import formats
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from elements.derived import page_prefix
from elements.reading.names import ElementNames, chosen_name, language_culture, read_names, read_version_names
from elements.reading.rows import Audience, Identity, read_identities
from facets.clearance import Clearance, visible_to
from facets.configuration import configuration_of
from release.messages.mail_links import ACCOUNT_PAGE, TASK_PAGE, TOKEN_PAGE
from release.models import Task
from release.schedule.lifecycle_jobs import CALLER
from release.tasks.titles import task_title
from storage.models import Message, MessageKind, Storage

LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True)
class MessageText:
    """One message for people. `path` follows the address of the storage; empty for an element that is gone."""

    title: str
    lines: tuple[str, ...]
    path: str


def read_texts(storage: Storage, messages: Sequence[Message], *, sees_drafts: bool) -> list[MessageText]:
    """Return messages as texts in the active language, in the same order. Call this in the scope.

    A name is that of the version that the reader can see now, so a message reveals nothing else.
    """
    return MessageTexts(storage, messages, sees_drafts=sees_drafts).all()


def name_of_caller(names: ElementNames, element: UUID | None, label: str) -> str:
    return _("scheduled job") if label == CALLER else names.caller(element, label)


class MessageTexts:
    def __init__(self, storage: Storage, messages: Sequence[Message], *, sees_drafts: bool) -> None:
        self.storage, self.messages, self.sees_drafts = storage, messages, sees_drafts
        self.zone = ZoneInfo(storage.time_zone)
        self.configuration = configuration_of(storage)
        self.cultures = self.configuration.cultures
        self.culture = language_culture(get_language(), self.cultures)
        elements = {str(each.element_id) for each in messages if each.element_id}
        closed = frozenset[str]() if sees_drafts else visible_to(Clearance.READER, self.configuration).closed
        self.seen: dict[str, Identity] = read_identities(Audience(sees_drafts, closed), sorted(elements))
        self.names = read_version_names([each.version for each in self.seen.values()])
        people = {UUID(each.data["person"]) for each in messages if each.data.get("person")}
        labels = {each.data["label"] for each in messages if each.data.get("label")}
        self.people: ElementNames = read_names(people, labels, self.culture, self.cultures)

    def all(self) -> list[MessageText]:
        return [self._text(each) for each in self.messages]

    def _text(self, message: Message) -> MessageText:
        title, lines, path = getattr(self, f"_{message.kind}")(message, message.data)
        if not self.sees_drafts and message.kind not in (MessageKind.EXPIRING, MessageKind.INVITED, MessageKind.TOKEN):
            # These lines tell who has done what, and why (D328).
            lines = []
        # One line: a name can have several, and the title becomes the subject of a mail.
        return MessageText(" ".join(title.split())[:LONGEST_TITLE], tuple(filter(None, lines)), path)

    def _task(self, message: Message, data: dict[str, Any]) -> tuple[str, list[str], str]:
        title = _("Please decide: %(type)s, %(name)s") % {"type": task_title(data["type"]), "name": self._name(message)}
        return title, self._request(data), TASK_PAGE.format(data["task"])

    def _reminder(self, message: Message, data: dict[str, Any]) -> tuple[str, list[str], str]:
        title = _("Reminder: %(type)s, %(name)s") % {"type": task_title(data["type"]), "name": self._name(message)}
        return title, self._request(data), TASK_PAGE.format(data["task"])

    def _request(self, data: dict[str, Any]) -> list[str]:
        words = {"name": self._person(data), "date": self._day(data["requestedOn"])}
        return [_("Requested by %(name)s on %(date)s.") % words, self._comment(data)]

    def _decided(self, message: Message, data: dict[str, Any]) -> tuple[str, list[str], str]:
        decisions = {
            Task.State.ACCEPTED.value: _("Accepted: %(type)s, %(name)s"),
            Task.State.REJECTED.value: _("Rejected: %(type)s, %(name)s"),
        }
        words = {"type": task_title(data["type"]), "name": self._name(message)}
        title = decisions.get(data["decision"], _("Closed without a decision: %(type)s, %(name)s")) % words
        lines = [_("By %(name)s.") % {"name": self._person(data)}, self._comment(data)]
        return title, lines, TASK_PAGE.format(data["task"])

    def _released(self, message: Message, data: dict[str, Any]) -> tuple[str, list[str], str]:
        words = {"name": self._name(message), "number": data["version"]}
        title = (_("Released: %(name)s, version %(number)s") if data["version"] else _("Released: %(name)s")) % words
        return title, [_("By %(name)s.") % {"name": self._person(data)}], self._page(message)

    def _expiring(self, message: Message, data: dict[str, Any]) -> tuple[str, list[str], str]:
        title = _("Ends on %(date)s: %(name)s") % {"date": self._day(data["end"]), "name": self._name(message)}
        return title, [_("Create a new version if the content should stay in force.")], self._page(message)

    def _invited(self, message: Message, data: dict[str, Any]) -> tuple[str, list[str], str]:
        from storage.back_office.role_texts import role_names  # loads the back office

        title = _("You are now a member of %(storage)s") % {"storage": self.storage.title or str(self.storage)}
        return title, [_("Roles: %(roles)s") % {"roles": ", ".join(role_names(data["roles"]))}], ""

    def _token(self, message: Message, data: dict[str, Any]) -> tuple[str, list[str], str]:
        path = TOKEN_PAGE.format(data["token"]) if data.get("isForAdministrators") else ACCOUNT_PAGE
        if "address" in data:
            words = {"name": data["name"], "address": data["address"]}
            title = _("New address: the token %(name)s was used from %(address)s") % words
            return title, [_("If you do not know this address, give the token a new value or revoke it.")], path
        words = {"name": data["name"], "date": self._day(data["end"])}
        title = _("The token %(name)s ends on %(date)s") % words
        return title, [_("Programs that use it lose access then. Give it a new end, or replace it.")], path

    def _name(self, message: Message) -> str:
        found = self.seen.get(str(message.element_id))
        if found is None:
            return _("an element that no longer exists")
        return chosen_name(self.names.get(found.version, {}), self.culture, self.cultures) or found.element

    def _page(self, message: Message) -> str:
        found = self.seen.get(str(message.element_id))
        if found is None:
            return ""
        facet = self.configuration.types_by_id[found.type].facet
        return page_prefix("", self.culture, facet).removeprefix("/") + found.version

    def _person(self, data: dict[str, Any]) -> str:
        return name_of_caller(self.people, UUID(data["person"]) if data.get("person") else None, data.get("label", ""))

    def _comment(self, data: dict[str, Any]) -> str:
        return _("Reason: %(comment)s") % {"comment": data["comment"]} if data.get("comment") else ""

    def _day(self, moment: str) -> str:
        return formats.date_format(datetime.fromisoformat(moment).astimezone(self.zone))
