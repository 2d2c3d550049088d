from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from pytest_django import Settings

from release.messages.periodic import tell
from storage.events.numbering import number_events
from storage.jobs import StorageJob
from storage.jobs.registry import declared_jobs
from storage.models import MessageLog, Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.jobs import waiting_jobs
from tests.mail_server import MailRoom, mail_server
from tests.release.house import ID, PEOPLE
from tests.release.task_pages import member

PUBLIC = "https://repository.example.org"


@pytest.fixture(scope="session")
def running_server() -> Iterator[Any]:
    with mail_server() as found:
        yield found


@pytest.fixture
def room(running_server: Any, settings: Settings) -> MailRoom:
    """Return the mails of a server that the installation uses."""
    settings.MAIL_SERVER, found = running_server
    found.__init__()
    room: MailRoom = found
    return room


@pytest.fixture
def deliver(house: Storage, settings: Settings, db: None) -> Callable[[], None]:
    """Do what the worker does, each waiting job once: its clock is not that of the test. The elements of the house are
    not new."""
    last = number_events(house)
    with tenant_scope(house):
        MessageLog.objects.create(position=last)

    def work() -> None:
        settings.PUBLIC_URL = PUBLIC
        tell(house)
        names = {name for name, _ in waiting_jobs()}
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM procrastinate_jobs")
        for name in sorted(names):
            found = declared_jobs()[name]
            assert isinstance(found, StorageJob)
            found(house)
        settings.PUBLIC_URL = ""

    return work


@pytest.fixture
def staff(house: Storage, db: None) -> Callable[..., Client]:
    """`staff("ben")` signs a user of the house in, with a mail address."""

    def sign_in(name: str, *roles: Role, **fields: Any) -> Client:
        given = {"username": name, "email": f"{name}@example.org", "last_name": name.capitalize(), **fields}
        return member(house, *(roles or PEOPLE[name]), user=name if name in ID else None, **given)

    return sign_in
