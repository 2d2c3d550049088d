"""Repeated configurations equal those that provisioning writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from facets.changing import changes
from facets.rows.reading import read_rows
from storage.models import Storage
from storage.provisioning.provision import StorageRequest, provision_storage
from storage.tenancy.scope import tenant_scope
from tests.factories import PLAIN_TEMPLATE, StorageFactory

pytestmark = pytest.mark.django_db


def rows_of(storage: Storage) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a configuration by table, without their storage."""
    with tenant_scope(storage):
        found = read_rows().rows
    return {model._meta.db_table: [{**vars(row), "storage_id": None} for row in rows] for model, rows in found.items()}


def refuse(*args: object) -> None:
    raise AssertionError("The configuration was written by its rules.")


@pytest.mark.parametrize("template", ["standard", str(PLAIN_TEMPLATE)])
def test_a_repeated_configuration_equals_a_written_one(template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = provision_storage(StorageRequest(collection="acme", key="written", template=template))
    StorageFactory.create(key="first", template=template)
    monkeypatch.setattr(changes, "read_template", refuse)

    repeated = StorageFactory.create(key="repeated", template=template)

    rows = rows_of(repeated)
    assert rows == rows_of(written)
    assert any(rows.values())


def test_a_changed_template_is_written_by_its_rules(tmp_path: Path) -> None:
    StorageFactory.create(key="plain")
    document = json.loads(PLAIN_TEMPLATE.read_text())
    document["facets"] = {"changed": next(iter(document["facets"].values()))}
    changed = tmp_path / PLAIN_TEMPLATE.name
    changed.write_text(json.dumps(document))

    storages = [provision_storage(StorageRequest(collection="acme", key="real", template=str(changed)))]
    storages.append(StorageFactory.create(key="changed", template=str(changed)))

    real, made = map(rows_of, storages)
    assert real == made != rows_of(StorageFactory.create(key="other"))
