"""scim2-tester, a client that checks a service against the specification, with random people and groups."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from scim2_client.engines.wsgi import WSGISCIMClient
from scim2_tester import Status, check_server

from tests.storage.scim.directory import TestedDirectory

pytestmark = [pytest.mark.django_db, pytest.mark.long]


@pytest.fixture
def connection_stays() -> Iterator[None]:
    """Keep the connection of the test, as the test client of Django does."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.usefixtures("connection_stays")
def test_scim2_tester_passes(directory: TestedDirectory) -> None:
    client = WSGISCIMClient(
        WSGIHandler(),
        base_url=f"http://testserver{directory.base}",
        headers={"Authorization": f"Bearer {directory.token}"},
    )
    results = check_server(client)
    failed = [
        f"{each.title} {each.resource_type}: {each.reason}"
        for each in results
        if each.status not in (Status.SUCCESS, Status.SKIPPED)
    ]
    assert "\n".join(failed) == ""
    assert len([each for each in results if each.status is Status.SUCCESS]) > 90
