"""Marks identify states of a storage's content, for every kind of change and for concurrent ones."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F, Model
from django.test.utils import CaptureQueriesContext

from elements.models import ContentMark, Element, ElementVersion, Reference, Shape, ShapeFlow, StructureMark
from elements.reading.content_state import ContentState, content_state
from storage.models import Storage
from storage.options import Role
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.content_states import state
from tests.elements.handbook import ID
from tests.factories import StorageFactory, issued_token, token_for
from tests.removed_storages import rows_left

pytestmark = pytest.mark.django_db
PROCESSES = "/acme/handbook/_api/rest/facets/processes/views/detail/elements"


def process(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "subProcess", "rootPath": [{"id": ID["sales"]}], "attributes": {"name": {"1033": name}}, **more}


def test_every_change_makes_a_new_state_and_reads_do_not(handbook: Storage, api: ApiClient) -> None:
    token = token_for(handbook, Role.ARCHITECT)
    seen = [whole_state(handbook)]

    def changed(status: int = 200, *, structure: bool = True) -> None:
        """The structure stays the same while only attributes change (D607)."""
        assert status == 200
        now = whole_state(handbook)
        assert now.content not in [each.content for each in seen]
        if structure:
            assert now.structure not in [each.structure for each in seen]
        else:
            assert now.structure == seen[-1].structure
        seen.append(now)

    made = api.post(PROCESSES, {"elements": [process("New")]}, "application/json", token=token)
    changed(made.status_code)
    (element,) = made.json()["elements"]
    given = {"id": element["id"], "attributes": {"scope": {"1033": "wide"}}}
    changed(api.post(PROCESSES, {"elements": [given]}, "application/json", token=token).status_code, structure=False)
    given = {"id": element["id"], "related": {"owner": [{"id": ID["anna"]}]}}
    changed(api.post(PROCESSES, {"elements": [given]}, "application/json", token=token).status_code, structure=False)
    given = {"id": element["id"], "stereotype": "short"}
    changed(api.post(PROCESSES, {"elements": [given]}, "application/json", token=token).status_code)
    changed(api.delete(f"{PROCESSES}/{element['id']}", token=token).status_code)
    released = f"/acme/handbook/_api/release/{ID['order']}/transitions/InProcessToReleased?ignoreWarnings=true"
    changed(api.post(released, {}, "application/json", token=token).status_code)
    for _ in range(2):
        assert api.get(f"{PROCESSES}?$pageSize=1", token=token).status_code == 200
        assert whole_state(handbook) == seen[-1]


def whole_state(storage: Storage) -> ContentState:
    with tenant_scope(storage):
        return content_state()


def test_totals_follow_every_change(handbook: Storage, api: ApiClient) -> None:
    token = token_for(handbook, Role.ARCHITECT)

    def total() -> int:
        return int(api.get(f"{PROCESSES}?$pageSize=1", token=token)["X-Total-Count"])

    before = total()
    for number in (1, 2):
        body = {"elements": [process(f"New {number}")]}
        assert api.post(PROCESSES, body, "application/json", token=token).status_code == 200
        assert (total(), total()) == (before + number, before + number)


def test_a_rollback_makes_no_new_state(handbook: Storage) -> None:
    before = state(handbook)
    with tenant_scope(handbook):
        try:
            with transaction.atomic():
                ElementVersion.objects.update(revision=7)
                assert content_state().content != before
                raise LookupError
        except LookupError:
            pass
        assert content_state().content == before


def test_other_storages_keep_their_state(handbook: Storage) -> None:
    other = StorageFactory.create(collection="acme", key="other")
    before = state(other)
    with tenant_scope(handbook):
        ElementVersion.objects.update(revision=8)
    assert state(other) == before


def test_a_removed_storage_leaves_no_mark() -> None:
    storage = StorageFactory.create(collection="acme", key="gone")
    tenant = storage.id
    with tenant_scope(storage):
        Element.objects.update(position=1)
        assert content_state().content
        assert (ContentMark.objects.count(), StructureMark.objects.count()) == (1, 1)
    remove_storage(storage)
    assert rows_left(tenant, ContentMark) == rows_left(tenant, StructureMark) == 0


@pytest.mark.parametrize("model", [Element, ElementVersion, Reference, Shape, ShapeFlow])
def test_every_table_of_content_makes_marks(handbook: Storage, model: type[Model]) -> None:
    before = state(handbook)
    with tenant_scope(handbook):
        model._default_manager.update(id=F("id"))
    assert state(handbook) != before


def test_a_list_is_counted_once_in_a_state(handbook: Storage, api: ApiClient) -> None:
    # An issued token is a new element, and so makes a new state.
    token = issued_token(handbook, Role.ARCHITECT, never_expires=True)
    counted = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as captured:
            assert api.get(f"{PROCESSES}?$pageSize=1", token=token).status_code == 200
        counted.append(sum("count(*)" in each["sql"] for each in captured))
    assert counted == [1, 0]
