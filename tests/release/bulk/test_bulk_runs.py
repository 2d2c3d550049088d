"""Large bulk changes (D471): jobs in batches, their reports, lost workers, lost access, fairness and retention."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from elements.bulk import batches, runs
from elements.models import BulkRefusal, BulkRun, ElementChange
from repository_site.core.problems import Invalid
from storage.access.staff import staff_caller
from storage.access.tokens import revoke_token
from storage.api import viewset
from storage.models import ApiToken, Storage
from storage.tenancy.scope import tenant_scope
from tests.factories import StaffAccountFactory
from tests.jobs import run_jobs, waiting_jobs
from tests.release.bulk.bulk_calls import ALL_STATES, BULK, bulk, numbers, report_of
from tests.release.house import ID, HouseClient, MakeClient, Wire, error

pytestmark = [pytest.mark.django_db, pytest.mark.on_cluster]
NEW = {"set": {"attributes": {"purp": {"1033": "New"}}}}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SMALL", 2)
    monkeypatch.setattr(runs, "BATCH", 3)


def drafts(client: HouseClient, count: int) -> list[str]:
    body = [{"type": "subProcess", "attributes": {"name": {"1033": f"Draft {number}"}}} for number in range(count)]
    return [each["id"] for each in client.update(*body).json()["elements"]]


def test_a_large_selection_is_changed_by_a_job(caller: HouseClient, house: Storage, rival: Storage) -> None:
    made = drafts(caller, 5)
    response = caller.post(BULK, {"ids": [*made, ID["inReview"]], "operations": [NEW]})
    assert response.status_code == 202
    [report] = response.json()["values"]
    assert (report["state"], report["total"], report["processed"]) == ("waiting", 6, 0)
    assert response["Location"].endswith(f"/{BULK}/{report['id']}")
    assert report_of(caller, report["id"]) == report
    assert "elements.bulk" in run_jobs()
    done = report_of(caller, report["id"])
    assert (done["state"], numbers(done)) == ("done", (5, 0, 1))
    assert [each["id"] for each in done["refusals"]] == [ID["inReview"]]
    assert "finishedOn" in done
    assert caller.element(made[4])["attributes"]["purp"] == {"1033": "New"}


def test_an_access_token_starts_no_job(caller: HouseClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job could not look up its roles (D510). Small selections are changed at once."""
    found = staff_caller(StaffAccountFactory.create(is_superuser=True), caller.storage)
    assert found is not None
    monkeypatch.setattr(viewset, "authenticate", lambda *_: replace(found, is_lasting=False))
    response = caller.post(BULK, {"ids": ALL_STATES, "operations": [NEW]})
    assert (response.status_code, "cannot start a background job" in response.json()["message"]) == (403, True)
    assert numbers(bulk(caller, NEW)) == (1, 0, 0)


def test_a_repeated_request_gets_the_same_response(caller: HouseClient) -> None:
    body = {"ids": ALL_STATES, "operations": [NEW]}
    first, again = (caller.post(BULK, body, **{"Idempotency-Key": "all"}) for _ in range(2))
    assert (again.status_code, again["Location"], again.content) == (202, first["Location"], first.content)
    assert [name for name, _ in waiting_jobs()].count("elements.bulk") == 1


def test_a_large_preview_changes_nothing(caller: HouseClient, house: Storage) -> None:
    made = drafts(caller, 4)
    before = [caller.element(each) for each in made]
    report = bulk(caller, NEW, ids=made, dryRun=True, status=202)
    run_jobs()
    assert numbers(report_of(caller, report["id"])) == (4, 0, 0)
    assert [caller.element(each) for each in made] == before


