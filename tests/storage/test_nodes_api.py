"""The nodes of the database and whether they are available (D260)."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from repository_site.core.database.servers import ANSWER_SECONDS
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.factories import collection_token, site_token, token_for
from tests.patience import BUSY_SECONDS
from tests.server_process import free_port

pytestmark = [pytest.mark.django_db, pytest.mark.one_node("lists the nodes of one server")]
NODES = "/_sysadmin/_admin/_api/rest/maintain"


def own_port() -> int:
    return int(connection.settings_dict["PORT"])


def primary() -> dict[str, Any]:
    port = own_port()
    return {
        "name": f"localhost:{port}",
        "pool": "default",
        "role": "primary",
        "host": "localhost",
        "port": port,
        "isAvailable": True,
        "storages": Storage.objects.count(),
    }


@contextmanager
def one_more_server(port: int) -> Iterator[None]:
    """Add a server to the address of the database, as for a fail-over."""
    place = connection.settings_dict
    usual = {name: place[name] for name in ("HOST", "PORT")}
    place |= {"HOST": f"{usual['HOST']},127.0.0.1", "PORT": f"{usual['PORT']},{port}"}
    try:
        yield
    finally:
        place |= usual


def test_one_server_is_one_node(api: ApiClient, storage: Storage) -> None:
    token = site_token()
    response = api.get(NODES, token=token)
    assert response.json() == {"count": 1, "values": [primary()]}
    assert response["api-version"] == "1.0"
    assert Storage.objects.count() >= 2
    assert api.get(f"{NODES}/default", token=token).json() == response.json()
    for address in (NODES, f"{NODES}/default"):
        posted = api.post(address, b"", content_type="application/json", token=token)
        assert posted.json() == response.json()


def test_an_unknown_pool_is_not_found(api: ApiClient, storage: Storage) -> None:
    response = api.get(f"{NODES}/worker-1", token=site_token())
    message = "There is no pool 'worker-1'. Known pools: default."
    assert (response.status_code, response.json()["message"]) == (404, message)


def test_only_administrators_of_the_site_see_nodes(api: ApiClient, storage: Storage) -> None:
    in_collection = api.get(NODES.replace("_sysadmin", "acme"), token=collection_token(storage))
    assert (in_collection.status_code, in_collection.json()["message"]) == (404, "There is nothing at this address.")
    assert api.get(NODES).status_code == 401
    for token in (collection_token(storage), token_for(storage, Role.ADMINISTRATOR)):
        assert api.get(NODES, token=token).status_code == 401


def test_parameters_are_refused(api: ApiClient, storage: Storage) -> None:
    response = api.get(f"{NODES}?$filter=x", token=site_token())
    message = "Administrative contexts do not support $filter; leave it out."
    assert (response.status_code, response.json()["message"]) == (400, message)


def test_a_server_that_refuses_connections_is_not_available(api: ApiClient, storage: Storage) -> None:
    token, port = site_token(), free_port()
    with one_more_server(port):
        first, second = api.get(NODES, token=token).json()["values"]
    assert first == primary()
    problem = second.pop("problem")
    assert second == {
        **primary(),
        "name": f"127.0.0.1:{port}",
        "role": "unknown",
        "host": "127.0.0.1",
        "port": port,
        "isAvailable": False,
    }
    assert "Connection refused" in problem


@pytest.mark.long
def test_a_server_that_does_not_answer_takes_a_bounded_time(api: ApiClient, storage: Storage) -> None:
    token = site_token()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = time.monotonic()
        with one_more_server(silent.getsockname()[1]):
            first, second = api.get(NODES, token=token).json()["values"]
        assert time.monotonic() - begun < ANSWER_SECONDS + BUSY_SECONDS
    assert (first["isAvailable"], second["isAvailable"]) == (True, False)
    assert "timeout" in second["problem"]
