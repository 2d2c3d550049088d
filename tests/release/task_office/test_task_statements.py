"""The number of statements of the task pages does not depend on the number of tasks."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from elements.models import Element, ElementVersion
from elements.sizes import counting
from release.models import LifecycleEntry, Task
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID
from tests.release.task_calls import TYPE, UNKNOWN, open_task
from tests.release.task_pages import LOG, OFFICE, TASKS, VERSIONS, boss, listed, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.long]


class TestStatements:
    def count(self, client: Client, address: str) -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert client.get(address).status_code == 200
        return len(queries)

    @pytest.mark.long
    def test_the_list_takes_as_many_statements_for_a_hundred_tasks(
        self, house: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # The overview must not use cached counts.
        monkeypatch.setattr(counting, "SLOW", 60)
        client = boss(house)
        for version, assignee in zip(VERSIONS, ("ben", "crew", None), strict=True):
            open_task(house, version, assignee)
        self.add(house, 3)
        addresses = (f"{TASKS}?all=&stuck=yes", f"{TASKS}?all=", LOG, OFFICE)
        client.get(OFFICE)
        before = [self.count(client, each) for each in addresses]
        self.add(house, 94)
        assert (len(listed(client)), len(listed(client, "?all="))) == (50, 100)
        assert [self.count(client, each) for each in addresses] == before
        # Twelve (D591), a savepoint, its release, and the end of the scope inside of the transaction of the test.
        assert max(before) <= 15

    def test_the_page_of_a_step_takes_as_many_statements_for_many_tasks(self, house: Storage) -> None:
        client = boss(house)
        for version in VERSIONS:
            open_task(house, version)
        self.add(house, 3)
        with tenant_scope(house):
            tasks = [str(each) for each in Task.objects.values_list("id", flat=True)]
        few = f"{TASKS}step/remind/?" + "&".join(f"task={each}" for each in tasks)
        client.get(few)
        before = self.count(client, few)
        self.add(house, 94)
        with tenant_scope(house):
            many = f"{TASKS}step/remind/?" + "&".join(
                f"task={each}" for each in Task.objects.values_list("id", flat=True)
            )
        assert self.count(client, many) == before
        assert "101 tasks are too many" in text_of(client.get(f"{many}&task={UNKNOWN}"))

    def add(self, storage: Storage, number: int) -> None:
        """Add published elements with an open task and a log entry each."""
        with tenant_scope(storage):
            template = ElementVersion.objects.get(id=ID["released-1"])
            type_id = Element.objects.get(id=ID["released"]).type_id
            for place in range(number):
                element = Element.objects.create(creation_id=ID["released"], type_id=type_id)
                template.pk, template.element_id, template.attributes = (
                    element.id, element.id, {"name": {"1033": f"More {place}"}},
                )  # fmt: skip
                template.save(force_insert=True)
                Element.objects.filter(id=element.id).update(newest_id=element.id, published_id=element.id)
                task = Task.objects.create(
                    type=TYPE, element_id=element.id, version_id=element.id, revision=0, transition="x",
                    source_state="released", target_state="requestToExpire",
                    requested_on=timezone.now() + timedelta(seconds=1),
                    requester_id=ID["anna"], requester_label="x", assignee_id=ID[("ben", "crew", "eve")[place % 3]],
                )  # fmt: skip
                LifecycleEntry.objects.create(
                    element_id=element.id, version_id=element.id, number=1, version="1.0", step="reminder",
                    from_state="released", to_state="released", changed_on=timezone.now(), caller_label="staff:1",
                    request_id="", task_id=task.id, assignee_id=ID["ben"],
                )  # fmt: skip
