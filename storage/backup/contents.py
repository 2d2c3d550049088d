"""What is in a backup: which tables, which columns, and which release of the database it fits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from repository_site.core.problems import Invalid
from storage.extension import storage_extensions
from storage.models import TenantModel
from storage.tenancy.scope import owners_first, tenant_models

FORMAT = 1
CONTENTS = "contents.json"
TOKEN_MOMENTS = (
    "valid_from", "valid_until", "created_on", "last_used_on", "revoked_on", "rotated_on", "old_valid_until",
    "old_last_used_on",
)  # fmt: skip
STORAGE_SETTINGS = (
    "title", "description", "template", "region", "time_zone", "is_valid", "anonymous_access", "token_in_query",
    "stuck_after_days",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    columns: list[str]
    rows: int


@dataclass(frozen=True, slots=True)
class Contents:
    """Beside the rows: the storage itself, and what belongs to it without being inside."""

    made_on: str
    release: str
    migrations: dict[str, list[str]]
    collection: dict[str, str]
    storage: dict[str, Any]
    cultures: list[dict[str, Any]]
    tokens: list[dict[str, Any]]
    memberships: list[dict[str, Any]]
    tables: dict[str, Table]
    format: int = field(default=FORMAT)

    def storage_settings(self) -> dict[str, Any]:
        return {name: self.storage[name] for name in STORAGE_SETTINGS}

    def as_json(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False, indent=1).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Contents:
        try:
            found = json.loads(text)
            if found["format"] != FORMAT:
                raise Invalid(f"This backup has the format {found['format']}, this release reads {FORMAT}.")
            found["tables"] = {name: Table(**table) for name, table in found["tables"].items()}
            return cls(**found)
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            raise Invalid(f"This is no backup of a storage: its contents cannot be read ({problem}).") from None


def kept_models() -> list[type[TenantModel]]:
    """Return the models whose rows a backup contains, owners first."""
    derived = {model for extension in storage_extensions for model in extension.derived_models}
    return [model for model in owners_first(tenant_models()) if model not in derived]


def columns_of(model: type[TenantModel]) -> list[str]:
    """Without the storage: the database fills that in, by the scope."""
    return [str(field.column) for field in model._meta.concrete_fields if field.column and field.column != "storage_id"]


def applied_migrations() -> dict[str, list[str]]:
    """Of the apps with tenant tables: rows fit a database that is at exactly these."""
    wanted = {model._meta.app_label for model in tenant_models()} & {config.label for config in apps.get_app_configs()}
    found: dict[str, list[str]] = {label: [] for label in sorted(wanted)}
    for label, name in sorted(MigrationRecorder(connection).applied_migrations()):
        if label in found:
            found[label].append(name)
    return found


def newest(migrations: Mapping[str, list[str]]) -> str:
    return ", ".join(f"{label} {names[-1] if names else 'none'}" for label, names in migrations.items())
