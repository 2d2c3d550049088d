"""10,000 elements are changed in bulk within 60 seconds (D471)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from elements.bulk import runs
from elements.demo.sample import sample_lines
from elements.models import Element
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.factories import token_for
from tests.scale import IS_FULL

pytestmark = [pytest.mark.django_db, pytest.mark.long]
NUMBER = 10_000 if IS_FULL else 1_000
USER = "00000000-0000-0009-0000-000000000003"
BULK = "/acme/sample/_api/rest/facets/processes/views/detail/bulk"


@pytest.fixture(scope="module")
def sample(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    file: Path = tmp_path_factory.mktemp("sample") / "lines.ndjson"
    file.write_bytes(b"".join(sample_lines(2 * NUMBER)))
    with filled_storage(file, key="sample", template="standard") as storage:
        yield storage


def test_many_elements_are_changed_within_a_minute(
    sample: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "TURN", 600)
    token = token_for(sample, Role.ADMINISTRATOR)
    with tenant_scope(sample):
        chosen = Element.objects.filter(type__key="subProcess").values_list("id", flat=True)[:NUMBER]
        ids = [str(each) for each in chosen]
    assert len(ids) == NUMBER
    body = {"ids": ids, "operations": [{"add": {"related": {"reviewer": [{"id": USER}]}}}]}
    started = api.post(BULK, body, content_type="application/json", token=token)
    assert started.status_code == 202, started.content
    run = UUID(started.json()["values"][0]["id"])
    begin = time.monotonic()
    runs.run_bulk(sample, str(run))
    seconds = time.monotonic() - begin
    report = api.get(f"{BULK}/{run}", token=token).json()["values"][0]
    assert (report["state"], report["changed"]) == ("done", NUMBER), report["refusals"][:3]
    assert seconds < 60 * NUMBER / 10_000
