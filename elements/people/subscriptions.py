"""Subscriptions: people follow an element, or an element with everything below it (D376)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext as _

from elements.filters.conditions import Condition
from elements.people.addressees import read_addressees
from elements.permissions import sees_drafts
from elements.reading.assembly.assembler import ancestors
from elements.reading.names import language_culture, read_names
from elements.reading.rows import Audience, identities_of, parents_of, read_parents
from elements.reading.visible_events import visible_events
from facets.configuration import Configuration
from repository_site.core.database.statements import Question, Reading, ask_for, id_array, read, rows_of, side_by_side
from repository_site.core.problems import Forbidden, Invalid
from storage.access.callers import Caller, CallerKind
from storage.messages.recipients import USER, find_recipient, need_recipients, person_key
from storage.models import Recipient, Storage, Subscription

# Events that "what changed" looks at, newest first, if somebody subscribes to a subtree.
LOOKED_AT = 2000
# Subscriptions of one person in a storage (D354).
MOST_SUBSCRIPTIONS = 1000


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A person who has subscribed. `user` is the user element, if the person has one."""

    name: str
    user: UUID | None
    is_subtree: bool
    since: datetime


@dataclass(frozen=True, slots=True)
class SubscribedChange:
    """The last change of an element that the caller subscribes to."""

    element: str
    version: str
    type: str
    time: datetime
    caller: UUID | None
    caller_label: str


def can_subscribe(caller: Caller) -> bool:
    return person_key(caller.element_id, caller.label) is not None


def subscribe(caller: Caller, element: UUID, *, is_subtree: bool) -> None:
    """Subscribe the caller to an element that the caller can see, or change the subscription."""
    key = person_key(caller.element_id, caller.label)
    if key is None:
        raise Forbidden(
            _("Only people can subscribe. Use a token of a user; a token without one can follow rest/changes instead.")
        )
    recipient = need_recipients([key])[key]
    _check_number(recipient, element)
    now = timezone.now()
    made = Subscription(recipient=recipient, element_id=element, is_subtree=is_subtree, created_on=now)
    Subscription.objects.bulk_create([made], ignore_conflicts=True)
    Subscription.objects.filter(recipient=recipient, element_id=element).update(is_subtree=is_subtree)


def _check_number(recipient: Recipient, element: UUID) -> None:
    # Locked, so that two requests do not exceed the limit together.
    Recipient.objects.select_for_update().get(pk=recipient.pk)
    own = Subscription.objects.filter(recipient=recipient)
    if own.count() >= MOST_SUBSCRIPTIONS and not own.filter(element_id=element).exists():
        text = _(
            "You already have %(number)s subscriptions, which is the limit. Unsubscribe from an element first, or"
            " subscribe to one with everything below it."
        )
        raise Invalid(text % {"number": MOST_SUBSCRIPTIONS})


def unsubscribe(caller: Caller, element: UUID) -> bool:
    """End the caller's subscription, and return whether there was one. The caller need not see the element any more."""
    recipient = find_recipient(person_key(caller.element_id, caller.label))
    return bool(Subscription.objects.filter(recipient=recipient, element_id=element).delete()[0])


def subscription_of(caller: Caller, element: str) -> Question[Subscription | None]:
    """Return the subscription of a caller to an element."""
    key = person_key(caller.element_id, caller.label)
    names = ["id", "storage_id", "recipient_id", "element_id", "is_subtree", "created_on"]
    sql = f"""SELECT {", ".join(f"s.{each}" for each in names)} FROM storage_subscription s
        JOIN storage_recipient r ON r.id = s.recipient_id WHERE r.key = %s AND s.element_id = %s::uuid"""  # noqa: S608  constants
    return Question(
        sql if key else "",
        [key, element],
        lambda rows: Subscription.from_db(connection.alias, names, rows[0]) if rows else None,
    )


def read_subscribers(
    storage: Storage, caller: Caller, element: UUID, language: str, page: slice = slice(None)
) -> tuple[list[Subscriber], int]:
    """Return the subscribers of an element, oldest first, and the number of subscriptions on all pages. Callers who
    cannot see drafts see only themselves."""
    if caller.kind is CallerKind.ANONYMOUS:
        raise Forbidden(_("Sign in to see subscriptions."))
    found = Subscription.objects.filter(element_id=element).order_by("created_on", "id")
    if not sees_drafts(caller):
        found = found.filter(recipient__key=person_key(caller.element_id, caller.label))
    rows = list(found.values_list("recipient__key", "is_subtree", "created_on")[page])
    total = len(rows) if page.stop is None else found.count()
    people = read_addressees(storage, [key for key, _subtree, _since in rows])
    users = {key: UUID(key.removeprefix(USER)) for key in people if key.startswith(USER)}
    cultures = storage.culture_set()
    names = read_names(set(users.values()), people, language_culture(language, cultures), cultures)
    subscribers = [
        Subscriber(names.caller(users.get(key), key), users.get(key), is_subtree, since)
        for key, is_subtree, since in rows
        if key in people
    ]
    return subscribers, total


