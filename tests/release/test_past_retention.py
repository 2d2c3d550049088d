"""Retention of past rows (D602): the record of a storage begins later, and every later time reads as before."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from elements.transfer.importing import import_elements
from repository_site.core.database.statements import fetch
from repository_site.core.problems import Invalid
from storage.api.moments import require_record
from storage.backup.restoring import restore_storage
from storage.backup.writing import back_up_storage
from storage.housekeeping import forget_and_measure
from storage.models import Storage, StorageRevision, StorageSize
from storage.models.past import PastRow
from storage.options import Role
from storage.provisioning.provision import remove_storage, set_past_days, set_quota
from storage.provisioning.sizes import measure_storage
from storage.quotas import read_use
from storage.tenancy import past_retention
from storage.tenancy.past_retention import forget_past
from storage.tenancy.scope import recorded_since, tenant_models, tenant_scope
from tests.api_client import ApiClient
from tests.factories import StorageFactory
from tests.release.house import ID, HouseClient, one, write_lines, write_template
from tests.release.random_changes import RandomChanges
from tests.scale import scaled

pytestmark = pytest.mark.django_db(transaction=True)
DETAIL = "rest/facets/processes/views/detail/elements"
READS = (DETAIL, f"{DETAIL}?$filter=StartsWith(name, 'N')", f"{DETAIL}/{ID['inProcess']}/content")
PAST = [model for model in tenant_models() if issubclass(model, PastRow)]


def at(address: str, moment: datetime) -> str:
    text = moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return f"{address}{'&' if '?' in address else '?'}$asOf={text}"


def answer(client: HouseClient, address: str) -> tuple[int, bytes]:
    response = client.get(address)
    return response.status_code, response.content


def past_rows(storage: Storage, **conditions: Any) -> int:
    with tenant_scope(storage):
        return sum(model._default_manager.filter(**conditions).count() for model in PAST)


def forget_before(storage: Storage, moment: datetime) -> int:
    """Forget the past rows of a storage at the time when its retention reaches `moment`."""
    then = moment + timedelta(days=storage.past_days)
    with mock.patch.object(past_retention, "timezone", mock.Mock(now=lambda: then)):
        return forget_past(storage)


def process(id: str, **attributes: str) -> dict[str, Any]:
    values = {name: {"1033": text} for name, text in attributes.items()}
    return {"facetName": "processes", "id": id, "type": "subProcess", "attributes": values}


@pytest.fixture
def rival_house(tmp_path: Path) -> Storage:
    template = write_template(tmp_path / "rival.json")
    storage = StorageFactory.create(collection="rival", key="house", template=template)
    import_elements(storage, str(write_lines(tmp_path / "rival.ndjson")))
    with tenant_scope(storage):
        for model in PAST:
            # A trigger keeps a past row of each.
            model.past_of._default_manager.all().delete()
    return storage


@pytest.mark.long
def test_an_interrupted_run_is_completed_after_the_days_were_raised(rival_house: Storage) -> None:
    moment, rows = timezone.now(), past_rows(rival_house)
    with (
        mock.patch.object(past_retention, "_forget_batch", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        forget_before(rival_house, moment)
    assert past_rows(rival_house) == rows > 0
    rival_house.past_days *= 2
    assert forget_past(rival_house) == rows
    with tenant_scope(rival_house):
        assert recorded_since() == moment


@pytest.mark.long
@pytest.mark.parametrize("seed", range(scaled(4)))
def test_later_times_read_as_before(
    old_house: Storage, rival_house: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(past_retention, "BATCH", 3)
    changes, times = RandomChanges(old_house, api, seed), []
    seen: list[tuple[datetime, str, tuple[int, bytes]]] = []
    for _ in range(scaled(40)):
        changes.change()
        times.append(timezone.now())
        seen += [(times[-1], address, answer(changes.client, address)) for address in READS]
    others = past_rows(rival_house)
    assert others > 0
    for moment in sorted(changes.random.sample(times, 2)):
        expired = past_rows(old_house, until__lte=moment)
        assert forget_before(old_house, moment) == expired
        assert past_rows(old_house, until__lte=moment) == 0
        text = f"$asOf: the record of this storage begins at {moment.astimezone(UTC).isoformat()}."
        for time, address, then in seen:
            found = changes.client.get(at(address, time))
            if time >= moment:
                assert (found.status_code, found.content) == then, address
            else:
                assert (found.status_code, found.json()["message"]) == (422, text)
        early = at("rest/compare", moment - timedelta(microseconds=1)).replace("$asOf", "from")
        assert changes.client.get(early).json()["message"] == text.replace("$asOf", "from")
        # Nothing is left to forget, and the record never begins earlier again.
        assert forget_before(old_house, moment) == 0
        assert forget_before(old_house, moment - timedelta(days=1)) == 0
        assert StorageRevision.objects.get(pk=old_house.pk).recorded_since == moment
    assert past_rows(rival_house) == others


@pytest.mark.long
def test_a_read_that_has_begun_sees_all_rows(old_house: Storage, api: ApiClient) -> None:
    """The record moves, and the rows are deleted, in another connection."""
    client, first = HouseClient(old_house, api, Role.ARCHITECT), timezone.now()
    one(client.update(process(ID["inProcess"], name="Later")))

    def forget() -> int:
        try:
            return forget_before(old_house, timezone.now())
        finally:
            connection.close()

    read = partial(fetch, "SELECT v.attributes -> 'name' ->> '1033' FROM elements_elementversion v WHERE v.id = %s")
    with tenant_scope(old_house, snapshot=True, as_of=first):
        require_record("$asOf", first)
        with ThreadPoolExecutor(1) as other:
            assert other.submit(forget).result() > 0
        assert read([ID["inProcess-1"]]) == [("inProcess-1",)]
    with tenant_scope(old_house, snapshot=True, as_of=first), pytest.raises(Invalid):
        require_record("$asOf", first)


def test_the_nightly_job_forgets_and_measures(old_house: Storage, api: ApiClient) -> None:
    client = HouseClient(old_house, api, Role.ARCHITECT)
    for name in ("First", "Second"):
        one(client.update(process(ID["inProcess"], name=name)))
    _, size = forget_and_measure(old_house)
    assert 0 < size.past_bytes < size.bytes
    with tenant_scope(old_house):
        for model in PAST:
            model._default_manager.update(since=timezone.now() - timedelta(days=9), until=timezone.now() - timedelta(8))
    StorageRevision.objects.filter(pk=old_house.pk).update(recorded_since=timezone.now() - timedelta(days=9))
    count, out, error = past_rows(old_house), StringIO(), StringIO()
    call_command("set_past_days", "acme", "house", "7", stdout=out)
    call_command("measure_storages", "acme", "house", stdout=out, stderr=error)
    assert out.getvalue().startswith("acme/house: former states are kept for 7 days.\n")
    assert ", 0 bytes of former states\n" in out.getvalue()
    assert error.getvalue() == f"acme/house: {count} former states older than 7 days deleted.\n"
    assert (count > 0, past_rows(old_house)) == (True, 0)
    after = StorageSize.objects.get(storage=old_house)
    assert (after.past_bytes, after.bytes < size.bytes) == (0, True)
    kept = timezone.now() - StorageRevision.objects.get(pk=old_house.pk).recorded_since
    assert timedelta(days=7) <= kept < timedelta(days=7, hours=1)


@pytest.mark.long
def test_former_states_count_towards_the_quota(old_house: Storage, api: ApiClient) -> None:
    client = HouseClient(old_house, api, Role.ARCHITECT)
    # It does not compress, so growth and measurement agree.
    text = random.Random(0).randbytes(2_000).hex()
    small, large = (
        one(client.update({"type": "subProcess", "attributes": {"name": {"1033": "A"}, "purp": {"1033": purpose}}}))
        for purpose in ("Small", text)
    )
    set_quota(old_house, {"bytes": 10**9})

    def grown(change: Callable[[], Any]) -> int:
        before = read_use([old_house])[old_house.pk]["bytes"]
        response = change()
        assert response.status_code == 200, response.content
        return read_use([old_house])[old_house.pk]["bytes"] - before

    # The history has the new name only, but the past row has the text.
    renamed = [grown(partial(client.update, process(each["id"], name="B"))) for each in (small, large)]
    assert abs(renamed[1] - renamed[0] - len(text)) < 100
    past = StorageSize.objects.get(storage=old_house).past_bytes
    measured = measure_storage(old_house)
    assert len(text) / 2 < measured.past_bytes - past < 2 * len(text)
    # A deleted version stays as a past row, so that nothing is won.
    deleted = [grown(partial(client.post, f"{DETAIL}/{each['id']}/delete")) for each in (small, large)]
    assert min(deleted) > 0
    assert measure_storage(old_house).bytes >= measured.bytes
    out = StringIO()
    call_command("list_storages", "acme", stdout=out)
    assert out.getvalue().split()[-2:] == ["1095", str(StorageSize.objects.get(storage=old_house).past_bytes)]


@pytest.mark.long
def test_backups_have_the_retention(old_house: Storage, api: ApiClient, tmp_path: Path) -> None:
    client = HouseClient(old_house, api, Role.ADMINISTRATOR)
    one(client.update(process(ID["inProcess"], name="First")))
    moment = timezone.now()
    then = answer(client, DETAIL)
    one(client.update(process(ID["inProcess"], name="Second")))
    set_past_days(old_house, 400)
    forget_before(old_house, moment)
    back_up_storage(old_house, tmp_path / "backup.zip")
    remove_storage(old_house)
    restored = restore_storage(tmp_path / "backup.zip").storage
    assert (restored.past_days, StorageRevision.objects.get(pk=restored.pk).recorded_since) == (400, moment)
    again = HouseClient(restored, api, Role.ADMINISTRATOR)
    assert answer(again, at(DETAIL, moment)) == then
    assert answer(again, at(DETAIL, moment - timedelta(microseconds=1)))[0] == 422


def test_days_of_a_storage() -> None:
    storage = StorageFactory.create(collection="acme", key="house")
    for days in ("0", "10951"):
        with pytest.raises(CommandError, match=f"past days: expected 1 to 10950 days, not {days}"):
            call_command("set_past_days", "acme", "house", days)
    assert Storage.objects.get(pk=storage.pk).past_days == 1095
