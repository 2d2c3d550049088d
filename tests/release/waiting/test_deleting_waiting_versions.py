"""A draft that was rejected once can be deleted, with its tasks."""

from __future__ import annotations

import pytest
from django.db import connection

from release.models import Task
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.release.house import DETAIL, ID, HouseClient, MakeClient
from tests.release.task_calls import act, appoint, done

pytestmark = pytest.mark.django_db


def delete(desk: HouseClient, id: str) -> int:
    """Delete, and check foreign keys as the end of a transaction does."""
    response = desk.api.delete(f"{DETAIL}/{id}", token=desk.token)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    return int(response.status_code)


def rejected_task(storage: Storage, desk: MakeClient, element: str, version: str) -> None:
    with tenant_scope(storage):
        Task.objects.all().delete()
    desk(user="anna").applied(element, "InProcessToInReview")
    for task in desk(user="cora").tasks(f"?assignee=all&element={ID[element]}"):
        done(act(desk(user="cora"), task["id"], "reject", comment="No."))
    with tenant_scope(storage):
        assert [str(each) for each in Task.objects.values_list("version_id", flat=True)] == [version]


def test_the_only_version(house: Storage, desk: MakeClient) -> None:
    appoint(house, "inProcess-1", reviewer=["ben"])
    rejected_task(house, desk, "inProcess", ID["inProcess-1"])
    assert delete(desk(user="anna"), ID["inProcess"]) == 200
    with tenant_scope(house):
        assert not Task.objects.exists()


def test_a_draft_beside_a_released_version(house: Storage, desk: MakeClient) -> None:
    draft = desk(user="anna").new_version("released")["versionId"]
    rejected_task(house, desk, "released", draft)
    assert delete(desk(user="anna"), draft) == 200
    assert desk(user="ben").tasks(f"?assignee=all&state=rejected&element={ID['released']}") == []
    assert desk(user="ben").element("released")["state"] == "released"
