"""Configurations that the process has written before, kept as the JSON texts of their rows.

Reading a template and building its rows takes most of the time of provisioning a storage, and most tests use one of a
few templates. The first storage of a template is provisioned as everywhere else. Rows depend on the template alone, and
ids only need to be unique within a storage, so later storages get the same inserts, in one trip to the database.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any
from unittest.mock import patch

import orjson

from facets.changing.changes import provision_configuration
from repository_site.core.database.statements import engine
from storage.extension import storage_extensions
from storage.models import Storage, TenantModel
from storage.provisioning import templates
from storage.tenancy import bulk

Insert = tuple[type[TenantModel], str, str]
"""Model, its columns and the rows: the arguments of an insert."""
insert_json = bulk._insert_json
read_once = cache(templates.read_template)
_written: dict[bytes, list[Insert]] = {}


@contextmanager
def written_once() -> Iterator[None]:
    """Write each configuration by its rules once, and repeat its inserts for later storages."""
    extensions = tuple(
        replace(each, provision=_provision) if each.provision is provision_configuration else each
        for each in storage_extensions
    )
    with patch.object(storage_extensions, "_made", extensions), patch.object(templates, "read_template", read_once):
        yield


def _provision(storage: Storage, sections: Mapping[str, Any]) -> None:
    content = orjson.dumps(sections)
    if content in _written:
        engine().look_up_all([(bulk.json_insert(model, names), [rows]) for model, names, rows in _written[content]])
        return
    inserts: list[Insert] = []

    def note(model: type[TenantModel], names: str, rows: str) -> int:
        inserts.append((model, names, rows))
        return insert_json(model, names, rows)

    with patch.object(bulk, "_insert_json", note):
        provision_configuration(storage, sections)
    _written[content] = inserts
