"""Messages made from numbered events, each storage with its own position (D371)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from uuid import NAMESPACE_OID, UUID, uuid5
from zoneinfo import ZoneInfo

from django.utils import timezone

from elements.people.addressees import read_addressees
from elements.people.subscriptions import subscribers_of
from elements.reading.rows import Audience, read_identities, read_references
from facets.blueprint.cycles import Category
from facets.clearance import Clearance, visible_to
from facets.configuration import configuration_of
from release.messages.deciders import Deciders, cause_of_round, read_outcomes
from release.messages.token_messages import about_tokens
from release.models import Task
from release.tasks.approvers import read_people
from repository_site.core.database.prepared import Row
from repository_site.core.database.statements import fetch
from storage.events.reading import NumberedEvent, read_events
from storage.messages.recipients import STAFF, person_key, user_key
from storage.messages.writing import NewMessage, add_messages
from storage.models import EventType, MessageKind, MessageLog, Storage, StorageMembership, Subscription
from storage.tenancy.scope import tenant_scope

BATCH = 1000
# Batches of one job. An import has hundreds of thousands of events, and other jobs wait for their turn.
BATCHES = 5
# A storage that has no position yet, because it existed before messages did, begins with events of the last days.
FIRST_DAYS = 2
# Time before the end of a version when its owners and subscribers are told.
SOON = timedelta(days=30)
DAY = timedelta(days=1)
OWNER = "owner"
TASK_KINDS = {
    EventType.TASK_OPENED: MessageKind.TASK,
    EventType.TASK_REASSIGNED: MessageKind.TASK,
    EventType.TASK_REMINDED: MessageKind.REMINDER,
}
Told = tuple[NumberedEvent, NewMessage]
_FIRST = "SELECT coalesce(max(e.number), 0) FROM storage_event e WHERE e.time < %s"
_ENDING = """SELECT v.id::text, v.element_id::text, v.valid_until FROM elements_elementversion v
    WHERE v.category = %s AND v.valid_until > %s AND v.valid_until <= %s"""
_ENDING_OF = f"{_ENDING} AND v.id = ANY(%s::uuid[])"


def gather_messages(storage: Storage) -> bool:
    """Make the messages of events that have none yet, batch by batch. Return whether there may be more."""
    return all(_gather_batch(storage) for _ in range(BATCHES))


def _gather_batch(storage: Storage) -> bool:
    """Add the messages of some events and move the position, in one transaction. Return whether there may be more."""
    with tenant_scope(storage):
        position = log_of_scope().position
    events, is_full = read_events(storage, position, BATCH)
    if not events:
        return False
    with tenant_scope(storage):
        log = MessageLog.objects.select_for_update().get()
        if log.position != position:
            return True
        add_messages(messages_about(storage, events))
        _tell_of_changed_ends(storage, {str(each.version) for each in events if each.version})
        deleted = [each.subject for each in events if each.type == EventType.ELEMENT_DELETED]
        Subscription.objects.filter(element_id__in=deleted).delete()
        log.position = events[-1].number
        log.save(update_fields=["position"])
    return is_full


def log_of_scope() -> MessageLog:
    found = MessageLog.objects.first()
    if found is None:
        first = fetch(_FIRST, [timezone.now() - timedelta(days=FIRST_DAYS)])[0][0]
        MessageLog.objects.bulk_create([MessageLog(position=first)], ignore_conflicts=True)
        found = MessageLog.objects.get()
    return found


def messages_about(storage: Storage, events: Sequence[NumberedEvent]) -> list[NewMessage]:
    """Return the messages about events. Nobody is told of their own actions."""
    found = [*_about_tasks(storage, events), *_about_releases(storage, events), *about_tokens(storage, events)]
    doers = {each.id: person_key(each.caller, each.caller_label) for each in events}
    users = _users_of_accounts(storage, [*(each.key for _, each in found), *doers.values()])
    present = [(doers[event.id], replace(each, key=users.get(each.key, each.key))) for event, each in found]
    return [each for doer, each in present if each.key != users.get(doer or "", doer)]


def _users_of_accounts(storage: Storage, keys: Iterable[str | None]) -> dict[str, str]:
    """Return the keys of users by the keys of accounts that have got a user since their request (D370)."""
    numbers = {int(each.removeprefix(STAFF)) for each in keys if each and each.startswith(STAFF)}
    if not numbers:
        return {}
    members = StorageMembership.objects.filter(storage=storage, account_id__in=numbers, user_id__isnull=False)
    return {f"{STAFF}{each.account_id}": user_key(each.user_id) for each in members if each.user_id}


def _about_tasks(storage: Storage, events: Sequence[NumberedEvent]) -> Iterator[Told]:
    told = [each for each in events if each.type in TASK_KINDS or each.type == EventType.TASK_DECIDED]
    tasks = {str(each.id): each for each in Task.objects.filter(id__in={each.data["taskId"] for each in told})}
    # Tasks are deleted with their version.
    found = [(each, tasks[each.data["taskId"]]) for each in told if each.data["taskId"] in tasks]
    yield from _about_requests(storage, [each for each in found if each[0].type in TASK_KINDS])
    yield from _about_decisions([each for each in found if each[0].type == EventType.TASK_DECIDED])


def _about_requests(storage: Storage, found: Sequence[tuple[NumberedEvent, Task]]) -> Iterator[Told]:
    """Tell the people who can decide a task now. A round of tasks is one request to each of them (D322)."""
    deciders = Deciders(storage, [task for _, task in found])
    kinds = {event.id: TASK_KINDS[EventType(event.type)] for event, _ in found}
    # A task that somebody got, passed on and got back is one message.
    last = {(task.id, kinds[event.id]): event.id for event, task in found}
    for event, task in found:
        kind = kinds[event.id]
        is_current = event.data.get("assigneeId") == (str(task.assignee_id) if task.assignee_id else None)
        if not is_current or task.state != Task.State.OPEN or last[task.id, kind] != event.id:
            continue
        cause = event.id
        if event.type == EventType.TASK_OPENED:
            cause = cause_of_round(task, "opened", event.id)
        for key in deciders.of(task):
            yield event, NewMessage(key, kind, cause, event.subject, event.version, _request(task), event.time)


def _about_decisions(found: Sequence[tuple[NumberedEvent, Task]]) -> Iterator[Told]:
    """Tell requesters how their requests have ended. A round ends with the decision that moves the version, or when the
    version moves without one; earlier approvals and tasks that are closed with it tell nothing more (D322)."""
    outcomes = read_outcomes(task for _, task in found)
    last = {
        task.round_id or task.id: event.id
        for event, task in found
        if not task.round_id or event.data["decision"] == outcomes.get(task.round_id)
    }
    for event, task in found:
        key = person_key(task.requester_id, task.requester_label)
        if key and last.get(task.round_id or task.id) == event.id:
            data = {"task": str(task.id), "type": task.type, "decision": event.data["decision"]}
            data |= {"comment": task.decision, **_person(event)}
            cause = cause_of_round(task, "decided", event.id)
            yield event, NewMessage(key, MessageKind.DECIDED, cause, event.subject, event.version, data, event.time)


def _request(task: Task) -> dict[str, str]:
    return {
        "task": str(task.id),
        "type": task.type,
        "comment": task.comment,
        "requestedOn": task.requested_on.isoformat(),
        "person": str(task.requester_id) if task.requester_id else "",
        "label": task.requester_label,
    }


def _person(event: NumberedEvent) -> dict[str, str]:
    return {"person": str(event.caller) if event.caller else "", "label": event.caller_label}


def _about_releases(storage: Storage, events: Sequence[NumberedEvent]) -> Iterator[Told]:
    released = [each for each in events if each.type == EventType.VERSION_RELEASED and each.version]
    concerned = concerned_by(storage, {str(each.version): str(each.subject) for each in released})
    for event in released:
        # Events of an import do not contain the number of the version.
        data = {"version": event.data.get("version", ""), **_person(event)}
        for key in concerned[str(event.version)]:
            yield event, NewMessage(key, MessageKind.RELEASED, event.id, event.subject, event.version, data, event.time)


def concerned_by(storage: Storage, versions: dict[str, str]) -> dict[str, list[str]]:
    """Return the keys of owners and subscribers who can see a version, by version. The argument has the elements."""
    if not versions:
        return {}
    owners = read_references(sorted(versions), [OWNER])
    people = read_people({UUID(each) for held in owners.values() for each in held.get(OWNER, ())})
    followers = subscribers_of(set(versions.values()))
    found = {
        version: {
            *followers.get(element, ()),
            *(
                user_key(each.id)
                for owner in owners.get(version, {}).get(OWNER, ())
                for each in people.candidates(UUID(owner))
            ),
        }
        for version, element in versions.items()
    }
    addressees = read_addressees(storage, {key for keys in found.values() for key in keys})
    readers = Audience(False, visible_to(Clearance.READER, configuration_of(storage)).closed)
    seen = {each.version for each in read_identities(readers, sorted(set(versions.values()))).values()}
    return {
        version: sorted(key for key in keys if key in addressees and (addressees[key].sees_drafts or version in seen))
        for version, keys in found.items()
    }


def tell_of_endings(storage: Storage, now: datetime, last: date | None = None) -> None:
    """Tell owners and subscribers of published versions that end soon; once for each end of a version.

    `last` is the day of the last call. Only ends that came within 30 days since then are read: ends that change within
    the 30 days have an event. If somebody has subscribed since the last call, all ends are read (D354).
    """
    start, before = now, _time_of(storage, last)
    if before is not None and not Subscription.objects.filter(created_on__gt=before).exists():
        start = max(now, before + SOON)
    _tell_of_ends(storage, fetch(_ENDING, [Category.PUBLISHED.value, start, now + SOON]))


def tell_of_due_tasks(storage: Storage, now: datetime, last: date | None) -> None:
    """Remind people of open tasks that are due within a day; once for each date. `last` is the day of the last call."""
    found = Task.objects.filter(state=Task.State.OPEN, due_on__gt=_time_of(storage, last) or now, due_on__lte=now + DAY)
    tasks = [(each, each.due_on.isoformat()) for each in found if each.due_on]
    deciders = Deciders(storage, [task for task, _ in tasks])
    add_messages(
        [
            NewMessage(
                key,
                MessageKind.REMINDER,
                cause_of_round(task, due, uuid5(NAMESPACE_OID, f"{task.id} {due}")),
                task.element_id,
                task.version_id,
                _request(task),
            )
            for task, due in tasks
            for key in deciders.of(task)
        ]
    )


def _time_of(storage: Storage, day: date | None) -> datetime | None:
    """Return a time before the work of a day. It is a day earlier: the storage may have had another time zone."""
    return datetime.combine(day, time(), ZoneInfo(storage.time_zone)) - DAY if day else None


def _tell_of_changed_ends(storage: Storage, versions: Collection[str]) -> None:
    if versions:
        now = timezone.now()
        window = [Category.PUBLISHED.value, now, now + SOON]
        _tell_of_ends(storage, fetch(_ENDING_OF, [*window, sorted(versions)]))


def _tell_of_ends(storage: Storage, rows: Sequence[Row]) -> None:
    for start in range(0, len(rows), BATCH):
        _tell_of_some(storage, rows[start : start + BATCH])


def _tell_of_some(storage: Storage, rows: Sequence[Row]) -> None:
    concerned = concerned_by(storage, {version: element for version, element, _ in rows})
    add_messages(
        [
            NewMessage(
                key,
                MessageKind.EXPIRING,
                uuid5(NAMESPACE_OID, f"{version} {end.isoformat()}"),
                UUID(element),
                UUID(version),
                {"end": end.isoformat()},
            )
            for version, element, end in rows
            for key in concerned[version]
        ]
    )
