"""Health checks of sessions, scheduled jobs and growth."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import Any
from unittest import mock

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone
from pytest_django import Settings as ChangedSettings

from repository_site.operations.doctor.findings import Level, Look
from storage.models import LifecycleRun, Storage, WebhookCount
from tests.repository_site.doctor_findings import levels, sql

pytestmark = pytest.mark.django_db


class TestSessions:
    """The newest session tells whether all servers have the same secret key (D237)."""

    @pytest.fixture(autouse=True)
    def no_sessions(self, db: None) -> None:
        sql("DELETE FROM django_session")

    def sign_in(self) -> None:
        session = SessionStore()
        session["_auth_user_id"] = "1"
        session.save()

    def test_a_key_of_another_server(self, settings: ChangedSettings) -> None:
        assert levels("sessions") == [(Level.OK, "none yet")]
        self.sign_in()
        assert levels("sessions") == [(Level.OK, "the newest one has the secret key of this server")]
        settings.SECRET_KEY, usual = secrets.token_urlsafe(64), settings.SECRET_KEY
        text = "another server has another secret key, so it accepts neither the sessions nor the tokens of this one"
        assert levels("sessions") == [(Level.ERROR, text)]
        settings.SECRET_KEY_FALLBACKS = [usual]
        assert levels("sessions") == [(Level.OK, "the newest one has the secret key of this server")]

    def test_sessions_that_have_ended_do_not_count(self, settings: ChangedSettings) -> None:
        self.sign_in()
        settings.SECRET_KEY = secrets.token_urlsafe(64)
        sql("UPDATE django_session SET expire_date = now() - interval '1 second'")
        assert levels("sessions") == [(Level.OK, "none yet")]


class TestSchedule:
    def make(self, storage: Storage, **fields: Any) -> None:
        LifecycleRun.objects.update_or_create(storage=storage, defaults=fields)

    @pytest.fixture
    def old(self, storage: Storage) -> Storage:
        Storage.objects.update(created_on=timezone.now() - timedelta(days=9))
        for each in Storage.objects.all():
            self.make(each, ended_on=timezone.now())
        return storage

    def test_runs_that_come(self, old: Storage) -> None:
        ((level, text),) = levels("lifecycle")
        assert (level, text.partition(";")[0]) == (Level.OK, "regular")

    @pytest.mark.parametrize(
        ("hours", "level", "limit"), [(2, Level.WARNING, 1), (30, Level.ERROR, 24), (None, Level.ERROR, 24)]
    )
    def test_runs_that_do_not_come(self, old: Storage, hours: int | None, level: Level, limit: int) -> None:
        self.make(old, ended_on=None if hours is None else timezone.now() - timedelta(hours=hours))
        text = f"no run for more than {limit} h in 1 of 2 storages"
        assert levels("lifecycle") == [(level, text)]
        assert levels("lifecycle", Look(names=True)) == [(level, f"{text}: acme/handbook")]

    def test_a_storage_that_is_new_has_time(self, storage: Storage) -> None:
        assert levels("lifecycle") == [(Level.OK, "regular; no run was due yet")]

    def test_runs_that_fail(self, old: Storage) -> None:
        self.make(old, ended_on=timezone.now() - timedelta(minutes=9), failed_on=timezone.now())
        assert levels("lifecycle") == [(Level.ERROR, "the last run failed in 1 of 2 storages")]
        self.make(old, ended_on=timezone.now())
        assert [level for level, _ in levels("lifecycle")] == [Level.OK]

    def test_stuck_tasks(self, old: Storage) -> None:
        self.make(old, open_tasks=7, overdue_tasks=1, stuck_tasks=2)
        text = "7 open, 1 overdue, 2 stuck at the last runs"
        assert levels("tasks") == [(Level.WARNING, text)]
        assert levels("tasks", Look(names=True)) == [(Level.WARNING, f"{text}: acme/handbook (2)")]

    def test_a_zone_that_is_gone(self, storage: Storage) -> None:
        Storage.objects.filter(pk=storage.pk).update(time_zone="Europe/Atlantis")
        assert levels("time zones") == [(Level.ERROR, "Python does not know Europe/Atlantis")]

    def test_zone_data_that_differ(self, storage: Storage) -> None:
        with mock.patch(
            "repository_site.operations.doctor.schedule._first_difference", return_value=datetime(2027, 3, 1)
        ):
            assert levels("time zones") == [
                (Level.WARNING, "Python and PostgreSQL disagree about Europe/Berlin, first on 2027-03-01")
            ]


class TestGrowth:
    def test_storages_that_were_never_measured(self, storage: Storage) -> None:
        assert levels("sizes")[1:] == [(Level.WARNING, "2 of 2 storages have never been measured")]

    @pytest.mark.parametrize(
        ("check", "answers", "text"),
        [
            ("dead rows", [[("off",)], [], [(5,)]], "autovacuum is off"),
            (
                "dead rows",
                [[("on",)], [("on",)], [("t", 10, 20_000)], [(5,)]],
                "t has 20,000 dead rows beside 10 live ones",
            ),
            (
                "dead rows",
                [[("on",)], [("on",)], [("t", 90_000, 20_000)], [(10**9 + 1,)]],
                "the oldest transaction id is 1,000,000,001 transactions old",
            ),
            ("statistics", [[("t", 20_000, 5, True)]], "t (20,000 rows) has never been analyzed"),
            (
                "statistics",
                [[("t", 20_000, 15_000, False)]],
                "t (20,000 rows) has had 15,000 changes since it was analyzed",
            ),
            ("statistics", [[("t", 20_000, 5, False)]], "recent for all large tables"),
        ],
    )
    def test_what_postgres_says(self, check: str, answers: list[Any], text: str) -> None:
        with mock.patch("repository_site.operations.doctor.growth.fetch", side_effect=answers):
            assert [said for _, said in levels(check)] == [text]


class TestWebhooks:
    def count(self, storage: Storage, **numbers: Any) -> None:
        defaults = {"counted_on": timezone.now(), "webhooks": 3, **numbers}
        WebhookCount.objects.update_or_create(storage=storage, defaults=defaults)

    def test_webhooks_that_work(self, storage: Storage, other_storage: Storage) -> None:
        assert levels("webhooks") == [(Level.OK, "0 webhooks, 0 disabled; 0 messages wait")]
        self.count(storage, waiting_messages=2, waiting_since=timezone.now())
        self.count(other_storage)
        assert levels("webhooks") == [(Level.OK, "6 webhooks, 0 disabled; 2 messages wait")]

    def test_webhooks_that_need_somebody(self, storage: Storage, other_storage: Storage) -> None:
        late = timezone.now() - timedelta(hours=2)
        self.count(storage, disabled_webhooks=1, dead_letters=4, waiting_messages=1, waiting_since=late)
        self.count(other_storage, disabled_webhooks=1)
        expected = ["2 webhooks are disabled", "4 messages were given up", "messages wait for more than an hour"]
        assert levels("webhooks") == [(Level.WARNING, text) for text in expected]
        named = [text for _, text in levels("webhooks", Look(names=True))]
        assert named[1:] == [f"{text}: acme/handbook" for text in expected[1:]]
