"""Nodes of a cluster that do not answer: their storages are refused, others are not (D309)."""

from __future__ import annotations

import json
import threading
from queue import SimpleQueue

import psycopg
import pytest
from django.db import OperationalError

from repository_site.core.database.base import DatabaseWrapper
from storage.models import Storage
from storage.tenancy import scope, silent_nodes
from storage.tenancy.silent_nodes import MARGIN, SUSPICION, SilentNodes
from tests.api_client import ApiClient
from tests.faults.installation import wait_for

MINE, OTHER = "f94db6d9-6ef8-435a-a3c8-b1b6e550d5bc", "2f1e4a52-9a58-4a9c-8a0e-6a3a0f0b8c11"


Answers = SimpleQueue[frozenset[str] | Exception]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """The answers of the nodes, one after the other. A question waits for its answer."""
    found: Answers = SimpleQueue()

    def find() -> frozenset[str]:
        answer = found.get(timeout=60)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(silent_nodes, "_find", find)
    monkeypatch.setattr(silent_nodes, "PAUSE", 0.02)
    return found


def test_nodes_are_asked_once_a_statement_waits_and_until_all_answer(answers: Answers) -> None:
    nodes = SilentNodes()
    nodes.listener(MINE, None)(SUSPICION)
    assert nodes._thread is None
    nodes.listener(OTHER, None)(SUSPICION + 0.1)
    for _ in range(2):
        answers.put(frozenset({MINE}))
    wait_for(lambda: MINE in nodes.storages, 20, "not found")
    with pytest.raises(psycopg.OperationalError, match="does not answer"):
        nodes.listener(MINE, None)(0.1)
    with pytest.raises(OperationalError, match="does not answer"):
        nodes.refuse(MINE)
    nodes.refuse(OTHER)
    nodes.listener(OTHER, None)(1000)
    answers.put(frozenset())
    wait_for(lambda: not nodes.storages, 20, "never answers again")
    assert answers.empty()
    nodes.refuse(MINE)


def test_a_statement_ends_soon_after_its_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silent_nodes, "_find", frozenset)
    listener = SilentNodes().listener(MINE, 3)
    listener(3 + MARGIN)
    with pytest.raises(psycopg.OperationalError, match="does not answer"):
        listener(3 + MARGIN + 0.1)


def test_statements_outside_a_storage_may_need_every_node(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    nodes = SilentNodes()
    monkeypatch.setattr(nodes, "_ask", lambda: asked.append(True))
    nodes.hear_nothing_anywhere(SUSPICION)
    assert asked == []
    nodes.hear_nothing_anywhere(SUSPICION + 0.1)
    assert asked == [True]
    nodes.storages = frozenset({MINE})
    nodes.hear_nothing_anywhere(SUSPICION)
    with pytest.raises(psycopg.OperationalError, match="a node of the database does not answer"):
        nodes.hear_nothing_anywhere(SUSPICION + 0.1)


@pytest.mark.django_db
def test_nodes_that_cannot_be_asked_are_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the coordinator nothing is known, and every statement fails by itself."""

    def refuse(**parameters: object) -> None:
        raise psycopg.OperationalError("connection refused")

    monkeypatch.setattr(psycopg.Connection, "connect", refuse)
    assert silent_nodes._find() == frozenset()


@pytest.mark.django_db
def test_a_coordinator_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silent_nodes, "LONGEST_QUESTION", 0.2)
    monkeypatch.setattr(silent_nodes, "silent_storages", lambda server: server.execute("SELECT pg_sleep(60)"))
    assert silent_nodes._find() == frozenset()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_storages_are_served_again_if_nobody_asks_for_them(answers: Answers) -> None:
    """Refused requests never wait for a node, so they would not start another thread."""
    nodes = SilentNodes()
    answers.put(frozenset({MINE}))
    nodes.listener(OTHER, None)(SUSPICION + 0.1)
    wait_for(lambda: MINE in nodes.storages, 20, "not found")
    answers.put(LookupError("an error that nobody expects"))
    wait_for(lambda: not nodes.storages, 20, "refused forever")
    # pytest reports the error when the thread has ended.
    wait_for(lambda: not any("_watch" in each.name for each in threading.enumerate()), 20, "does not end")


@pytest.mark.django_db(transaction=True)
def test_requests_to_a_silent_node_are_refused_at_once(
    api: ApiClient, open_storage: Storage, other_storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DatabaseWrapper, "is_distributed", True)
    monkeypatch.setattr(silent_nodes.silent_nodes, "storages", frozenset({str(open_storage.id)}))
    response = api.get(f"/{open_storage.collection.key}/{open_storage.key}/_api/rest/info")
    assert (response.status_code, response["Retry-After"]) == (503, "2")
    body = json.loads(response.content)
    assert body["message"].startswith("The service cannot reach its database; try again in a few seconds.")
    with scope.tenant_scope(other_storage):
        pass
