"""Making and removing storages: one function a change, called alike by commands and back office."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils.translation import gettext as _

from repository_site.core.problems import Conflict, Invalid, placed
from storage.extension import storage_extensions
from storage.localisation.cultures import CultureProblem, CultureSet, culture_set
from storage.localisation.regions import region_info
from storage.models import AnonymousAccess, Culture, Storage, StorageCollection
from storage.models.storages import STUCK_AFTER_DAYS
from storage.provisioning.setting_checks import setting_problem
from storage.provisioning.templates import TemplateDocument, load_template
from storage.tenancy.addresses import key_problem
from storage.tenancy.migration_operations import REMOVAL_PARAMETER
from storage.tenancy.scope import owners_first, tenant_models, tenant_scope


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageRequest:
    """A storage as somebody asks for it; None means the template's or the installation's default."""

    collection: str
    key: str
    title: str | None = None
    description: str = ""
    template: str | TemplateDocument = "standard"
    """Its name, its path, or itself."""
    cultures: Sequence[int] | None = None
    default_culture: int | None = None
    mandatory_cultures: Sequence[int] | None = None
    region: str | None = None
    time_zone: str | None = None
    anonymous: str = AnonymousAccess.NONE
    base: UUID | None = None
    stuck_after_days: int = STUCK_AFTER_DAYS


@transaction.atomic
def provision_storage(request: StorageRequest) -> Storage:
    """A new storage, and its collection when that is new; all problems are reported at once, nothing half made.

    The text of each problem begins with what it is about.
    """
    template = load_template(request.template) if isinstance(request.template, str) else request.template
    keys = {"collection": request.collection, "storage": request.key}
    problems = [f"{place}: {problem}" for place, key in keys.items() if (problem := key_problem(key))]
    cultures = _cultures(request, template, problems)
    given = {
        "region": request.region or settings.DEFAULT_REGION,
        "time_zone": request.time_zone or settings.DEFAULT_TIME_ZONE,
        "title": request.key if request.title is None else request.title,
        "anonymous_access": request.anonymous,
        "stuck_after_days": request.stuck_after_days,
    }
    problems += [problem for name, value in given.items() if (problem := setting_problem(name, value))]
    if request.base is not None and not Storage.objects.filter(id=request.base).exists():
        problems.append(placed("base", _("there is no storage %(id)s") % {"id": request.base}))
    if problems or cultures is None:
        raise Invalid(_("The storage cannot be provisioned."), problems)
    collection = find_or_make_collection(request.collection)
    storage = Storage(
        collection=collection,
        key=request.key,
        base_id=request.base,
        description=request.description,
        template=template.name,
        **{**given, "region": region_info(str(given["region"]))["name"]},
    )
    _insert(storage)
    _write_cultures(storage, cultures)
    with tenant_scope(storage):
        for extension in storage_extensions:
            if extension.provision:
                extension.provision(storage, template.sections)
    return storage


def _write_cultures(storage: Storage, cultures: CultureSet) -> None:
    Culture.objects.bulk_create(
        Culture(
            storage=storage,
            lcid=lcid,
            position=position,
            is_default=lcid == cultures.default,
            is_mandatory=lcid in cultures.mandatory,
        )
        for position, lcid in enumerate(cultures.data)
    )


def tenant_row_counts(storage: Storage) -> dict[str, int]:
    """How many rows of each tenant table a storage holds."""
    with tenant_scope(storage):
        return {model._meta.db_table: model._default_manager.count() for model in tenant_models()}


@transaction.atomic
def remove_storage(storage: Storage) -> dict[str, int]:
    """Delete a storage with all it holds, and its collection when that is empty then; answers rows by table."""
    # Nobody writes into a storage that is about to go: inserts wait for this lock and then find no storage.
    Storage.objects.select_for_update().get(pk=storage.pk)
    derived = storage.derived.count()
    if derived:
        raise Conflict(f"{storage} is the base of {derived} other storage(s); remove those first.")
    deleted: dict[str, int] = {}
    with tenant_scope(storage), connection.cursor() as cursor:
        # The plans by which foreign keys are checked are kept a session; one made while a table was small reads all of
        # it for each row that goes.
        cursor.execute("DISCARD PLANS")
        cursor.execute("SELECT set_config(%s, %s, true)", [REMOVAL_PARAMETER, str(storage.id)])
        # Row-level security keeps each statement inside this storage. Foreign keys between tenant tables are deferred,
        # so their order does not matter, with one exception: somebody may be adding parts (references, shapes) to an
        # owner just now. Those wait for the owner and then find none, or they were there first and go after it.
        for model in owners_first(tenant_models()):
            cursor.execute(f'DELETE FROM "{model._meta.db_table}"')  # noqa: S608  a model's table
            deleted[model._meta.db_table] = cursor.rowcount
    collection = storage.collection
    storage.delete()
    if not collection.storages.exists() and not collection.tokens.exists():
        collection.delete()
    return deleted


def _cultures(request: StorageRequest, template: TemplateDocument, problems: list[str]) -> CultureSet | None:
    data = template.cultures.data if request.cultures is None else request.cultures
    kept = request.cultures is None
    default = request.default_culture
    if default is None and kept:
        default = template.cultures.default
    mandatory = request.mandatory_cultures
    if mandatory is None and kept and request.default_culture is None:
        mandatory = template.cultures.mandatory
    try:
        return culture_set(data, default, mandatory)
    except CultureProblem as problem:
        problems.append(f"cultures: {problem}")
        return None


def find_or_make_collection(key: str) -> StorageCollection:
    # Somebody may be making the same collection just now; the database lets one win, the other takes what is there.
    StorageCollection.objects.bulk_create([StorageCollection(key=key, title=key)], ignore_conflicts=True)
    collection = StorageCollection.objects.get(key__iexact=key)
    if collection.key != key:
        text = _("There is a collection %(key)s already; ids may not differ in letter case alone.")
        raise Conflict(text % {"key": collection.key})
    return collection


def _insert(storage: Storage) -> None:
    try:
        with transaction.atomic():
            storage.save(force_insert=True)
    except IntegrityError:
        text = _("There is a storage %(storage)s already (ids are compared ignoring letter case).")
        raise Conflict(text % {"storage": storage}) from None
