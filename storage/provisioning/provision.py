"""Provision and remove storages; commands and the back office call the same functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils.translation import gettext as _

from repository_site.core.database.statements import set_for_transaction
from repository_site.core.problems import Conflict, Invalid, placed
from storage.extension import storage_extensions
from storage.files.contents import remove_contents
from storage.jobs.enqueueing import delete_jobs_of
from storage.localisation.cultures import CultureProblem, CultureSet, culture_set
from storage.localisation.regions import region_info
from storage.models import AnonymousAccess, Culture, Storage, StorageCollection
from storage.options import EVENT_DAYS, PAST_DAYS, QUOTAS, STUCK_AFTER_DAYS
from storage.provisioning.setting_checks import setting_problem
from storage.provisioning.sizes import measure_storage
from storage.provisioning.templates import TemplateDocument, load_template
from storage.quotas import hold_growth, quota_of
from storage.tenancy.addresses import key_problem
from storage.tenancy.migration_operations import REMOVAL_PARAMETER
from storage.tenancy.scope import ModelProgress, owners_first, tenant_models, tenant_scope


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageRequest:
    """Settings of a new storage; None means the default of the template or of the installation."""

    collection: str
    key: str
    title: str | None = None
    description: str = ""
    template: str | TemplateDocument = "standard"
    """Name, path or content of the template."""
    cultures: Sequence[int] | None = None
    default_culture: int | None = None
    mandatory_cultures: Sequence[int] | None = None
    region: str | None = None
    time_zone: str | None = None
    anonymous: str = AnonymousAccess.NONE
    base: UUID | None = None
    stuck_after_days: int = STUCK_AFTER_DAYS
    event_days: int = EVENT_DAYS
    past_days: int = PAST_DAYS
    allowed_origins: Sequence[str] = ()
    quota_elements: int | None = None
    quota_bytes: int | None = None
    quota_files: int | None = None
    quota_history: int | None = None


@transaction.atomic
def provision_storage(request: StorageRequest, known: Sequence[str] = ()) -> Storage:
    """Create a storage, and its collection if that does not exist; report all problems at once.

    Each problem starts with its place, such as "cultures: ...". The input can have `known` problems already.
    """
    template = load_template(request.template) if isinstance(request.template, str) else request.template
    keys = {"collection": request.collection, "storage": request.key}
    found = [f"{place}: {problem}" for place, key in keys.items() if (problem := key_problem(key, place))]
    problems = [*known, *found]
    cultures = _cultures(request, template, problems)
    given = {
        "region": request.region or settings.DEFAULT_REGION,
        "time_zone": request.time_zone or settings.DEFAULT_TIME_ZONE,
        "title": request.key if request.title is None else request.title,
        "anonymous_access": request.anonymous,
        "stuck_after_days": request.stuck_after_days,
        "event_days": request.event_days,
        "past_days": request.past_days,
        "allowed_origins": "\n".join(request.allowed_origins),
        **{f"quota_{name}": getattr(request, f"quota_{name}") for name in QUOTAS},
    }
    problems += [problem for name, value in given.items() if (problem := setting_problem(name, value))]
    if request.base is not None and not Storage.objects.filter(id=request.base).exists():
        problems.append(placed("base", _("no storage has the id %(id)s") % {"id": request.base}))
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
    if quota_of(storage) is not None:
        measure_storage(storage)
    return storage


@transaction.atomic
def set_quota(storage: Storage, most: Mapping[str, int | None]) -> None:
    """Change quotas by name, such as elements; None removes one. The storage is measured, so that its use is known."""
    fields = {f"quota_{name}": value for name, value in most.items()}
    if problems := [problem for name, value in fields.items() if (problem := setting_problem(name, value))]:
        raise Invalid(_("The quota cannot be changed."), problems)
    # In the order of a measurement, which takes this lock before it locks the storage.
    hold_growth(storage)
    for name, value in fields.items():
        setattr(storage, name, value)
    storage.save(update_fields=list(fields))
    if quota_of(storage) is not None:
        measure_storage(storage)


def set_storage_quota(collection: StorageCollection, most: int | None) -> None:
    """Change the number of storages that the API provisions (D595); None means that of the installation."""
    if problem := setting_problem("quota_storages", most):
        raise Invalid(_("The quota cannot be changed."), [problem])
    collection.quota_storages = most
    collection.save(update_fields=["quota_storages"])


def set_event_days(storage: Storage, days: int) -> None:
    """Change for how many days a storage keeps its events (D332)."""
    if problem := setting_problem("event_days", days):
        raise Invalid(_("The storage cannot be changed."), [problem])
    storage.event_days = days
    storage.save(update_fields=["event_days"])


def set_past_days(storage: Storage, days: int) -> None:
    """Change for how many days a storage keeps its past rows (D602)."""
    if problem := setting_problem("past_days", days):
        raise Invalid(_("The storage cannot be changed."), [problem])
    storage.past_days = days
    storage.save(update_fields=["past_days"])


def set_origins(storage: Storage, origins: Sequence[str]) -> None:
    """Change the origins whose web pages may call the API of a storage (D576)."""
    text = "\n".join(origins)
    if problem := setting_problem("allowed_origins", text):
        raise Invalid(_("The storage cannot be changed."), [problem])
    storage.allowed_origins = text
    storage.save(update_fields=["allowed_origins"])


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
    with tenant_scope(storage):
        return {model._meta.db_table: model._default_manager.count() for model in tenant_models()}


@transaction.atomic
def remove_storage(storage: Storage, progress: ModelProgress = iter) -> None:
    """Delete a storage, and its collection if that becomes empty."""
    # Inserts wait for this lock and then find no storage.
    Storage.objects.select_for_update().get(pk=storage.pk)
    derived = storage.derived.count()
    if derived:
        raise Conflict(f"{storage} is the base of {derived} other storage(s). Remove those first.")
    with tenant_scope(storage), connection.cursor() as cursor:
        # A session keeps the plans of its foreign key checks; one made while a table was small would read the whole
        # table for each deleted row.
        cursor.execute("DISCARD PLANS")
        set_for_transaction(REMOVAL_PARAMETER, str(storage.id))
        # Row-level security limits each statement to this storage. Foreign keys between tenant tables are deferred, so
        # the order matters only for concurrent inserts of parts (references, shapes): they wait for the deletion of
        # their owner and then fail, or they committed before and are deleted after it.
        for model in progress(owners_first(tenant_models())):
            cursor.execute(f'DELETE FROM "{model._meta.db_table}"')  # noqa: S608  a model's table
    delete_jobs_of(storage.pk)
    transaction.on_commit(partial(remove_contents, storage.pk))
    collection = storage.collection
    storage.delete()
    if is_unused(collection):
        collection.delete()


def is_unused(collection: StorageCollection) -> bool:
    """Tell whether nothing belongs to a collection: no storage, no token, no identity provider."""
    return not any(owned.exists() for owned in (collection.storages, collection.tokens, collection.identity_providers))


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
    # Two requests may create the same collection; the database lets one win, and the other uses its row.
    StorageCollection.objects.bulk_create([StorageCollection(key=key, title=key)], ignore_conflicts=True)
    collection = StorageCollection.objects.get(key__iexact=key)
    if collection.key != key:
        text = _("The collection %(key)s already exists; ids must differ in more than case.")
        raise Conflict(text % {"key": collection.key})
    return collection


def _insert(storage: Storage) -> None:
    try:
        with transaction.atomic():
            storage.save(force_insert=True)
    except IntegrityError:
        text = _("The storage %(storage)s already exists; ids are case-insensitive.")
        raise Conflict(text % {"storage": storage}) from None
