"""Messages about tokens that end soon, or that were used from a new address (D486, D487)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from elements.people.addressees import read_addressees
from storage.events.reading import NumberedEvent
from storage.messages.recipients import STAFF, user_key
from storage.messages.writing import NewMessage
from storage.models import ApiToken, EventType, MessageKind, StaffAccount, Storage, StorageMembership
from storage.options import Role

TOLD = (EventType.TOKEN_EXPIRING, EventType.TOKEN_NEW_ADDRESS)


def about_tokens(storage: Storage, events: Sequence[NumberedEvent]) -> Iterator[tuple[NumberedEvent, NewMessage]]:
    """Tell the administrators of the storage, and the user for whom the token was issued."""
    told = [each for each in events if each.type in TOLD]
    tokens = ApiToken.objects.filter(storage=storage, revoked_on=None, pk__in={each.subject for each in told})
    found = {each.pk: each for each in tokens} if told else {}
    if not found:
        return
    administrators = _administrators(storage)
    users = {user_key(each.user_id) for each in found.values() if each.user_id}
    readers = read_addressees(storage, users).keys() | administrators
    for event in told:
        token = found.get(event.subject)
        user = {user_key(token.user_id)} if token and token.user_id else set[str]()
        for key in sorted((administrators | user) & readers if token else ()):
            data = _data(event) | {"isForAdministrators": key in administrators}
            yield event, NewMessage(key, MessageKind.TOKEN, event.id, data=data, time=event.time)


def _data(event: NumberedEvent) -> dict[str, object]:
    known = {"token": str(event.subject), "name": event.data["name"], "end": event.data.get("validUntil")}
    if event.type == EventType.TOKEN_NEW_ADDRESS:
        known["address"] = event.data["address"]
    return known


def _administrators(storage: Storage) -> set[str]:
    """Return the keys of the administrators of a storage, or of the site if the storage has none."""
    members = StorageMembership.objects.filter(storage=storage, roles__contains=[Role.ADMINISTRATOR.value])
    keys = {user_key(each.user_id) if each.user_id else f"{STAFF}{each.account_id}" for each in members}
    found = {key for key, each in read_addressees(storage, keys).items() if Role.ADMINISTRATOR in each.roles}
    if found:
        return found
    sites = StaffAccount.objects.filter(is_superuser=True, is_active=True, is_staff=True)
    return read_addressees(storage, {f"{STAFF}{each.pk}" for each in sites}).keys() | set()
