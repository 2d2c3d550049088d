"""Jobs that make messages: after new events, and every morning the daily ones (D371, D372)."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils import timezone

from release.messages.gathering import gather_messages, log_of_scope, tell_of_due_tasks, tell_of_endings
from release.messages.mail_addresses import mail_address_link, tell_old_address
from release.messages.sending import forget_old_messages, has_due_mails, make_mails, send_mails
from storage.access.token_reminders import remind_of_ends
from storage.jobs import job, periodic_job
from storage.jobs.every_storage import in_every_storage
from storage.models import MessageLog, Storage
from storage.tenancy.scope import tenant_scope

# Hour of the daily mails, in the time zone of the storage: before work begins.
MORNING = 7


# Seconds after the first of several events. What happens meanwhile comes in the same mail.
DELAY = 20.0


@job("messages.gather", lock=(), once=True, retry=(60.0, 600.0, 3600.0), own_scope=True, after_events=DELAY)
def tell_of_events(storage: Storage) -> None:
    tell(storage)


# Each time zone has its morning at one of these times. They also find events whose announcement got lost, and messages
# beyond the mails of an hour.
@periodic_job("messages.tell", cron="0,30 * * * *")
def tell_everybody() -> None:
    in_every_storage(tell)


def tell(storage: Storage) -> None:
    """Make messages and mails about what has happened in a storage, and have the mails sent."""
    if gather_messages(storage):
        # Another job continues after those that wait. Mails will have everything.
        tell_of_events.enqueue(storage)
        return
    now = timezone.now()
    with tenant_scope(storage):
        last = log_of_scope().daily_on
        is_daily = _is_daily(storage, now, last)
        if is_daily:
            tell_of_endings(storage, now, last)
            tell_of_due_tasks(storage, now, last)
            remind_of_ends(storage, now)
        if settings.MAIL_SERVER is not None:
            make_mails(storage, now, is_daily=is_daily)
            if has_due_mails(now):
                send_mails.enqueue(storage)
    if is_daily:
        forget_old_messages(storage, now - timedelta(days=storage.event_days))


def _is_daily(storage: Storage, now: datetime, last: date | None) -> bool:
    """Return whether the work of this day is to be done, and note that it is."""
    local = now.astimezone(ZoneInfo(storage.time_zone))
    if local.hour < MORNING or last == local.date():
        return False
    state = MessageLog.objects.select_for_update().get()
    if state.daily_on == local.date():
        return False
    state.daily_on = local.date()
    state.save(update_fields=["daily_on"])
    return True


MESSAGE_JOBS = (tell_of_events, tell_everybody, send_mails, mail_address_link, tell_old_address)
