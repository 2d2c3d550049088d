"""Factories of test data. Storages are provisioned, as everywhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.utils import timezone
from factory.base import Factory
from factory.declarations import LazyFunction, Sequence
from factory.django import DjangoModelFactory

from storage.access.tokens import issue_token, mirror, new_value, token_digest
from storage.models import ApiToken, StaffAccount, Storage
from storage.options import Role
from storage.provisioning.provision import StorageRequest, provision_storage
from storage.tenancy.contexts import Context, ContextType
from tests.written_configurations import written_once

# Most tests need no types; the standard template in each would make the suite several times as long.
PLAIN_TEMPLATE = Path(__file__).with_name("plain_template.json")
READING = {Role.VIEWER, Role.ANALYZER}


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


def token_for(storage: Storage, *roles: Role, user_id: Any = None) -> str:
    """Return a new token that never expires, because some tests change the clock.

    It is written as if it had been used before, and without an event: most tests have several tokens, and issuing one
    and noting its first use takes as long as two requests.
    """
    granted, value, now = roles or (Role.VIEWER,), new_value(), timezone.now()
    token = ApiToken(
        digest=token_digest(value, settings.SECRET_KEY),
        name="test",
        storage=storage,
        roles=[role for role in Role if role in granted],
        user_id=user_id,
        valid_from=now,
        created_on=now,
        last_used_on=now,
    )
    token.save(force_insert=True)
    if user_id is None and not READING.issuperset(granted):
        # What the token changes names it as the author.
        mirror(token)
    return value


def issued_token(storage: Storage, *roles: Role, **options: Any) -> str:
    """Issue a token as everywhere else, for tests of tokens and of their limits; without an end unless asked for."""
    options.setdefault("never_expires", "valid_until" not in options)
    return issue_token(storage_context(storage), "test", roles or [Role.VIEWER], **options).value


def collection_token(storage: Storage) -> str:
    context = Context(ContextType.COLLECTION, storage.collection)
    return issue_token(context, "collection", [Role.ADMINISTRATOR]).value


def site_token() -> str:
    return issue_token(Context(ContextType.SITE), "site", [Role.ADMINISTRATOR]).value
