"""Measuring storages, in the domain and by command."""

from __future__ import annotations

from io import StringIO
from typing import Any
from unittest import mock

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from repository_site.core.problems import NotFound
from storage.models import RequestCount, Storage, StorageSize
from storage.options import Role
from storage.provisioning.provision import remove_storage, tenant_row_counts
from storage.provisioning.sizes import measure_storage
from tests.factories import StorageFactory, issued_token

pytestmark = pytest.mark.django_db


def test_a_measurement_counts_the_rows_of_one_storage(storage: Storage, other_storage: Storage) -> None:
    standard = StorageFactory.create(collection="acme", key="full", template="standard")
    issued_token(standard, Role.EDITOR)
    size = measure_storage(standard)
    assert (size.elements, size.versions, size.references, size.shapes) == (1, 1, 0, 0)
    assert size.rows == sum(tenant_row_counts(standard).values())
    assert size.bytes > size.rows * 28
    small = measure_storage(storage)
    assert (small.elements, small.versions) == (0, 0)
    assert 0 < small.bytes < size.bytes
    issued_token(standard, Role.EDITOR)
    again = measure_storage(standard)
    assert (again.pk, again.elements) == (size.pk, 2)
    assert again.bytes > size.bytes
    assert StorageSize.objects.count() == 2


def test_a_removed_storage_is_not_measured(storage: Storage, other_storage: Storage) -> None:
    gone = Storage.objects.get(pk=storage.pk)
    remove_storage(storage)
    with pytest.raises(NotFound):
        measure_storage(gone)
    assert not StorageSize.objects.exists()


def run(*arguments: str, **options: Any) -> tuple[str, str]:
    out, error = StringIO(), StringIO()
    call_command("measure_storages", *arguments, stdout=out, stderr=error, **options)
    return out.getvalue(), error.getvalue()


def test_the_command_measures_every_storage_and_deletes_old_counts(storage: Storage, other_storage: Storage) -> None:
    RequestCount.objects.create(storage=storage, hour=timezone.now() - timezone.timedelta(days=91), requests=1)  # type: ignore[attr-defined]
    out, error = run()
    assert [line.split(":")[0] for line in out.splitlines()] == ["acme/handbook", "rival/handbook"]
    assert out.splitlines()[0].startswith("acme/handbook: 0 elements, 0 versions, 0 references, 0 shapes, ")
    assert error == "1 request counts older than 90 days deleted.\n"
    assert StorageSize.objects.count() == 2
    assert run(verbosity=0) == ("", "")


def test_the_command_measures_one_storage(storage: Storage, other_storage: Storage) -> None:
    run("acme", "handbook")
    assert [size.storage for size in StorageSize.objects.all()] == [storage]
    with pytest.raises(CommandError, match="Give both collection and storage"):
        run("acme")
    with pytest.raises(CommandError, match="There is no storage acme/none"):
        run("acme", "none")


def test_a_failure_does_not_stop_the_other_measurements(storage: Storage, other_storage: Storage) -> None:
    def measure(each: Storage) -> StorageSize:
        if each == storage:
            raise RuntimeError("disk\nfull")
        return measure_storage(each)

    path = "storage.housekeeping.measure_storage"
    with mock.patch(path, side_effect=measure), pytest.raises(CommandError, match="1 of 2 storages failed"):
        run()
    assert [size.storage for size in StorageSize.objects.all()] == [other_storage]
