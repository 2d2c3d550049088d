"""System checks of the tenancy: models, the live catalogue, and the database role.

The checks of the catalogue need a database. They run with `check --database default`, in `migrate`, before `serve`, and
in the test suite.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from django.apps import AppConfig, apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections, models

from repository_site.core.database.statements import engine
from storage.models import TenantModel
from storage.models.tenant import SCOPE_PARAMETER
from storage.tenancy.distribution import node_problems
from storage.tenancy.migration_operations import POLICY, SHARD_EXPRESSION, tenant_foreign_keys
from storage.tenancy.scope import tenant_models

NORMAL_EXPRESSION = f"(storage_id = ( SELECT (current_setting('{SCOPE_PARAMETER}'::text))::uuid AS current_setting))"
NORMAL_DEFAULT = f"(current_setting('{SCOPE_PARAMETER}'::text))::uuid"
# Requests read these tables before they open a scope. They must not contain content of a tenant.
OUTSIDE_TENANTS = frozenset(
    {"StaffAccount", "StaffAccount_groups", "StaffAccount_user_permissions", "StorageMembership"}
    | {"StorageCollection", "Storage", "Culture", "ApiToken", "TokenAddress", "AgentCalls"}
    # Numbers about storages, for monitoring that enters no storage.
    | {"StorageSize", "StorageGrowth", "RequestCount", "LifecycleRun", "WebhookCount"}
    # The number of a revision says nothing. Scopes read it while they are entered.
    | {"StorageRevision"}
    # Sign-in happens before there is a storage (D501).
    | {"IdentityProvider", "AccessRule", "ProviderSession"}
    # Directories provision people of a collection (D543).
    | {"DirectoryPerson", "DirectoryGroup", "DirectoryMember"}
    # An invitation is accepted before its account exists (D550).
    | {"Invitation"}
    # Failed sign-ins and sessions concern accounts, which can belong to several storages.
    | {"FailedSignIn", "AccountSession"}
    # Ids and times only. They outlive the storage, so that a restored backup cannot revive a token.
    | {"TokenRevocation"}
    # The worker finds jobs before it opens the scope of their storage (D333). They contain ids.
    | {"QueuedJob", "JobFailure"}
)
TENANT_APPS = ("storage", "facets", "elements", "release")


@register(Tags.models)
def check_tenant_models(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    problems = [problem for model in tenant_models() for problem in _model_problems(model)]
    for model in apps.get_models(include_auto_created=True):
        if model._meta.app_label in TENANT_APPS and not issubclass(model, TenantModel):
            problems += _outside_problems(model)
    return problems


def _outside_problems(model: type[models.Model]) -> list[CheckMessage]:
    if model._meta.app_label == "storage" and model.__name__ in OUTSIDE_TENANTS:
        return []
    return [
        Error(
            f"The rows of {model._meta.label} do not belong to a storage.",
            hint="Derive it from storage.models.TenantModel, or list it in storage.tenancy.checks.OUTSIDE_TENANTS.",
            obj=model,
            id="storage.E004",
        )
    ]


@register(Tags.compatibility)
def check_default_place(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check the default region of the installation. The environment checks the default time zone."""
    from storage.localisation.regions import UnknownRegion, region_info  # loads Babel's tables

    try:
        region_info(settings.DEFAULT_REGION)
    except UnknownRegion as problem:
        return [Error(f"REPOSITORY_REGION: {problem}", id="storage.E020")]
    return []


