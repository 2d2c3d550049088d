"""Calls of agents by token, day and tool (D596): counted, shown to administrators, bounded and forgotten."""

from __future__ import annotations

from datetime import timedelta
from unittest import mock

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from storage.access import agent_calls
from storage.access.agent_calls import CallLog, forget_old_calls, write_calls
from storage.models import AgentCalls, ApiToken, Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.release.agents.agent_client import AgentClient
from tests.release.house import ID
from tests.storage.office import member, site_administrator

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def log(monkeypatch: pytest.MonkeyPatch) -> CallLog:
    fresh = CallLog()
    monkeypatch.setattr(agent_calls, "_log", fresh)
    return fresh


@pytest.fixture
def agent(house: Storage, api: ApiClient) -> AgentClient:
    return AgentClient(house, api, Role.VIEWER)


def counted() -> dict[str, tuple[int, int]]:
    write_calls()
    return {each.tool: (each.calls, each.refused) for each in AgentCalls.objects.all()}


def test_each_tool_is_counted_for_its_token(agent: AgentClient, house: Storage, api: ApiClient) -> None:
    agent.send("tools/list")
    agent.call("read_element", id=ID["order"])
    agent.call("read_element", id=ID["order"])
    agent.refused("read_element", id=ID["inProcess"])
    agent.refused("create_version", id=ID["order"])
    agent.send("tools/call", {"name": "unknown", "arguments": {}})
    agent.send("resources/read", {"uri": f"repository://elements/{ID['order']}"})
    expected = {"create_version": (1, 1), "read_element": (3, 1), "resources/read": (1, 0)}
    assert counted() == expected
    agent.call("search", text="order")
    agent.call("read_element", id=ID["order"])
    assert counted() == {**expected, "read_element": (4, 1), "search": (1, 0)}
    assert counted() == {**expected, "read_element": (4, 1), "search": (1, 0)}
    other = AgentClient(house, api, Role.EDITOR)
    other.call("list_types")
    write_calls()
    assert AgentCalls.objects.values("token").distinct().count() == 2
    assert {each.day for each in AgentCalls.objects.all()} == {timezone.now().date()}


def test_counting_needs_no_statement_in_the_call(agent: AgentClient) -> None:
    agent.call("read_element", id=ID["order"])
    with CaptureQueriesContext(connection) as captured:
        agent.call("read_element", id=ID["order"])
    assert not any("agentcalls" in each["sql"] for each in captured.captured_queries)
    with CaptureQueriesContext(connection) as written:
        write_calls()
    assert len(written) == 1


def test_anonymous_and_unauthenticated_calls_have_no_token(agent: AgentClient, api: ApiClient, house: Storage) -> None:
    Storage.objects.filter(pk=house.pk).update(anonymous_access="read")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_types", "arguments": {}}}
    for token in (None, "crt_unknown"):
        api.post("/acme/house/_api/mcp", body, content_type="application/json", token=token)
    assert counted() == {}


def test_the_log_survives_a_lost_database_and_a_deleted_token(agent: AgentClient, log: CallLog) -> None:
    agent.call("list_types")
    with mock.patch.object(connection, "cursor", side_effect=OperationalError("gone")):
        write_calls()
    agent.call("list_types")
    assert counted() == {"list_types": (2, 0)}
    agent.call("list_types")
    ApiToken.objects.all().delete()
    assert counted() == {}
    assert log.take() == {}


def test_the_log_is_bounded_and_forgotten(agent: AgentClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_calls, "MAX_WAITING", 1)
    agent.call("list_types")
    agent.call("read_element", id=ID["order"])
    agent.call("list_types")
    assert counted() == {"list_types": (2, 0)}
    day = timezone.now().date()
    AgentCalls.objects.update(day=day - timedelta(days=agent_calls.KEPT_DAYS))
    forget_old_calls()
    assert AgentCalls.objects.count() == 1
    AgentCalls.objects.update(day=day - timedelta(days=agent_calls.KEPT_DAYS + 1))
    forget_old_calls()
    assert not AgentCalls.objects.exists()


def test_administrators_see_the_calls_of_a_token(agent: AgentClient, house: Storage) -> None:
    agent.call("search", text="order")
    agent.call("read_element", id=ID["order"])
    agent.refused("read_element", id=ID["inProcess"])
    write_calls()
    token = AgentCalls.objects.all()[0].token_id
    for client, address in (
        (member(house, Role.ADMINISTRATOR), f"/acme/house/admin/storage/apitoken/{token}/change/"),
        (site_administrator(), f"/admin/storage/apitoken/{token}/change/"),
    ):
        assert isinstance(client, Client)
        page = client.get(address).content.decode()
        assert "read_element 2 (1 refused), search 1, " in page


@pytest.mark.one_node("on a cluster every request reads its context")
def test_an_agent_of_a_storage_that_has_moved_gets_404(agent: AgentClient, house: Storage) -> None:
    """The context is recalled from the last message and not confirmed (D589)."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_types", "arguments": {}}}
    for _ in range(3):
        assert agent.post(body).status_code == 200
    Storage.objects.filter(pk=house.pk).update(key="elsewhere")
    response = agent.post(body)
    assert (response.status_code, response.json()["message"]) == (404, "There is no storage acme/house.")
