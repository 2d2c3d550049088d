"""Addresses in mails: pages of the storage, and the signed link that stops mails (D375)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.conf import settings
from django.core import signing

from storage.models import MessageKind, Storage

SALT = "release.messages.unsubscribe"
# Pages of the back office, below the address of the storage.
TASK_PAGE = "admin/release/task/{}/change/"
MESSAGES_PAGE = "admin/messages/"
TOKEN_PAGE = "admin/storage/apitoken/{}/change/"
# The page of every signed-in person.
ACCOUNT_PAGE = "account/"


def storage_link(storage: Storage, path: str) -> str:
    return f"{settings.PUBLIC_URL}/{storage.collection.key}/{storage.key}/{path}"


def unsubscribe_path(storage: Storage, recipient: UUID, kinds: Sequence[MessageKind]) -> str:
    """Return the path of the link that stops kinds of mails. It is valid as long as the secret key."""
    value = signing.dumps([str(storage.pk), str(recipient), [each.value for each in kinds]], salt=SALT)
    return f"unsubscribe/{value}"


def read_unsubscribe_link(storage: Storage, value: str) -> tuple[UUID, list[MessageKind]] | None:
    """Return the recipient and the kinds of a link; None if it is not a link of this storage."""
    try:
        whose, recipient, kinds = signing.loads(value, salt=SALT)
    except signing.BadSignature:
        return None
    if whose != str(storage.pk):
        return None
    return UUID(recipient), [MessageKind(each) for each in kinds if each in MessageKind.values]
