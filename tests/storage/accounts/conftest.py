"""A mail server that takes the mails about accounts, and the people who get them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from storage.models import IdentityProvider, StaffAccount, Storage, StorageMembership
from tests.identity_provider import TestedProvider, configured, rule, running_provider
from tests.jobs import run_jobs
from tests.mail_server import MailRoom, mail_server, seen
from tests.storage.office import signed_in

PUBLIC = "https://repository.example.org"
PASSWORD = "a rather long password"


@pytest.fixture(scope="session")
def running_server() -> Iterator[Any]:
    with mail_server() as found:
        yield found


@pytest.fixture
def room(running_server: Any, settings: Settings) -> MailRoom:
    """Return the mails of a server that the installation uses."""
    settings.MAIL_SERVER, found = running_server
    settings.PUBLIC_URL = PUBLIC
    settings.ALLOWED_HOSTS = ["testserver", "repository.example.org"]
    found.__init__()
    room: MailRoom = found
    return room


@pytest.fixture
def alex(storage: Storage) -> StaffAccount:
    """An administrator of the storage."""
    account = StaffAccount.objects.create_user(
        "alex", "alex@example.org", PASSWORD, is_staff=True, first_name="Alex", last_name="Doe"
    )
    StorageMembership.objects.create(account=account, storage=storage, roles=["administrator"])
    return account


@pytest.fixture
def there(settings: Settings) -> Iterator[TestedProvider]:
    settings.WEBHOOK_NETWORKS = (ip_network("127.0.0.0/8"),)
    with running_provider() as provider:
        yield provider


@pytest.fixture
def here(there: TestedProvider, storage: Storage) -> IdentityProvider:
    provider = configured(there.issuer, collection=storage.collection)
    rule(provider, storage, "editor")
    return provider


@pytest.fixture
def office(alex: StaffAccount) -> Client:
    return signed_in(alex)


def mailed(room: MailRoom) -> tuple[str, str, str]:
    """Run the jobs, and return the address, the text and the path of the link of the only mail."""
    run_jobs()
    [(address, message)] = room.empty()
    text = str(seen(message)["text"])
    [link] = re.findall(r"https://\S+", text)
    assert link in seen(message)["html"]
    return address, text.replace(link, "LINK"), str(link).removeprefix(PUBLIC)


def roles_of(name: str) -> dict[str, list[str]]:
    found = StorageMembership.objects.filter(account__username=name).select_related("storage__collection")
    return {str(each.storage): each.roles for each in found}
