"""Readings ask their questions in common rounds, each of which is one statement (D591)."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.db import ProgrammingError, connection, transaction
from django.test.utils import CaptureQueriesContext

from repository_site.core.database.statements import (
    Question,
    Reading,
    ask_all,
    engine,
    models_of,
    read,
    read_together,
    rows_of,
    side_by_side,
)
from storage.models import Recipient, Storage, StorageCollection
from storage.tenancy.scope import tenant_scope

pytestmark = pytest.mark.django_db
ROW = """SELECT 1 AS number, 'text' AS text, true AS is, NULL::int AS nothing, 1.5::numeric AS part, '{a,NULL}'::text[] AS some,
    '00000000-0000-4000-8000-000000000001'::uuid AS id, '2026-01-02T03:04:05Z'::timestamptz AS moment"""


def counting(first: int, rounds: int) -> Reading[int]:
    """Add one in each round."""
    for _ in range(rounds):
        [(first,)] = yield from rows_of("SELECT %s::int + 1", [first])
    return first


def test_rows_keep_their_types_and_their_order() -> None:
    values = (
        1, "text", True, None, Decimal("1.5"), ["a", None], UUID("00000000-0000-4000-8000-000000000001"),
        datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    )  # fmt: skip
    numbers = "SELECT n FROM generate_series(1, 50) AS n ORDER BY n DESC"
    alone = [read(rows_of(ROW, ())), read(rows_of(numbers, ()))]
    assert alone == [[values], [(n,) for n in range(50, 0, -1)]]
    assert read_together(rows_of(ROW, ()), rows_of(numbers, ())) == alone


def test_a_round_is_one_statement() -> None:
    with CaptureQueriesContext(connection) as captured:
        found = read_together(counting(0, 3), counting(10, 1), side_by_side(counting(20, 2), ask_all()))
    assert found == [3, 11, [22, []]]
    assert len(captured) == (6 if engine().is_distributed else 3)


def test_questions_without_a_statement_need_none() -> None:
    with CaptureQueriesContext(connection) as captured:
        assert read_together(ask_all(Question("", (), len)), ask_all()) == [[0], []]
    assert len(captured) == 0


def test_a_reading_gets_its_own_errors_only() -> None:
    def refuse(rows: list[Any]) -> None:
        raise LookupError

    def careful() -> Reading[str]:
        try:
            yield [Question("SELECT 1", (), refuse)]
        except LookupError:
            [(found,)] = yield from rows_of("SELECT 'another'", ())
            return str(found)
        return ""

    assert read_together(careful(), counting(0, 2)) == ["another", 2]
    with pytest.raises(LookupError):
        read_together(ask_all(Question("SELECT 1", (), refuse)), counting(0, 2))


def test_readings_see_their_storage_only(storage: Storage, open_storage: Storage) -> None:
    sql = "SELECT r.storage_id FROM storage_recipient r"
    for each in (storage, open_storage):
        with tenant_scope(each):
            Recipient.objects.bulk_create(Recipient(key=f"staff:{number}") for number in range(3))
    with tenant_scope(storage):
        found = read_together(rows_of(sql, ()), rows_of(f"{sql} WHERE r.key <> %s", ["staff:1"]))
        assert found == [[(storage.id,)] * 3, [(storage.id,)] * 2]
        models = read(ask_all(models_of(Recipient.objects.order_by("key"))))[0]
        assert [(each.key, each.preferences) for each in models] == [(f"staff:{number}", {}) for number in range(3)]
        with pytest.raises(ProgrammingError), transaction.atomic():
            read_together(rows_of(sql, ()), rows_of("SELECT nothing", ()))
        # Also after an error, statements name their storage.
        assert engine().tenant == str(storage.id)


def test_querysets_are_questions(storage: Storage) -> None:
    found = StorageCollection.objects.filter(pk=storage.collection_id).only("key")
    [[[collection], nothing]] = read_together(ask_all(models_of(found), models_of(found.none())))
    assert (collection.key, collection.get_deferred_fields() >= {"title"}, nothing) == ("acme", True, [])
