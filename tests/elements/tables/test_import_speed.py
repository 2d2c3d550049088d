"""A job makes the preview and the import of an exported table with 20,000 edited rows within two minutes each, and
within 150 MB (D467)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from elements.demo.sample import sample_lines
from elements.models import ElementChange, TableImport
from elements.tables.kept_imports import run_import
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.office import Office, form_data, main_text
from tests.elements.tables.spreadsheets import edited
from tests.factories import token_for
from tests.scale import IS_FULL
from tests.server_process import peak_memory

pytestmark = [pytest.mark.django_db, pytest.mark.long]
NUMBER = 20_000 if IS_FULL else 2_000
MEGABYTE = 1_000_000
USER = "00000000-0000-0009-0000-000000000003"
IMPORT = "elements/element/import/"
# A file of 20,000 rows with all columns has more characters than a job reads.
COLUMNS = "name,scope,owner,reviewer,systems,risks,tagFilters"
PROCESSES = "/acme/sample/_api/rest/facets/processes/views/detail/elements"


@pytest.fixture(scope="module")
def sample(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    file: Path = tmp_path_factory.mktemp("sample") / "lines.ndjson"
    file.write_bytes(b"".join(sample_lines(NUMBER)))
    with filled_storage(file, key="sample", template="standard") as storage:
        yield storage


def measured_job(storage: Storage) -> tuple[float, float]:
    """Return the seconds that the job took, and how many megabytes it needed more than before."""
    with tenant_scope(storage):
        table = str(TableImport.objects.get().id)
    Path("/proc/self/clear_refs").write_text("5")
    idle, begin = peak_memory("self"), time.monotonic()
    run_import(storage, table)
    return time.monotonic() - begin, (peak_memory("self") - idle) / MEGABYTE


def test_many_rows_are_previewed_and_imported(sample: Storage, api: ApiClient) -> None:
    """The file is an export in which one cell of each row has changed."""
    office = Office(sample, Role.ADMINISTRATOR)
    address = f"{PROCESSES}?$format=xlsx&$select={COLUMNS}"
    exported = api.get(address, token=token_for(sample, Role.ADMINISTRATOR)).content
    content = edited("xlsx", exported, {(row, "reviewer[id]"): USER for row in range(2, NUMBER + 2)})
    del exported
    assert office.post(IMPORT, {"file": SimpleUploadedFile("table.xlsx", content)}).status_code == 302
    del content
    preview = measured_job(sample)
    page = office.get(IMPORT)
    assert f"0 new, {NUMBER} changed, 0 unchanged." in main_text(page)
    office.post(IMPORT, {**form_data(page), "_import": ""})
    written = measured_job(sample)
    assert f"{NUMBER} elements were imported." in office.page(IMPORT)
    with tenant_scope(sample):
        assert ElementChange.objects.filter(action=ElementChange.Action.UPDATED).count() == NUMBER
    assert max(preview[0], written[0]) < 120 * NUMBER / 20_000, (preview, written)
    assert max(preview[1], written[1]) < 150, (preview, written)
