"""Bulk writing with COPY: any cut of the blocks gives the same rows, in the storage of the scope only."""

from __future__ import annotations

from uuid import UUID

import pytest

from storage.models import Storage
from storage.tenancy.bulk import copy_blocks, copy_row, copy_rows, copy_text
from storage.tenancy.scope import tenant_scope
from tests.shelves.models import Shelf

pytestmark = pytest.mark.django_db
ROWS = [copy_row(f"00000000-0000-4000-8000-{number:012}", copy_text(f"a\tb\n{number}"), None) for number in range(5)]
COLUMNS = ["id", "name", "above_id"]


def names(storage: Storage) -> list[str]:
    with tenant_scope(storage):
        return list(Shelf.objects.order_by("name").values_list("name", flat=True))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_blocks_can_be_cut_anywhere(storage: Storage, other_storage: Storage, size: int) -> None:
    text = "".join(ROWS).encode()
    with tenant_scope(storage):
        found = copy_blocks(Shelf, COLUMNS, (text[start : start + size] for start in range(0, len(text), size)))
    assert found == 5
    assert names(storage) == [f"a\tb\n{number}" for number in range(5)]
    assert names(other_storage) == []


def test_repeated_and_empty_copies(storage: Storage) -> None:
    with tenant_scope(storage):
        copy_rows(Shelf, COLUMNS, ROWS[:2])
        copy_rows(Shelf, COLUMNS, [])
        assert copy_blocks(Shelf, COLUMNS, []) == 0
        copy_rows(Shelf, COLUMNS, ROWS[2:])
        assert Shelf.objects.get(name="a\tb\n4").id == UUID("00000000-0000-4000-8000-000000000004")
    assert len(names(storage)) == 5