def _model_problems(model: type[TenantModel]) -> Iterator[CheckMessage]:
    for field in tenant_foreign_keys(model):
        if getattr(field, "db_constraint", True):
            yield Error(
                f"{field} has a constraint of its own, which ignores the storage.",
                hint="Set db_constraint=False and add TenantForeignKey (or IsolateTenantTable) to the migration.",
                obj=model,
                id="storage.E001",
            )
    if not _storage_is_certain(model):
        yield Error(
            f"{model._meta.label}.storage_through = {model.storage_through!r} does not lead to a storage.",
            hint="Name a reference to a tenant model that cannot be null and does not lead back here.",
            obj=model,
            id="storage.E005",
        )
    for many in model._meta.local_many_to_many:
        if not (many.remote_field.through and issubclass(many.remote_field.through, TenantModel)):
            yield Error(
                f"The table behind {many} does not belong to a storage.",
                hint="Give the relation a `through` model that is a TenantModel.",
                obj=model,
                id="storage.E002",
            )
    for unique in _unique_sets(model):
        if "storage_id" not in unique:
            yield Error(
                f"{', '.join(unique)} is unique across all storages, so a tenant could detect rows of another.",
                hint="Use a UniqueConstraint whose first field is storage_id.",
                obj=model,
                id="storage.E003",
            )


def _storage_is_certain(model: type[TenantModel]) -> bool:
    """Tell whether a foreign key, of the row or of its owner, guarantees that the storage of every row exists."""
    seen = set()
    while model.storage_through is not None:
        owners = {field.name: field for field in tenant_foreign_keys(model) if not field.null}
        if model in seen or model.storage_through not in owners:
            return False
        seen.add(model)
        model = cast("type[TenantModel]", owners[model.storage_through].related_model)
    return True


def _unique_sets(model: type[TenantModel]) -> Iterator[tuple[str, ...]]:
    for field in model._meta.concrete_fields:
        if field.unique and not field.primary_key:
            yield (field.name,)
    yield from (tuple(names) for names in model._meta.unique_together)
    for constraint in model._meta.constraints:
        if isinstance(constraint, models.UniqueConstraint):
            expressions = [re.findall(r"F\((\w+)\)", repr(expression)) for expression in constraint.expressions]
            yield (*constraint.fields, *(name for names in expressions for name in names))


