"""Exports the configuration of a storage as a template file, for the command and the back office."""

from __future__ import annotations

import json

from facets.rows.reading import read_rows
from facets.template_format.set_section import write_set_section
from facets.template_format.writing import write_template
from storage.models import Storage
from storage.tenancy.scope import tenant_scope


def export_template(storage: Storage, name: str = "", title: str = "") -> str:
    """Return the template as JSON. By default it has the name of the storage's template and the storage's title."""
    with tenant_scope(storage):
        stored = read_rows()
    document = write_template(
        name or storage.template, title or storage.title or storage.key, stored.cultures, stored.blueprint
    )
    document |= write_set_section(stored.sets)
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
