"""Events of a storage without elements: recording, retention, sizes, and the settings for them (D325, D330, D332)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from repository_site.core.problems import Invalid
from storage.access.tokens import issue_token, revoke_token
from storage.events import waking
from storage.events.numbering import number_events
from storage.models import Event, EventLog, Storage, StorageGrowth, StorageSize
from storage.options import Role
from storage.provisioning.provision import StorageRequest, provision_storage, set_quota
from storage.quotas import begin_quota
from storage.tenancy.scope import tenant_scope
from tests.factories import PLAIN_TEMPLATE, collection_token, storage_context
from tests.storage.office import site_administrator

pytestmark = pytest.mark.django_db


def events(storage: Storage) -> list[tuple[str, str]]:
    with tenant_scope(storage):
        return [*Event.objects.order_by("time").values_list("type", "data__name")]


def test_tokens_are_recorded_in_their_storage(storage: Storage, other_storage: Storage) -> None:
    token = issue_token(storage_context(storage), "robot", [Role.EDITOR]).token
    assert revoke_token(token)
    assert not revoke_token(token)
    collection_token(storage)
    assert events(storage) == [("token.created", "robot"), ("token.revoked", "robot")]
    assert events(other_storage) == []


def test_numbers_are_given_once(storage: Storage) -> None:
    for number in range(3):
        issue_token(storage_context(storage), f"robot {number}", [Role.EDITOR])
    assert (number_events(storage), number_events(storage)) == (3, 3)
    issue_token(storage_context(storage), "robot 3", [Role.EDITOR])
    assert number_events(storage) == 4
    with tenant_scope(storage):
        found = [*Event.objects.order_by("number").values_list("number", "data__name")]
        assert EventLog.objects.values_list("last_number", "oldest_number").get() == (4, 1)
    assert found == [(number + 1, f"robot {number}") for number in range(4)]


def test_the_scheduled_job_deletes_old_events(storage: Storage, other_storage: Storage) -> None:
    Storage.objects.filter(pk=storage.pk).update(event_days=30)
    for each in (storage, other_storage):
        issue_token(storage_context(each), "old", [Role.EDITOR])
        with tenant_scope(each):
            Event.objects.update(time=datetime.now(UTC) - timedelta(days=31))
        issue_token(storage_context(each), "new", [Role.EDITOR])
    stderr = StringIO()
    call_command("measure_storages", stdout=StringIO(), stderr=stderr)
    assert "acme/handbook: 1 events older than 30 days deleted." in stderr.getvalue()
    assert events(storage) == [("token.created", "new")]
    assert events(other_storage) == [("token.created", "old"), ("token.created", "new")]


def test_days_of_a_new_storage() -> None:
    output: dict[str, Any] = {"stdout": StringIO(), "stderr": StringIO()}
    call_command("provision_storage", "acme", "short", "--template", str(PLAIN_TEMPLATE), "--event-days", "7", **output)
    call_command("provision_storage", "acme", "usual", "--template", str(PLAIN_TEMPLATE), **output)
    made = Storage.objects.filter(key__in=["short", "usual"]).order_by("key")
    assert [*made.values_list("key", "event_days")] == [("short", 7), ("usual", 90)]
    with pytest.raises(Invalid) as caught:
        provision_storage(StorageRequest(collection="acme", key="long", template=str(PLAIN_TEMPLATE), event_days=3651))
    assert caught.value.details == ("event days: expected 1 to 3650 days, not 3651",)


def test_days_of_a_storage_can_be_changed(storage: Storage, other_storage: Storage) -> None:
    out = StringIO()
    call_command("set_event_days", "acme", "handbook", "7", stdout=out)
    assert out.getvalue() == "acme/handbook: events are kept for 7 days.\n"
    assert [Storage.objects.get(pk=each.pk).event_days for each in (storage, other_storage)] == [7, 90]
    with pytest.raises(CommandError, match="event days: expected 1 to 3650 days, not 0"):
        call_command("set_event_days", "acme", "handbook", "0", stdout=out)
    # As in the back office of the installation.
    page = f"/admin/storage/storage/{storage.pk}/change/"
    browser = site_administrator()
    form = {"title": storage.title, "is_valid": "on", "anonymous_access": "none", "stuck_after_days": "14"}
    form["past_days"] = "365"
    assert browser.post(page, {**form, "event_days": "0"}).status_code == 200
    assert browser.post(page, {**form, "event_days": "8"}).status_code == 302
    assert Storage.objects.get(pk=storage.pk).event_days == 8


def test_events_count_for_size_and_quota(storage: Storage) -> None:
    set_quota(storage, {"bytes": 10_000_000})
    before = StorageSize.objects.get(storage=storage)
    with tenant_scope(storage):
        begin_quota(storage)
        issue_token(storage_context(storage), "robot", [Role.EDITOR])
    grown = sum(StorageGrowth.objects.filter(storage=storage).values_list("bytes", flat=True))
    call_command("measure_storages", "acme", "handbook", stdout=StringIO(), stderr=StringIO())
    after = StorageSize.objects.get(storage=storage)
    # The event and the log of the first measurement that numbers.
    assert after.rows - before.rows == 2
    assert 200 < grown < 400
    assert 200 < after.bytes - before.bytes < 500


def test_a_direct_address_for_notifications(settings: Any) -> None:
    own = waking._own_address()
    assert own["dbname"] == connection.settings_dict["NAME"]
    settings.LISTEN_ADDRESS = {**own, "application_name": "direct"}
    with waking._connect() as found:
        assert found.info.get_parameters()["application_name"] == "direct"


def test_connections_that_wait_or_announce_prepare_no_statement() -> None:
    """PgBouncer gives each transaction another session, which may have a statement of that name already (D231)."""
    with waking._connect() as found:
        assert found.prepare_threshold is None
