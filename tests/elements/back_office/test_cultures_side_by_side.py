"""Changes of cultures wait for writers of content, and writers for them (D483). Each has its own connection."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from elements.cultures.changing import add_culture, remove_culture
from facets.configuration import configuration_of, forget_configurations, settled_configuration
from repository_site.core.problems import Conflict
from storage.models import Storage
from storage.options import Role
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.facets.small_template import SMALL
from tests.factories import StorageFactory, token_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long, pytest.mark.on_cluster]
FRENCH = 1036
PEOPLE = "/acme/busy/_api/rest/facets/people/views/all%20of%20it/elements"


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Storage]:
    file = tmp_path / "small.json"
    file.write_text(json.dumps(SMALL), encoding="utf-8")
    storage = StorageFactory.create(collection="acme", key="busy", template=str(file), anonymous="read")
    yield storage
    remove_storage(storage)


def beside(work: Any) -> threading.Thread:
    """Start a function as another process would run it."""

    def run() -> None:
        try:
            work(Storage.objects.get(collection__key="acme", key="busy"))
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_removal_waits_for_a_writer_that_knows_the_culture(busy: Storage) -> None:
    add_culture(busy, FRENCH)
    with tenant_scope(busy):
        assert FRENCH in settled_configuration(busy).cultures.data
        other = beside(lambda storage: remove_culture(storage, FRENCH))
        other.join(0.5)
        assert other.is_alive()
    other.join(20)
    assert not other.is_alive()
    with tenant_scope(busy):
        assert FRENCH not in settled_configuration(busy).cultures.data


def test_a_culture_that_is_used_meanwhile_is_not_removed(api: ApiClient, busy: Storage) -> None:
    """The removal has begun before a writer commits a value in the culture."""
    add_culture(busy, FRENCH)
    token, refused = token_for(busy, Role.ADMINISTRATOR), list[str]()

    def remove(storage: Storage) -> None:
        try:
            remove_culture(storage, FRENCH)
        except Conflict as problem:
            refused.append(problem.message)

    with tenant_scope(busy):
        settled_configuration(busy)
        other = beside(remove)
        other.join(0.5)
        body = {"elements": [{"type": "person", "attributes": {"name": {"1033": "Ann", str(FRENCH): "Anne"}}}]}
        response = api.post(PEOPLE, body, "application/json", token=token)
        assert response.status_code == 200, response.content
    other.join(20)
    assert refused == ["The culture 1036 is in use: versions with values: 1. Remove it with its values."]
    assert FRENCH in busy.culture_set().data


def test_every_process_learns_of_a_new_culture(api: ApiClient, busy: Storage) -> None:
    token = token_for(busy, Role.ADMINISTRATOR)
    assert api.get(PEOPLE, token=token).status_code == 200
    with tenant_scope(busy):
        before = configuration_of(busy)
    beside(lambda storage: add_culture(storage, FRENCH)).join()
    # As in another process, whose cache has the former configuration.
    forget_configurations()
    with tenant_scope(busy):
        assert before.revision != busy.configuration_revision
    response = api.get(f"{PEOPLE}?$culture={FRENCH}", token=token)
    assert response.status_code == 200, response.content
