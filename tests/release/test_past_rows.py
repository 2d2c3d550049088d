"""Past rows that triggers keep (D563): one of each state that others could see, and never two of the same time."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from elements.models import ElementVersion
from elements.models.elements import PastElementVersion
from repository_site.core.database.statements import fetch
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID

pytestmark = pytest.mark.django_db(transaction=True)
# Rows of a version at all times.
STATES = """(SELECT v.since, 'infinity'::timestamptz AS until, v.sort_name FROM elements_elementversion v WHERE v.id = %s
    UNION ALL SELECT p.since, p.until, p.sort_name FROM elements_pastelementversion p WHERE p.row_id = %s) s"""
VERSION = ID["inProcess-1"]


def states(storage: Storage) -> list[tuple[datetime, datetime | None, str]]:
    """Return the states of a version in their order, after a check that each begins where the one before ends."""
    with tenant_scope(storage):
        sql = f"SELECT s.since, nullif(s.until, 'infinity'), s.sort_name FROM {STATES} ORDER BY s.since, s.until"
        found = fetch(sql, [VERSION, VERSION])
    assert all(until is None or since < until for since, until, _ in found), found
    assert [until for _, until, _ in found[:-1]] == [since for since, _, _ in found[1:]], found
    return found


def names(storage: Storage) -> list[str]:
    return [name for _, _, name in states(storage)]


def rename(name: str) -> None:
    ElementVersion.objects.filter(pk=VERSION).update(sort_name=name)


def name_at(storage: Storage, moment: datetime) -> list[str]:
    with tenant_scope(storage, as_of=moment):
        return [row[0] for row in fetch("SELECT v.sort_name FROM elements_elementversion v WHERE v.id = %s", [VERSION])]


def test_a_state_that_nobody_could_see_is_not_kept(old_house: Storage) -> None:
    [first] = names(old_house)
    with tenant_scope(old_house):
        rename("hidden")
        rename("one")
    with tenant_scope(old_house):
        rename("one")
    with tenant_scope(old_house):
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            rename("undone")
            raise ZeroDivisionError
        rename("two")
    assert names(old_house) == [first, "one", "two"]


@pytest.mark.long
def test_times_of_changes_at_the_same_time_never_overlap(old_house: Storage) -> None:
    """Transactions begin in another order than they get the row."""

    def change(seed: int) -> None:
        chance = random.Random(seed)
        try:
            for number in range(12):
                with tenant_scope(old_house):
                    time.sleep(chance.random() / 100)
                    rename(f"{seed} {number}")
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(change, range(4)))
    found = states(old_house)
    assert len(found) > 12
    with tenant_scope(old_house):
        assert ElementVersion.objects.get(pk=VERSION).sort_name == found[-1][2]
    for since, until, name in found:
        assert name_at(old_house, since) == [name]
        last = until - timedelta(microseconds=1) if until else timezone.now()
        assert name_at(old_house, last) == [name]


@pytest.mark.long
def test_a_clock_that_was_set_back(old_house: Storage) -> None:
    """A row of the future is changed in place until the clock has caught up; earlier times stay as they were."""
    [first] = names(old_house)
    before, ahead = timezone.now(), timezone.now() + timedelta(hours=1)
    with tenant_scope(old_house):
        rename("ahead")
    with tenant_scope(old_house):
        # As if the clock had been an hour ahead.
        PastElementVersion._default_manager.filter(row_id=VERSION).update(until=ahead)
        date_version(ahead)
    assert states(old_house)[-1][0] == ahead
    for name in ("later", "latest"):
        with tenant_scope(old_house):
            rename(name)
    assert names(old_house) == [first, "latest"]
    assert (name_at(old_house, before), name_at(old_house, ahead)) == ([first], ["latest"])


def date_version(since: datetime) -> None:
    """Set the time of the version, without the trigger."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE elements_elementversion DISABLE TRIGGER past_kept")
        ElementVersion.objects.filter(pk=VERSION).update(since=since)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE elements_elementversion ENABLE TRIGGER past_kept")
