"""A job makes the preview and the import of 20,000 edited rows within a minute each (D467)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from elements.demo.sample import sample_lines
from elements.models import Element, ElementChange, TableImport
from elements.tables.kept_imports import run_import
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.conftest import StorageMaker
from tests.elements.office import Office, form_data, main_text
from tests.scale import IS_FULL

pytestmark = [pytest.mark.django_db, pytest.mark.long]
NUMBER = 10_000 if IS_FULL else 2_000
USER = "00000000-0000-0009-0000-000000000003"
IMPORT = "elements/element/import/"


@pytest.fixture(scope="module")
def sample(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    file: Path = tmp_path_factory.mktemp("sample") / "lines.ndjson"
    file.write_bytes(b"".join(sample_lines(2 * NUMBER)))
    with filled_storage(file, key="sample", template="standard") as storage:
        yield storage


def timed_job(storage: Storage) -> float:
    with tenant_scope(storage):
        table = str(TableImport.objects.get().id)
    begin = time.monotonic()
    run_import(storage, table)
    return time.monotonic() - begin


def test_many_rows_are_previewed_and_imported_within_a_minute(sample: Storage) -> None:
    office = Office(sample, Role.ADMINISTRATOR)
    with tenant_scope(sample):
        chosen = list(Element.objects.filter(type__key="subProcess").values_list("id", flat=True)[:NUMBER])
    assert len(chosen) == NUMBER
    content = "id,reviewer[id]\n" + "".join(f"{id},{USER}\n" for id in chosen)
    office.post(IMPORT, {"file": SimpleUploadedFile("table.csv", content.encode())})
    preview = timed_job(sample)
    page = office.get(IMPORT)
    assert f"0 new, {NUMBER} changed, 0 unchanged." in main_text(page)
    office.post(IMPORT, {**form_data(page), "_import": ""})
    written = timed_job(sample)
    assert f"{NUMBER} elements were imported." in office.page(IMPORT)
    with tenant_scope(sample):
        assert ElementChange.objects.filter(action=ElementChange.Action.UPDATED).count() == NUMBER
    assert max(preview, written) < 60 * NUMBER / 20_000, (preview, written)
