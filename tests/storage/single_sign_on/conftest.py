"""A provider of the collection `acme` that can be reached, and the storage in which its rules grant roles."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

import pytest

from storage.models import IdentityProvider, Storage
from tests.identity_provider import TestedProvider, configured, rule, running_provider


@pytest.fixture
def there(settings: Any) -> Iterator[TestedProvider]:
    settings.WEBHOOK_NETWORKS = (ip_network("127.0.0.0/8"),)
    with running_provider() as provider:
        yield provider


@pytest.fixture
def here(there: TestedProvider, storage: Storage) -> IdentityProvider:
    provider = configured(there.issuer, collection=storage.collection)
    rule(provider, storage, "editor")
    return provider
