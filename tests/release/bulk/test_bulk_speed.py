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
from tests.release.house import Wire
from tests.scale import IS_FULL

pytestmark = [pytest.mark.django_db, pytest.mark.long]
NUMBER = 10_000 if IS_FULL else 1_000
USER, OTHER = "00000000-0000-0009-0000-000000000003", "00000000-0000-0009-0000-000000000004"
BULK = "/acme/sample/_api/rest/facets/processes/views/detail/bulk"


@pytest.fixture(scope="module")
def sample(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    file: Path = tmp_path_factory.mktemp("sample") / "lines.ndjson"
    file.write_bytes(b"".join(sample_lines(2 * NUMBER)))
    with filled_storage(file, key="sample", template="standard") as storage:
        yield storage


# In this order: each leaves the elements as the next one needs them. A partial run measures the first one.
OPERATIONS: dict[str, Wire] = {
    "add": {"add": {"related": {"reviewer": [{"id": USER}]}}},
    "hand over": {"handOver": {"from": USER, "to": OTHER}},
    "version": {"createVersion": True},
    "set": {"set": {"attributes": {"purp": {"1033": "New"}}}},
    "clear": {"clear": ["purp"]},
    "move": {"move": {"parent": None}},
    "review": {"transition": "InProcessToInReview", "ignoreWarnings": True},
    "back": {"transition": "InReviewToInProcess", "ignoreWarnings": True},
    "delete": {"delete": True},
}


def test_many_elements_are_changed_within_a_minute(
    sample: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "TURN", 600)
    token = token_for(sample, Role.ADMINISTRATOR)
    with tenant_scope(sample):
        chosen = Element.objects.filter(type__key="subProcess").values_list("id", flat=True)[:NUMBER]
        ids = [str(each) for each in chosen]
    assert len(ids) == NUMBER
    seconds = {}
    for name, operation in [*OPERATIONS.items()][: None if IS_FULL else 1]:
        body = {"ids": ids, "operations": [operation]}
        started = api.post(BULK, body, content_type="application/json", token=token)
        assert started.status_code == 202, started.content
        run = UUID(started.json()["values"][0]["id"])
        begin = time.monotonic()
        runs.run_bulk(sample, str(run))
        seconds[name] = round(time.monotonic() - begin, 1)
        report = api.get(f"{BULK}/{run}", token=token).json()["values"][0]
        assert (report["state"], report["refused"]) == ("done", 0), (name, report["refusals"][:3])
    assert max(seconds.values()) < 60 * NUMBER / 10_000, seconds
