"""Scheduled jobs: days begin and end in the time zone of the storage."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from elements.models import ElementVersion
from release.steps.days import start_of_day
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID, MakeClient, error
from tests.release.scheduled_runs import TICK, line, run
from tests.release.settable_clock import SettableClock
from tests.release.stored_contents import fingerprints
from tests.release.task_calls import WAY, act, ask, done, open_task

pytestmark = [pytest.mark.django_db, pytest.mark.long]


class TestLocalTime:
    """validUntil is in the time zone of the storage, also on days with a clock change."""

    @pytest.mark.parametrize(
        ("zone", "ends"),
        [
            (
                "Europe/Berlin",
                {
                    "2026-10-25T00:00:00": "2026-10-24T22:00:00+00:00",
                    "2026-10-26T00:00:00": "2026-10-25T23:00:00+00:00",
                    "2027-03-28T00:00:00": "2027-03-27T23:00:00+00:00",
                    "2027-03-29T00:00:00": "2027-03-28T22:00:00+00:00",
                },
            ),
            pytest.param(
                "America/New_York",
                {
                    "2026-11-01T00:00:00": "2026-11-01T04:00:00+00:00",
                    "2026-11-02T00:00:00": "2026-11-02T05:00:00+00:00",
                    "2027-03-14T00:00:00": "2027-03-14T05:00:00+00:00",
                    "2027-03-15T00:00:00": "2027-03-15T04:00:00+00:00",
                },
                marks=pytest.mark.long,
            ),
        ],
    )
    def test_a_version_ends_at_local_midnight(
        self, house: Storage, desk: MakeClient, clock: SettableClock, zone: str, ends: dict[str, str]
    ) -> None:
        """At midnight of the day of a clock change, and of the day after it."""
        Storage.objects.filter(pk=house.pk).update(time_zone=zone)
        cora = desk(user="cora")
        versions = dict(zip(WAY, ("released-1", "inEffect-1", "order-2", "house-1"), strict=True))
        for name, end in zip(versions, ends, strict=True):
            done(act(cora, ask(cora, name, validUntil=end), "accept"))
        for (name, version), (end, instant) in zip(versions.items(), ends.items(), strict=True):
            clock.moment = datetime.fromisoformat(instant) - TICK
            assert run(house) == {}, end
            clock.set(instant)
            assert run(house) == {"expired": [line(version, "2.0" if name == "order" else "1.0")]}, end
            assert cora.element(name)["attributes"]["validUntil"] == {"127": end}

    @pytest.mark.parametrize(
        ("zone", "accepted", "end", "instant"),
        [
            # Within the repeated hour, and in the last second of a shorter day.
            ("Europe/Berlin", "2026-10-25T01:30:00+00:00", "2026-10-25T00:00:00", "2026-10-24T22:00:00+00:00"),
            ("America/New_York", "2027-03-15T03:59:59+00:00", "2027-03-14T00:00:00", "2027-03-14T05:00:00+00:00"),
        ],
    )
    def test_today_is_the_local_day(
        self, house: Storage, desk: MakeClient, clock: SettableClock, zone: str, accepted: str, end: str, instant: str
    ) -> None:
        Storage.objects.filter(pk=house.pk).update(time_zone=zone)
        cora, task = desk(user="cora"), open_task(house)
        clock.set(accepted)
        assert done(act(cora, task, "accept"))["element"]["state"] == "expired"
        assert cora.element("released")["attributes"]["validUntil"] == {"127": end}
        with tenant_scope(house):
            stored = ElementVersion.objects.get(id=ID["released-1"]).valid_until
        assert stored == datetime.fromisoformat(instant)

    def test_a_skipped_local_time_is_refused(self, house: Storage, desk: MakeClient) -> None:
        anna = desk(user="anna")
        before = fingerprints(house)
        for moment in ("2027-03-28T02:00:00", "2027-03-28T02:59:59", "0001-01-01T00:00:00"):
            response = anna.apply("released", WAY["released"], "", {"validUntil": moment})
            assert error(response)[0] == 422
            assert response.json()["message"].startswith("validUntil: ")
        assert fingerprints(house) == before

    @pytest.mark.parametrize(
        ("zone", "moment", "start"),
        [
            ("UTC", "2026-07-01T00:00:00+00:00", "2026-07-01T00:00:00+00:00"),
            ("Europe/Berlin", "2026-10-25T00:30:00+00:00", "2026-10-24T22:00:00+00:00"),
            ("Europe/Berlin", "2027-03-28T01:00:00+00:00", "2027-03-27T23:00:00+00:00"),
            ("America/New_York", "2026-11-01T06:30:00+00:00", "2026-11-01T04:00:00+00:00"),
            ("UTC", "2026-06-30T23:59:59.999999+00:00", "2026-06-30T00:00:00+00:00"),
            ("Asia/Kathmandu", "2026-07-01T18:14:59+00:00", "2026-06-30T18:15:00+00:00"),
            ("Pacific/Kiritimati", "2026-07-01T10:00:00+00:00", "2026-07-01T10:00:00+00:00"),
            # The clocks change from midnight to one, or from one back to midnight.
            ("Africa/Cairo", "2026-04-24T12:00:00+00:00", "2026-04-23T22:00:00+00:00"),
            ("Africa/Cairo", "2026-04-23T21:59:59+00:00", "2026-04-22T22:00:00+00:00"),
            ("America/Havana", "2026-11-01T12:00:00+00:00", "2026-11-01T04:00:00+00:00"),
            ("America/Havana", "2026-11-01T05:30:00+00:00", "2026-11-01T04:00:00+00:00"),
        ],
    )
    def test_a_day_begins_at_its_first_instant(self, zone: str, moment: str, start: str) -> None:
        assert start_of_day(datetime.fromisoformat(moment), ZoneInfo(zone)) == datetime.fromisoformat(start)