def test_a_killed_worker_does_no_batch_twice(
    caller: HouseClient, house: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second batch fails after it has written; the next attempt continues behind the first one."""
    made = drafts(caller, 6)
    report = bulk(caller, NEW, ids=made, status=202)
    real, calls = batches.run_batch, []

    def dying(*args: Any, **kwargs: Any) -> Any:
        result = real(*args, **kwargs)
        calls.append(args)
        if len(calls) == 2:
            raise SystemError("killed")
        return result

    monkeypatch.setattr(runs, "run_batch", dying)
    assert runs._next_batch(house, report["id"])
    with pytest.raises(SystemError):
        runs._next_batch(house, report["id"])
    halfway = report_of(caller, report["id"])
    assert (halfway["state"], halfway["processed"], halfway["changed"]) == ("running", 3, 3)
    run_jobs()
    assert numbers(report_of(caller, report["id"])) == (6, 0, 0)
    with tenant_scope(house):
        changes = ElementChange.objects.filter(element_id__in=made, action="updated")
        assert sorted(str(each.element_id) for each in changes) == sorted(made)


def test_a_batch_needs_a_constant_number_of_statements(
    caller: HouseClient, house: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    operations: list[Wire] = [NEW, {"transition": "InProcessToInReview", "ignoreWarnings": True}]
    counts = []
    for size in (3, 30):
        monkeypatch.setattr(runs, "BATCH", size)
        report = bulk(caller, *operations, ids=drafts(caller, size), status=202)
        with CaptureQueriesContext(
            connection,
        ) as statements:
            assert not runs._next_batch(house, report["id"])
        assert numbers(report_of(caller, report["id"])) == (size, 0, 0)
        counts.append(len(statements))
    assert counts[0] == counts[1]


def test_a_report_needs_a_constant_number_of_statements(caller: HouseClient) -> None:
    counts = []
    for ids in ([ID["released"]], [each for each in ALL_STATES if each != ID["inProcess"]]):
        report = bulk(caller, {"delete": True}, ids=ids, dryRun=False, status=200 if len(ids) <= runs.SMALL else 202)
        run_jobs()
        with CaptureQueriesContext(connection) as statements:
            assert report_of(caller, report["id"])["refused"] == len(ids)
        counts.append(len(statements))
    assert counts[0] == counts[1]


def test_a_caller_who_loses_access_stops(desk: MakeClient, house: Storage) -> None:
    anna = desk(user="anna")
    report = bulk(anna, NEW, ids=drafts(anna, 4), status=202)
    revoke_token(ApiToken.objects.get(user_id=ID["anna"], storage=house, revoked_on=None))
    run_jobs()
    found = report_of(desk(user="cora"), report["id"])
    assert (found["state"], found["reason"]) == ("stopped", "The caller has no access to the storage any more.")
    assert numbers(found) == (0, 0, 0)


def test_a_problem_of_the_storage_stops_a_run(
    caller: HouseClient, house: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = bulk(caller, NEW, ids=drafts(caller, 4), status=202)

    def full(*args: Any, **kwargs: Any) -> Any:
        raise Invalid("The storage is full.")

    monkeypatch.setattr(runs, "run_batch", full)
    run_jobs()
    found = report_of(caller, report["id"])
    assert (found["state"], found["reason"]) == ("stopped", "The storage is full.")


def test_a_caller_has_one_unfinished_run(desk: MakeClient, house: Storage) -> None:
    anna, cora = desk(user="anna"), desk(user="cora")
    first = bulk(anna, NEW, ids=ALL_STATES, status=202)
    second = anna.post(BULK, {"ids": ALL_STATES, "operations": [NEW]})
    text = f"Your bulk change {first['id']} is not finished yet: 0 of 8 elements. Wait for its end, or stop it."
    assert error(second)[0] == 409
    assert error(second)[3] == [text]
    assert numbers(bulk(anna, NEW)) == (1, 0, 0)
    bulk(cora, NEW, ids=ALL_STATES, status=202)
    assert len({args["arguments"]["run"] for name, args in waiting_jobs() if name == "elements.bulk"}) == 2


def test_a_run_whose_job_has_failed_for_good_ends(caller: HouseClient, house: Storage) -> None:
    report = bulk(caller, NEW, ids=drafts(caller, 4), status=202)
    assert runs._next_batch(house, report["id"])
    [arguments] = [args["arguments"] for name, args in waiting_jobs() if name == "elements.bulk"]
    assert runs.run_bulk.on_failure is not None
    with tenant_scope(house):
        runs.run_bulk.on_failure(house, **arguments)
    found = report_of(caller, report["id"])
    assert (found["state"], found["processed"], numbers(found)) == ("stopped", 3, (3, 0, 0))
    assert found["reason"].startswith("An error in the service has stopped the change.")
    assert not runs._next_batch(house, report["id"])
    bulk(caller, NEW, ids=ALL_STATES, status=202)


def test_a_run_can_be_stopped(desk: MakeClient, house: Storage) -> None:
    anna = desk(user="anna")
    made = drafts(anna, 5)
    report = bulk(anna, NEW, ids=made, status=202)
    assert runs._next_batch(house, report["id"])
    address = f"{BULK}/{report['id']}/stop"
    assert error(desk(user="ben").post(address))[0] == 404
    assert error(anna.post(address, {"stop": True}))[0] == 400
    stopped = anna.post(address).json()["values"][0]
    assert (stopped["state"], stopped["reason"]) == ("stopped", "Stopped by the caller.")
    assert (stopped["processed"], numbers(stopped)) == (3, (3, 0, 0))
    run_jobs()
    assert report_of(anna, report["id"]) == stopped
    assert [each["attributes"].get("purp") for each in map(anna.element, made[2:4])] == [{"1033": "New"}, None]
    assert desk(user="cora").post(address).json()["values"] == [stopped]
    again = bulk(anna, NEW, ids=made, status=202)
    administrator = desk(user="cora").post(f"{BULK}/{again['id']}/stop").json()["values"][0]
    assert administrator["reason"] == "Stopped by an administrator."
    done = bulk(anna, NEW)
    assert anna.post(f"{BULK}/{done['id']}/stop").json()["values"] == [done]


def test_a_long_run_lets_other_jobs_pass(caller: HouseClient, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "TURN", -1)
    report = bulk(caller, NEW, ids=drafts(caller, 7), status=202)
    assert run_jobs().count("elements.bulk") == 3
    assert numbers(report_of(caller, report["id"])) == (7, 0, 0)


def test_too_many_elements(caller: HouseClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MOST", 3)
    response = caller.post(BULK, {"ids": ALL_STATES, "operations": [NEW]})
    assert error(response)[0] == 422


def test_old_reports_are_deleted(caller: HouseClient, house: Storage) -> None:
    old, new = (bulk(caller, NEW, ids=[ID["inReview"]])["id"] for _ in range(2))
    with tenant_scope(house):
        BulkRun.objects.filter(id=old).update(created_on=timezone.now() - timedelta(days=31))
    runs.forget_runs(house)
    with tenant_scope(house):
        assert [str(each.id) for each in BulkRun.objects.all()] == [new]
        assert [str(each.run_id) for each in BulkRefusal.objects.all()] == [new]


def test_reasons_have_the_language_of_the_request(caller: HouseClient, house: Storage) -> None:
    report = bulk(caller, NEW, ids=ALL_STATES, status=202)
    with tenant_scope(house):
        BulkRun.objects.filter(id=report["id"]).update(language="de")
    run_jobs()
    texts = [each for refusal in report_of(caller, report["id"])["refusals"] for each in refusal["reasons"]]
    assert len(texts) == len(ALL_STATES) - 1
    assert all("nicht änderbar" in each for each in texts), texts