def subscribers_of(elements: Collection[str]) -> dict[str, set[str]]:
    """Return the keys of the people who follow elements, by element: directly, or an element above it."""
    above = _above(elements)
    places = {place for element, upper in above.items() for place in (element, *upper)}
    rows = Subscription.objects.filter(element_id__in=places).values_list("element_id", "is_subtree", "recipient__key")
    direct: dict[str, set[str]] = {}
    below: dict[str, set[str]] = {}
    for place, is_subtree, key in rows:
        direct.setdefault(str(place), set()).add(key)
        if is_subtree:
            below.setdefault(str(place), set()).add(key)
    return {
        element: direct.get(element, set()).union(*(below.get(place, set()) for place in upper))
        for element, upper in above.items()
    }


def _above(elements: Collection[str]) -> dict[str, list[str]]:
    return _ancestors_of(elements, read_parents(sorted(elements)))


def _ancestors_of(elements: Collection[str], parents: Mapping[str, str | None]) -> dict[str, list[str]]:
    return {element: list(ancestors(parents.get(element), parents)) for element in elements}


def changes_of_subscriptions(
    configuration: Configuration, caller: Caller, since: datetime, most: int
) -> list[SubscribedChange]:
    """Return the last change of each element that the caller subscribes to and can see, newest first."""
    return read(reading_changes(configuration, caller, since, most))


def reading_changes(
    configuration: Configuration, caller: Caller, since: datetime, most: int
) -> Reading[list[SubscribedChange]]:
    sql = """SELECT s.element_id::text, s.is_subtree FROM storage_subscription s
        JOIN storage_recipient r ON r.id = s.recipient_id WHERE r.key = %s"""
    key = person_key(caller.element_id, caller.label)
    own = yield from rows_of(sql if key else "", [key])
    direct = {element for element, _ in own}
    subtrees = {element for element, is_subtree in own if is_subtree}
    last: dict[str, SubscribedChange] = {}
    only = visible_events(caller, configuration)
    above_all, below = yield from side_by_side(
        ask_for(_events(direct, since, only)), _reading_events_below(subtrees, since, only)
    )
    for each in [*above_all, *below]:
        if each.element not in last or last[each.element].time < each.time:
            last[each.element] = each
    seen = yield from ask_for(identities_of(Audience(sees_drafts(caller)), list(last)))
    shown = [each for each in last.values() if each.element in seen]
    return sorted(shown, key=lambda each: each.time, reverse=True)[:most]


_COLUMNS = "e.subject_id::text, e.version_id::text, e.type, e.time, e.caller_id, e.caller_label"


def _events(elements: Collection[str], since: datetime, only: Condition) -> Question[list[SubscribedChange]]:
    """Return the last event of each element. The index leads to it, however many events the element has."""
    sql = f"""SELECT one.* FROM unnest(%s::uuid[]) AS s(id) CROSS JOIN LATERAL (
            SELECT {_COLUMNS} FROM storage_event e
            WHERE e.subject_id = s.id AND e.time > %s AND e.version_id IS NOT NULL AND {only.sql}
            ORDER BY e.time DESC LIMIT 1) AS one"""  # noqa: S608  constants
    parameters = [id_array(elements), since, *only.parameters]
    return Question(sql if elements else "", parameters, lambda rows: [SubscribedChange(*row) for row in rows])


def _reading_events_below(roots: Collection[str], since: datetime, only: Condition) -> Reading[list[SubscribedChange]]:
    """Look upwards from recent events: a subtree can have any number of elements.

    The limit is inside: in a quiet storage, the other conditions would lead to the very first event.
    """
    sql = f"""SELECT {_COLUMNS} FROM (SELECT * FROM storage_event o WHERE o.number IS NOT NULL
            ORDER BY o.number DESC LIMIT {LOOKED_AT}) e
        WHERE e.time > %s AND e.version_id IS NOT NULL AND {only.sql}"""  # noqa: S608  constants
    found = yield from rows_of(sql if roots else "", [since, *only.parameters])
    recent = [SubscribedChange(*row) for row in found]
    elements = {each.element for each in recent}
    above = _ancestors_of(elements, (yield from ask_for(parents_of(sorted(elements)))))
    return [each for each in recent if not set(roots).isdisjoint(above[each.element])]