@register(Tags.database)
def check_database(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    if not databases or "default" not in databases:
        return []
    with connections["default"].cursor() as cursor:
        problems = [*_role_problems(cursor)]
        tables = set(connections["default"].introspection.table_names(cursor))
        for model in tenant_models():
            # A migration may still have to create the table.
            if model._meta.db_table in tables:
                problems += [Error(text, obj=model, id="storage.E011") for text in _table_problems(cursor, model)]
    if engine().is_distributed:
        problems += [Error(text, id="storage.E012") for text in node_problems()]
    return problems


def _role_problems(cursor: Any) -> Iterator[CheckMessage]:
    cursor.execute("SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
    name, superuser, bypass = cursor.fetchone()
    if superuser or bypass:
        yield Error(
            f"The database role {name} is {'superuser' if superuser else 'BYPASSRLS'}: row-level security would not"
            " apply, and one tenant could see another.",
            hint=f'Use a role of its own, or ALTER ROLE "{name}" NOSUPERUSER NOBYPASSRLS.',
            id="storage.E010",
        )


def _table_problems(cursor: Any, model: type[TenantModel]) -> Iterator[str]:
    table = model._meta.db_table
    cursor.execute(
        "SELECT relrowsecurity, relforcerowsecurity, EXISTS (SELECT FROM pg_inherits WHERE inhparent = pg_class.oid),"
        " EXISTS (SELECT FROM pg_constraint WHERE conrelid = pg_class.oid AND contype = 'x')"
        " FROM pg_class WHERE oid = %s::regclass",
        [f'"{table}"'],
    )
    enabled, forced, has_children, has_exclusion = cursor.fetchone()
    if has_children:
        yield f"{table}: other tables inherit from it; its policy does not apply to them."
    if has_exclusion:
        yield f"{table}: an exclusion constraint could compare rows of several storages."
    if not enabled:
        yield f"{table}: row-level security is not enabled."
    if not forced:
        yield f"{table}: row-level security is not forced, so it does not apply to the owner of the table."
    yield from _policy_problems(cursor, table)
    yield from _column_problems(cursor, table)
    yield from _key_problems(cursor, table)
    yield from _foreign_key_problems(cursor, model)


def _policy_problems(cursor: Any, table: str) -> Iterator[str]:
    cursor.execute(
        "SELECT policyname, permissive, roles::text, cmd, qual, with_check FROM pg_policies"
        " WHERE schemaname = current_schema() AND tablename = %s",
        [table],
    )
    expression = SHARD_EXPRESSION if cursor.db.is_distributed else NORMAL_EXPRESSION
    if cursor.fetchall() != [(POLICY, "PERMISSIVE", "{public}", "ALL", expression, expression)]:
        yield f"{table}: its only policy must be {POLICY} with {expression} for reading and writing."


def _column_problems(cursor: Any, table: str) -> Iterator[str]:
    cursor.execute(
        "SELECT attribute.attnotnull, pg_get_expr(value.adbin, value.adrelid) FROM pg_attribute attribute"
        " LEFT JOIN pg_attrdef value ON value.adrelid = attribute.attrelid AND value.adnum = attribute.attnum"
        " WHERE attribute.attrelid = %s::regclass AND attribute.attname = 'storage_id'",
        [f'"{table}"'],
    )
    if cursor.fetchall() != [(True, NORMAL_DEFAULT)]:
        yield f"{table}: storage_id must be NOT NULL with the default {NORMAL_DEFAULT}."


def _key_problems(cursor: Any, table: str) -> Iterator[str]:
    cursor.execute(
        "SELECT idx.indisprimary, array_agg(attribute.attname::text ORDER BY part.position)"
        " FROM pg_index idx CROSS JOIN LATERAL unnest(idx.indkey) WITH ORDINALITY AS part (attnum, position)"
        " LEFT JOIN pg_attribute attribute ON attribute.attrelid = idx.indrelid AND attribute.attnum = part.attnum"
        " WHERE idx.indrelid = %s::regclass AND idx.indisunique GROUP BY idx.indexrelid, idx.indisprimary",
        [f'"{table}"'],
    )
    keys = cursor.fetchall()
    if (True, ["storage_id", "id"]) not in keys:
        yield f"{table}: the primary key must be (storage_id, id)."
    for _, columns in keys:
        if columns[0] != "storage_id":
            yield f"{table}: the unique index over {', '.join(map(str, columns))} must begin with storage_id."


def _foreign_key_problems(cursor: Any, model: type[TenantModel]) -> Iterator[str]:
    table = model._meta.db_table
    cursor.execute(
        "SELECT confrelid::regclass::text, convalidated AND condeferred,"
        " (SELECT array_agg(attname::text ORDER BY p.n) FROM unnest(conkey) WITH ORDINALITY p (a, n)"
        "  JOIN pg_attribute ON attrelid = conrelid AND attnum = p.a),"
        " (SELECT array_agg(attname::text ORDER BY p.n) FROM unnest(confkey) WITH ORDINALITY p (a, n)"
        "  JOIN pg_attribute ON attrelid = confrelid AND attnum = p.a)"
        " FROM pg_constraint WHERE conrelid = %s::regclass AND contype = 'f'",
        [f'"{table}"'],
    )
    present = {
        (target.strip('"'), tuple(own), tuple(theirs)) for target, good, own, theirs in cursor.fetchall() if good
    }
    wanted: set[tuple[str, tuple[str, ...], tuple[str, ...]]] = set()
    if model.storage_through is None and not model.is_index:
        wanted.add(("storage_storage", ("storage_id",), ("id",)))
    cursor.execute("SELECT attname::text FROM pg_attribute WHERE attrelid = %s::regclass", [f'"{table}"'])
    columns = {name for (name,) in cursor.fetchall()}
    for field in tenant_foreign_keys(model):
        if field.column not in columns:
            # A pending migration adds the column together with its constraint.
            continue
        wanted.add((field.related_model._meta.db_table, ("storage_id", field.column), ("storage_id", "id")))
    for target, own, theirs in sorted(wanted - present):
        yield f"{table}: no foreign key ({', '.join(own)}) to {target} ({', '.join(theirs)})."
