"""Events of an import (D621): the same as those of other changes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from elements.transfer import event_rows, importing
from elements.transfer.importing import import_elements
from elements.writing.authors import Author, changes_at
from elements.writing.events import ElementEvent, event_statements
from elements.writing.statements import execute_together
from facets.models import ElementType
from storage.models import Event, EventType, Storage, StorageRevision
from storage.tenancy.bulk import ascending_ids
from storage.tenancy.scope import tenant_scope
from tests.elements.transfer_files import guid, line, version, write
from tests.factories import StorageFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("other_storage")]
CREATED, RELEASED = EventType.ELEMENT_CREATED, EventType.VERSION_RELEASED
KNOWN = (
    "type", "subject_id", "version_id", "facet", "element_type", "state", "caller_id", "caller_label", "request_id",
    "is_public", "data",
)  # fmt: skip


@pytest.fixture
def house() -> Storage:
    return StorageFactory.create(key="house", template="standard")


def events() -> list[tuple[Any, ...]]:
    return list(Event.objects.order_by("time", "id").values_list(*KNOWN))


def test_an_import_records_events_as_other_changes_do(house: Storage, tmp_path: Path) -> None:
    lines = [
        line(1),
        version(2, 12, "released", "1.0"),
        version(2, 13, "inProcess", "1.1"),
        version(3, 14, "inProcess", "0.1"),
        version(4, 15, "released", "2.0"),
    ]
    import_elements(house, write(tmp_path / "some.ndjson", *lines))
    made = [
        ElementEvent(CREATED, guid(1), guid(1), {}),
        ElementEvent(CREATED, guid(2), guid(13), {}),
        ElementEvent(RELEASED, guid(2), guid(12), {"version": "1.0"}),
        ElementEvent(CREATED, guid(3), guid(14), {}),
        ElementEvent(CREATED, guid(4), guid(15), {}),
        ElementEvent(RELEASED, guid(4), guid(15), {"version": "2.0"}),
    ]
    with tenant_scope(house):
        imported = events()
        Event.objects.all().delete()
        execute_together(event_statements(Author(None, "import_elements", ""), made))
        assert events() == imported
    assert [row[9] for row in imported] == [True, False, True, False, True, True]


def test_events_of_an_import_are_later_than_those_of_a_deleted_element(house: Storage, tmp_path: Path) -> None:
    """The clock of another server may have been ahead when it deleted the element."""
    ahead = timezone.now() + timedelta(hours=1)
    with tenant_scope(house):
        fields: dict[str, Any] = {"caller_label": "", "request_id": "", "is_public": False, "data": {}}
        Event.objects.create(type=EventType.ELEMENT_DELETED, time=ahead, subject_id=guid(2), **fields)
    import_elements(house, write(tmp_path / "some.ndjson", line(1), version(2, 12, "released", "1.0")))
    with tenant_scope(house):
        times = {subject: list(_times(subject)) for subject in (guid(1), guid(2))}
    assert times[guid(1)][0] < ahead
    assert times[guid(2)] == [ahead, ahead + timedelta(microseconds=1), ahead + timedelta(microseconds=2)]


def test_events_are_made_again_while_a_thread_makes_the_next_ones(
    house: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow_ids() -> Iterator[str]:
        for id in ascending_ids():
            sleep(0.01)
            yield id

    monkeypatch.setattr(event_rows, "ascending_ids", slow_ids)
    monkeypatch.setattr(importing, "PLACED_AT_ONCE", 2)
    numbers = range(1, 13)
    ahead = timezone.now() + timedelta(hours=1)
    with tenant_scope(house):
        fields: dict[str, Any] = {"caller_label": "", "request_id": "", "is_public": False, "data": {}}
        for number in (1, 4, 5):
            Event.objects.create(type=EventType.ELEMENT_DELETED, time=ahead, subject_id=guid(number), **fields)
    import_elements(house, write(tmp_path / "some.ndjson", *(line(number) for number in numbers)))
    with tenant_scope(house):
        created = Event.objects.filter(type=CREATED).order_by("time", "id")
        assert [str(event.subject_id) for event in created if event.time < ahead] == [
            guid(number) for number in numbers if number not in (1, 4, 5)
        ]
        assert {str(event.subject_id) for event in created if event.time > ahead} == {guid(1), guid(4), guid(5)}


def test_events_of_an_import_have_the_time_of_the_changes(house: Storage, tmp_path: Path) -> None:
    moment = timezone.now() - timedelta(days=75)
    with changes_at(moment):
        import_elements(house, write(tmp_path / "some.ndjson", line(1)))
    with tenant_scope(house):
        assert list(_times(guid(1))) == [moment]


def test_the_state_of_an_event_may_have_any_characters(house: Storage, tmp_path: Path) -> None:
    state = "draft\\new\tand \\N"
    with tenant_scope(house):
        ElementType.objects.filter(key="tag").update(static_state=state)
        StorageRevision.objects.filter(storage=house).update(configuration_revision=F("configuration_revision") + 1)
    import_elements(house, write(tmp_path / "some.ndjson", line(1)))
    with tenant_scope(house):
        assert [row[5] for row in events()] == [state]


def _times(subject: str) -> Any:
    return Event.objects.filter(subject_id=subject).order_by("time").values_list("time", flat=True)
