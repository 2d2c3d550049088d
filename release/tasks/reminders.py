"""Reminding people of tasks: whom, at which address, with which words (D117). The service itself sends nothing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import quote
from uuid import UUID

from storage.models import Storage, StorageMembership


@dataclass(frozen=True, slots=True)
class Letter:
    """What to tell somebody; `addresses` are those that are known."""

    to: str
    addresses: tuple[str, ...]
    subject: str
    body: str

    @property
    def mail_address(self) -> str:
        """Opens the mail program of who looks, with everything filled in."""
        to = ",".join(quote(each, safe="@") for each in self.addresses)
        return f"mailto:{to}?subject={quote(self.subject)}&body={quote(self.body)}"


def known_addresses(storage: Storage, people: Collection[UUID]) -> dict[UUID, str]:
    """Of users who are staff of the storage as well: no attribute of a user holds an address, but an account may."""
    members = StorageMembership.objects.filter(storage=storage, user_id__in=people, account__is_active=True)
    found = members.exclude(account__email="").values_list("user_id", "account__email") if people else ()
    return {user: address for user, address in found if user is not None}
