"""Storages and tokens of tests have the rows that the service writes (D601)."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import Model

from repository_site.core.problems import Conflict
from storage.access.token_limits import TokenLimits
from storage.access.tokens import issue_token, recognise_token
from storage.models import ApiToken, Storage, StorageRevision
from storage.options import Role
from storage.provisioning.provision import StorageRequest, provision_storage
from storage.tenancy.scope import tenant_scope
from tests.factories import PLAIN_TEMPLATE, StorageFactory, storage_context, token_for

pytestmark = pytest.mark.django_db
FIELDS = {
    "template": str(PLAIN_TEMPLATE), "title": "It's a \"title\"", "anonymous": "read", "cultures": [1031, 1033],
    "default_culture": 1033, "mandatory_cultures": [1033], "quota_files": 7, "time_zone": "Europe/Berlin",
    "allowed_origins": ["https://app.example.org"], "description": "a\nb",
}  # fmt: skip


def values(row: Model, *without: str) -> dict[str, Any]:
    names = [field.attname for field in row._meta.concrete_fields]
    return {name: getattr(row, name) for name in names if name not in without}


def parts(storage: Storage) -> list[Any]:
    cultures = [values(each, "id", "storage_id") for each in storage.cultures.all()]
    return [values(storage, "id", "key", "created_on"), values(storage.collection), cultures]


@pytest.mark.parametrize("fields", [FIELDS, {"template": str(PLAIN_TEMPLATE), "title": ""}])
def test_a_storage_of_a_test_equals_a_provisioned_one(fields: dict[str, Any]) -> None:
    provisioned = provision_storage(StorageRequest(collection="acme", key="provisioned", **fields))
    for number in range(3):
        created = StorageFactory.create(collection="acme", key=f"created{number}", **fields)
        read = Storage.objects.get(pk=created.pk)
        assert parts(read) == parts(created) == parts(Storage.objects.get(pk=provisioned.pk))
        assert values(read) == values(created)
        assert StorageRevision.objects.filter(storage=created).count() == 1
        with tenant_scope(created):
            pass
        # It is saved as usual later on.
        created.title = "Other"
        created.save()
        assert Storage.objects.get(pk=created.pk).title == "Other"


def test_refusals_are_the_same() -> None:
    StorageFactory.create(collection="acme", key="handbook")
    with pytest.raises(Conflict, match="acme/HANDBOOK already exists"):
        StorageFactory.create(collection="acme", key="HANDBOOK")
    with pytest.raises(Conflict, match="collection acme already exists"):
        StorageFactory.create(collection="ACME", key="other")


@pytest.mark.parametrize("limits", [TokenLimits(), TokenLimits(networks=["10.0.0.0/8"], facets=[], is_read_only=True)])
def test_a_token_of_a_test_equals_an_issued_one(storage: Storage, limits: TokenLimits) -> None:
    context, roles = storage_context(storage), [Role.EDITOR, Role.APPROVER]
    issued = issue_token(context, "test", roles, never_expires=True, limits=limits)
    without = ("id", "digest", "valid_from", "created_on", "last_used_on")
    for _ in range(3):
        value = token_for(storage, *roles, limits=limits)
        written = ApiToken.objects.latest("created_on")
        assert values(written, *without) == values(issued.token, *without)
        assert written.last_used_on == written.created_on == written.valid_from
        assert recognise_token(value, context, "10.1.2.3").element_id == written.pk
    assert ApiToken.objects.filter(last_used_on=None).count() == 1


def test_a_token_can_be_unused(storage: Storage) -> None:
    token_for(storage, unused=True)
    assert ApiToken.objects.get().last_used_on is None
