"""Tools that change content (D587): only for tokens that name them, with the rules and the history of the API."""

from __future__ import annotations

import pytest

from elements.models import ElementChange
from storage.models import ApiToken, Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.release.agents.agent_client import MESSAGE, AgentClient
from tests.release.house import ID, HouseClient

pytestmark = pytest.mark.django_db
READING = [
    "search",
    "read_element",
    "compare_versions",
    "follow_references",
    "list_types",
    "list_transitions",
    "list_my_tasks",
]
CHANGES = ["updateElements", "createVersion", "applyTransition"]
EVERYTHING = ["getElement", "listTransitions", *CHANGES]


@pytest.fixture
def agent(house: Storage, api: ApiClient) -> AgentClient:
    return AgentClient(house, api, Role.ARCHITECT, operations=EVERYTHING)


def only_reads(tool: str, operation: str) -> str:
    return (
        f"Agents only read with this token. To let an agent use the tool {tool}, an administrator issues a token whose"
        f" operations include {MESSAGE} and {operation}."
    )


def test_tokens_read_unless_they_name_changes(api: ApiClient, house: Storage, agent: AgentClient) -> None:
    changing = ["create_draft", "update_draft", "create_version", "apply_transition"]
    assert agent.tools() == ["read_element", "list_transitions", *changing]
    everything = AgentClient(house, api, Role.ADMINISTRATOR)
    assert everything.tools() == READING
    assert everything.refused("update_draft", id=ID["inProcess"]) == only_reads("update_draft", "updateElements")
    reading = AgentClient(house, api, Role.ARCHITECT, operations=EVERYTHING, is_read_only=True)
    assert reading.tools() == ["read_element", "list_transitions"]
    assert reading.refused("update_draft", id=ID["inProcess"]) == "The token can only read."
    viewer = AgentClient(house, api, Role.VIEWER, operations=EVERYTHING)
    assert viewer.tools() == ["read_element", "list_transitions"]
    assert viewer.refused("create_draft", type="system", attributes={}) == (
        "The tool create_draft requires the role Editor or a higher one."
    )
    # A token that does not name messages has no agent at all.
    other = AgentClient(house, api, Role.ARCHITECT)
    assert other.tools() == READING
    ApiToken.objects.filter(operations=[]).update(operations=["searchElements"])
    assert other.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).status_code == 403


@pytest.mark.usefixtures("rival")
def test_a_draft_from_its_creation_to_its_release(api: ApiClient, house: Storage, agent: AgentClient) -> None:
    parts = {"attributes": {"name": "Teile prüfen", "processMaturity": "defined"}, "related": {"systems": [ID["erp"]]}}
    made = agent.call("create_draft", type="subProcess", parent=ID["house"], culture=1031, **parts).splitlines()
    assert made[0].startswith("Saved: Teilprozess (subProcess) id=")
    assert made[1].startswith("Version 0.1, state In Bearbeitung (inProcess), versionId=")
    id, tag = made[0].partition("id=")[2], made[2].removeprefix("entityTag=")
    named = agent.call("update_draft", id=id, attributes={"name": "Check parts"}, entityTag=tag).splitlines()
    assert agent.refused("update_draft", id=id, attributes={"name": "Late"}, entityTag=tag) == (
        "The element has changed since it was read; read it again."
    )
    shown = agent.call("read_element", id=id).splitlines()
    assert (shown[0], named[2] in shown) == ("# Check parts", True)
    assert f"Systems (systems): ERP [System, Released] id={ID['erp']}" in shown
    assert "Maturity (processMaturity): Defined" in shown
    with tenant_scope(house):
        changes = [
            *ElementChange.objects.filter(element_id=id)
            .order_by("changed_on")
            .values_list("action", "caller_label", "request_id")
        ]
    token = ApiToken.objects.get(operations=sorted([MESSAGE, *EVERYTHING]))
    assert [(action, caller) for action, caller, _ in changes] == [
        ("created", f"token:{token.id}"),
        ("updated", f"token:{token.id}"),
    ]
    assert all(request for _, _, request in changes)
    confirm = "confirm: a transition changes what others see or have to do. Ask the user, then call again with true."
    step = {"id": id, "transition": "InProcessToReleased"}
    assert agent.refused("apply_transition", **step) == confirm
    assert agent.refused("apply_transition", **step, confirm=False) == confirm
    warned = agent.refused("apply_transition", **step, confirm=True)
    assert 'To apply the transition anyway, call again with "ignoreWarnings": true.' in warned
    done = agent.call("apply_transition", **step, confirm=True, ignoreWarnings=True)
    assert "Version 1.0, state Released (released)" in done
    caller = HouseClient(house, api, Role.ARCHITECT)
    assert caller.steps(id)[-1]["caller"] == f"token:{token.id}"


def test_problems_of_the_api_are_tool_errors(house: Storage, agent: AgentClient) -> None:
    """The texts are those of the API, and nothing is changed."""
    assert agent.refused("update_draft", id=ID["released"], attributes={"name": "New"}, confirm=True).endswith(
        "create a new version."
    )
    place = f"element {ID['inProcess-1']}"
    assert agent.refused("update_draft", id=ID["inProcess"], related={"systems": ["x"]}) == (
        f"{place}: systems[0]: id: 'x' is not a GUID."
    )
    wrong = {"attributes": {"nam": "x", "validFrom": "x"}}
    first, *problems = agent.refused("update_draft", id=ID["inProcess"], **wrong).splitlines()
    assert (first, len(problems)) == ("The request has 2 problems; nothing was changed.", 2)
    assert problems[0].startswith(f"- {place}: nam: ")
    assert agent.refused("update_draft", id=ID["inProcess"], related={"systems": "x"}) == (
        "related: systems: expected a list of ids."
    )
    assert agent.refused("create_draft", type="systm", attributes={}) == "There is no type systm; similar: system."
    assert agent.refused("apply_transition", id=ID["inProcess"], transition="x", confirm=True).startswith(
        "There is no transition 'x'"
    )
    assert agent.refused("create_version", id=ID["inProcess"])
    assert "name: inProcess" not in agent.call("read_element", id=ID["inProcess"])


def test_changes_without_a_draft_need_the_user(house: Storage, agent: AgentClient) -> None:
    text = (
        "confirm: this element has no draft, so readers see the change at once. Ask the user, then call again with"
        " true."
    )
    assert agent.refused("create_draft", type="tag", attributes={"name": "New"}) == text
    assert agent.call("create_draft", type="tag", attributes={"name": "New"}, confirm=True).startswith(
        "Saved: Tag (tag) id="
    )
    assert agent.refused("update_draft", id=ID["crew"], attributes={"name": "Team"}) == text
    assert agent.refused("update_draft", id=ID["released-task"], attributes={"name": "Late"}) == text
    assert agent.call("update_draft", id=ID["inProcess-task"], attributes={"name": "Early"}).startswith("Saved: Task")
    draft = agent.call("create_version", id=ID["released"])
    assert draft.startswith("Created a draft: Sub process (subProcess)")
