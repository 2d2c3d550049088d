from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from facets.blueprint.differences import Hazard
from facets.extension import FacetsExtension, facets_extensions
from storage.models import Storage
from storage.options import Role
from tests.facets.office_forms import OLD, ConfigurationOffice, stored
from tests.facets.small_template import SMALL
from tests.factories import StorageFactory


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.json"
    path.write_text(json.dumps(SMALL, ensure_ascii=False), encoding="utf-8")
    return path


@pytest.fixture
def small(other_storage: Storage, small_file: Path) -> Storage:
    """A storage with the small template and anonymous access."""
    return StorageFactory.create(collection="acme", key="small", template=str(small_file), anonymous="read")


@pytest.fixture
def twin(small: Storage, small_file: Path) -> Storage:
    return StorageFactory.create(collection="rival", key="twin", template=str(small_file))


@pytest.fixture
def office(small: Storage, twin: Storage) -> Iterator[ConfigurationOffice]:
    """The back office of the storage; the other storage must stay unchanged."""
    yield ConfigurationOffice(small, Role.ADMINISTRATOR)
    assert stored(twin) == OLD


@pytest.fixture
def in_use() -> Iterator[None]:
    """Report content in use, as the apps above do: persons with an age, and things with a size and a state."""
    used: set[tuple[str, str | None, str | None, str | None]] = {
        ("person", None, None, None),
        ("person", "age", None, None),
        ("Thing", "größe", "s", None),
        ("Thing", None, None, "checked"),
    }

    def check(hazard: Hazard) -> str | None:
        return "7 versions have it" if (hazard.type, hazard.property, hazard.value, hazard.state) in used else None

    with facets_extensions.extended_by(FacetsExtension(describe_use=check)):
        yield
