"""A system check that every configuration table has the trigger that increments the revision; caches rely on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig, apps
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

from facets.models.base import ConfigurationModel
from storage.tenancy.migration_operations import CONFIGURATION_TRIGGER

# Before insert, update and delete, for each statement (see pg_trigger.tgtype).
WANTED_KIND = 2 + 4 + 8 + 16


@register(Tags.database)
def check_configuration_triggers(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    if not databases or "default" not in databases:
        return []
    with connections["default"].cursor() as cursor:
        tables = set(connections["default"].introspection.table_names(cursor))
        cursor.execute(
            "SELECT c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
            " WHERE t.tgname = %s AND t.tgenabled = 'O' AND t.tgtype = %s",
            [CONFIGURATION_TRIGGER, WANTED_KIND],
        )
        good = {name for (name,) in cursor.fetchall()}
    return [
        Error(
            f"{model._meta.db_table}: changes do not increment the configuration revision.",
            hint="Add BumpConfigurationRevision to the migration that makes the table.",
            obj=model,
            id="facets.E001",
        )
        for model in apps.get_models()
        if issubclass(model, ConfigurationModel) and model._meta.db_table in tables - good
    ]
