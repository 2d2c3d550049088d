"""Factories of test data. Storages are provisioned, as everywhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.contrib.auth.hashers import make_password
from factory.base import Factory
from factory.declarations import LazyFunction, Sequence
from factory.django import DjangoModelFactory

from storage.access.tokens import issue_token
from storage.models import StaffAccount, Storage
from storage.options import Role
from storage.provisioning.provision import StorageRequest, provision_storage
from storage.tenancy.contexts import Context, ContextType
from tests.written_configurations import written_once

# Most tests need no types; the standard template in each would make the suite several times as long.
PLAIN_TEMPLATE = Path(__file__).with_name("plain_template.json")


class StorageFactory(Factory[Storage]):
    """`StorageFactory(key="handbook", anonymous="read")` takes the fields of a StorageRequest."""

    class Meta:
        model = Storage

    collection = "acme"
    key = Sequence(lambda number: f"storage{number}")
    template = str(PLAIN_TEMPLATE)

    @classmethod
    def _create(cls, model_class: type[Storage], *args: Any, **fields: Any) -> Storage:
        with written_once():
            return provision_storage(StorageRequest(**fields))


class StaffAccountFactory(DjangoModelFactory[StaffAccount]):
    class Meta:
        model = StaffAccount

    username = Sequence(lambda number: f"staff{number}")
    password = LazyFunction(lambda: make_password("a good password"))
    is_staff = True


def storage_context(storage: Storage) -> Context:
    return Context(ContextType.STORAGE, storage.collection, storage)


def token_for(storage: Storage, *roles: Role, **options: Any) -> str:
    """Return a new token. It never expires unless asked for, because some tests change the clock."""
    options.setdefault("never_expires", "valid_until" not in options)
    return issue_token(storage_context(storage), "test", roles or [Role.VIEWER], **options).value


def collection_token(storage: Storage) -> str:
    context = Context(ContextType.COLLECTION, storage.collection)
    return issue_token(context, "collection", [Role.ADMINISTRATOR]).value


def site_token() -> str:
    return issue_token(Context(ContextType.SITE), "site", [Role.ADMINISTRATOR]).value
