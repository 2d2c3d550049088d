from __future__ import annotations

import json
from pathlib import Path

import pytest

from storage.models import Storage
from tests.facets.small_template import SMALL
from tests.factories import StorageFactory


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.json"
    path.write_text(json.dumps(SMALL, ensure_ascii=False), encoding="utf-8")
    return path


@pytest.fixture
def small(other_storage: Storage, small_file: Path) -> Storage:
    """A storage with the small template, readable by anybody."""
    return StorageFactory.create(collection="acme", key="small", template=str(small_file), anonymous="read")
