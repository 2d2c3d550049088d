"""Contents of a backup: tables, columns, and the migrations that it needs."""

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
from storage.options import QUOTAS
from storage.tenancy.scope import owners_first, tenant_models

FORMAT = 1
CONTENTS = "contents.json"
TOKEN_MOMENTS = (
    "valid_from", "valid_until", "created_on", "last_used_on", "revoked_on", "rotated_on", "old_valid_until",
    "old_last_used_on", "limited_on",
)  # fmt: skip
TOKEN_LIMITS = ("networks", "is_read_only", "facets", "operations")
STORAGE_SETTINGS = (
    "title", "description", "template", "region", "time_zone", "is_valid", "anonymous_access", "token_in_query",
    "allowed_origins", "stuck_after_days", "event_days", "past_days",
    *(f"quota_{name}" for name in QUOTAS),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TableContents:
    columns: list[str]
    rows: int


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything in a backup beside the rows: the storage, its cultures, tokens and memberships."""

    made_on: str
    release: str
    migrations: dict[str, list[str]]
    collection: dict[str, str]
    storage: dict[str, Any]
    cultures: list[dict[str, Any]]
    tokens: list[dict[str, Any]]
    memberships: list[dict[str, Any]]
    tables: dict[str, TableContents]
    accounts: dict[str, str] = field(default_factory=dict)
    """Names of the staff accounts that the rows mention, by label (D357)."""
    missing_files: list[str] = field(default_factory=list)
    """Digests of contents that were missing when the backup was made."""
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
                raise Invalid(f"This backup has format {found['format']}; this release reads format {FORMAT}.")
            found["tables"] = {name: TableContents(**table) for name, table in found["tables"].items()}
            return cls(**found)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
            raise Invalid(f"This file is not a backup of a storage: its contents cannot be read ({problem}).") from None


def kept_models() -> list[type[TenantModel]]:
    """Return the models whose rows a backup contains, owners first."""
    derived = {model for extension in storage_extensions for model in extension.derived_models}
    return [model for model in owners_first(tenant_models()) if model not in derived]


def columns_of(model: type[TenantModel]) -> list[str]:
    """Return the columns of a table, without the storage: the database fills that from the scope."""
    return [str(field.column) for field in model._meta.concrete_fields if field.column and field.column != "storage_id"]


def applied_migrations() -> dict[str, list[str]]:
    """Return the applied migrations of the apps with tenant tables. Rows fit only a database with the same ones."""
    wanted = {model._meta.app_label for model in tenant_models()} & {config.label for config in apps.get_app_configs()}
    found: dict[str, list[str]] = {label: [] for label in sorted(wanted)}
    for label, name in sorted(MigrationRecorder(connection).applied_migrations()):
        if label in found:
            found[label].append(name)
    return found


def newest(migrations: Mapping[str, list[str]]) -> str:
    return ", ".join(f"{label} {names[-1] if names else 'none'}" for label, names in migrations.items())
