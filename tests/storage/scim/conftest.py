"""A directory of the collection `acme` that provisions people, with a rule for the group `editors`."""

from __future__ import annotations

import pytest

from storage.models import IdentityProvider, Storage
from tests.identity_provider import rule
from tests.storage.scim.directory import TestedDirectory, directory_of


@pytest.fixture
def provider(storage: Storage) -> IdentityProvider:
    made = IdentityProvider.objects.create(
        key="acme", name="Acme ID", collection=storage.collection, issuer="https://id.example", client_id="r",
        mail_domains=["example.org"],
    )  # fmt: skip
    rule(made, storage, "editor")
    return made


@pytest.fixture
def directory(provider: IdentityProvider) -> TestedDirectory:
    return directory_of(provider)
