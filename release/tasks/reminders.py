"""Reminder mails about tasks (D117). The service prepares the text and sends nothing itself."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import quote
from uuid import UUID

from storage.models import Storage, StorageMembership


@dataclass(frozen=True, slots=True)
class ReminderMail:
    to: str
    addresses: tuple[str, ...]
    subject: str
    body: str

    @property
    def mail_address(self) -> str:
        to = ",".join(quote(each, safe="@") for each in self.addresses)
        return f"mailto:{to}?subject={quote(self.subject)}&body={quote(self.body)}"


def known_addresses(storage: Storage, people: Collection[UUID]) -> dict[UUID, str]:
    """Return the mail addresses of users who also have a staff account; user elements have no address."""
    members = StorageMembership.objects.filter(storage=storage, user_id__in=people, account__is_active=True)
    found = members.exclude(account__email="").values_list("user_id", "account__email") if people else ()
    return {user: address for user, address in found if user is not None}
