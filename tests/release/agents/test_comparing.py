"""Differences between versions as text (D586): the same differences as in the comparison of the API (D568)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from release.agents import comparison_texts
from release.agents.comparison_texts import changed_lines
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.release.agents.agent_client import AgentClient
from tests.release.house import DETAIL, ID, HouseClient
from tests.release.set_keeper import Keeper, grant

pytestmark = pytest.mark.django_db
HEAD = "From version 2.0, state Released (released) to version 2.1, state In process (inProcess)."
NEW = ["- Reason for revision (reasonForRevision): Because.", "- Valid from (validFrom): 2026-01-05T00:00:00"]
MARKUP = '<?xml version="1.0"?><richtext><p>{}</p></richtext>'


@pytest.fixture
def draft(api: ApiClient, house: Storage) -> dict[str, Any]:
    """Return the new draft of `order`: by its name in the diagram, the step of the draft."""
    architect = HouseClient(house, api, user="cora")
    made = architect.new_version("order")
    content = architect.element(made["versionId"], "?$resources=content&$expandRelated=content(name)")["content"]
    steps = {each["attributes"]["name"]["1033"].split()[0]: each["id"] for each in content}
    return {"client": architect, "version": made["versionId"], **steps}


def test_a_draft_and_the_released_version(api: ApiClient, house: Storage, draft: dict[str, Any]) -> None:
    editor, architect = AgentClient(house, api, Role.EDITOR), draft["client"]
    older = {"from": ID["order-2"], "to": draft["version"]}
    assert editor.call("compare_versions", **older).splitlines() == [
        HEAD,
        "",
        "## Attributes",
        *NEW,
        "",
        "## References",
        f"- Author (author): Anna [User] id={ID['anna']}",
        f"+ Author (author): Cora [User] id={ID['cora']}",
    ]
    assert architect.update(
        {"id": ID["order"], "versionId": draft["version"], "attributes": {
            "purp": {"1033": "First\nSecond", "1031": "Zweck"}, "description": {"1033": MARKUP.format("One <b>word</b>")},
        }, "related": {"systems": [], "owner": [{"id": ID["dora"]}]}},
    ).status_code == 200  # fmt: skip
    assert architect.update(
        {"id": draft["task"], "attributes": {"name": {"1033": "Check parts"}, "description": {"1033": MARKUP.format("Look")}},
         "related": {"systems": [{"id": ID["erp"]}]}},
    ).status_code == 200  # fmt: skip
    shown = editor.call("compare_versions", **older)
    assert shown.splitlines() == [
        HEAD,
        "",
        "## Attributes",
        "+ Description (description): One word",
        "- Purpose (purp): Purpose",
        "+ Purpose (purp): First",
        "+ Purpose (purp): Second",
        '~ Purpose (purp): also differs in 1031 Deutsch; call again with that "culture" to see it',
        *NEW,
        "",
        "## References",
        f"- Author (author): Anna [User] id={ID['anna']}",
        f"+ Author (author): Cora [User] id={ID['cora']}",
        f"- Owner (owner): Ben [User] id={ID['ben']}",
        f"+ Owner (owner): Dora [User] id={ID['dora']}",
        f"- Systems (systems): ERP [System, Released] id={ID['erp']}",
        "",
        "## Process steps",
        f"~ Check parts [Task] id={draft['task']}: was task of order-2",
        f"~ Check parts [Task] id={draft['task']}:",
        "  + Description (description): Look",
        f"  + Systems (systems): ERP [System, Released] id={ID['erp']}",
    ]
    german = editor.call("compare_versions", **older, culture=1031).splitlines()
    assert "+ Zweck (purp): Zweck" in german
    assert '~ Zweck (purp): also differs in 1033 English; call again with that "culture" to see it' in german
    # The API finds the same differences.
    data = architect.get(f"rest/{DETAIL.split('/rest/')[1]}/{ID['order']}/compare?from=2.0&to=2.1").json()
    assert set(data) == {"from", "to", "state", "attributes", "references", "shapes"}
    assert set(data["attributes"]) == {"purp", "description", "reasonForRevision", "validFrom"}
    assert set(data["references"]) == {"systems", "owner", "author"}
    # Only markup differs.
    bold = {"description": {"1033": MARKUP.format("One word")}}
    again = architect.applied(draft["version"], "InProcessToReleased")
    newer = architect.new_version("order")["versionId"]
    assert architect.update({"id": ID["order"], "versionId": newer, "attributes": bold}).status_code == 200
    shown = editor.call("compare_versions", **{"from": again["versionId"], "to": newer})
    assert "~ Description (description): only spaces, line breaks, formatting or hidden details differ\n" in shown


def test_shapes_and_flows(api: ApiClient, house: Storage, draft: dict[str, Any]) -> None:
    architect, editor = draft["client"], AgentClient(house, api, Role.EDITOR)
    address = f"{DETAIL}/{draft['version']}/content"
    content = api.get(address, token=architect.token).json()["elements"]
    start, _, end = (each["properties"]["shapeId"] for each in content)
    new = {"type": "task", "attributes": {"name": {"1033": "Pack"}}}
    values = [
        {"shapeInfo": {"index": 0, "id": start}},
        {"shapeInfo": {"index": 1, "predecessors": [0]}, "element": new},
        {"shapeInfo": {"index": 2, "id": end, "predecessors": [1], "labels": {"1": {"1033": "done"}}}},
    ]
    response = api.put(address, {"values": values}, content_type="application/json", token=architect.token)
    assert response.status_code == 200, response.content
    shown = editor.call("compare_versions", **{"from": ID["order-2"], "to": draft["version"]})
    plain = re.sub(r" id=[0-9a-f-]{36}", "", shown)
    assert plain.partition("\n\n## Process steps\n")[2].splitlines() == [
        "- task of order-2 [Task]",
        "+ Pack [Task]",
        "",
        "## Flows",
        "- start of order-2 → task of order-2",
        "- task of order-2 → end of order-2",
        "+ start of order-2 → Pack",
        "+ Pack → end of order-2 (done)",
    ]


def test_the_number_of_statements_is_constant(
    api: ApiClient, house: Storage, draft: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    editor, numbers = AgentClient(house, api, Role.EDITOR), set()
    pair = {"from": ID["order-2"], "to": draft["version"]}
    editor.call("compare_versions", **pair)
    for most in (300, 1):
        monkeypatch.setattr(comparison_texts, "MOST_STEPS", most)
        with CaptureQueriesContext(connection) as found:
            shown = editor.call("compare_versions", **pair)
        numbers.add(len(found))
    assert len(numbers) == 1
    assert shown.splitlines()[-1].startswith("… the texts and references of all other steps are too many")


def test_hidden_targets_stay_hidden(api: ApiClient, house: Storage, draft: dict[str, Any], keeper: Keeper) -> None:
    change = {"id": ID["order"], "versionId": draft["version"], "related": {"systems": []}}
    assert draft["client"].update(change).status_code == 200
    editor, pair = AgentClient(house, api, Role.EDITOR), {"from": ID["order-2"], "to": draft["version"]}
    assert f"- Systems (systems): ERP [System, Released] id={ID['erp']}" in editor.call("compare_versions", **pair)
    keeper.limit("erp", users=[grant("ben", "show")])
    assert "(systems)" not in editor.call("compare_versions", **pair)


def test_lines_of_a_long_text() -> None:
    same, added = "same", "added"
    pieces = [
        (same, "First line\nSecond "),
        (added, "new"),
        (same, " line\n" + "x" * 300 + " "),
        (added, "end\n\nlast"),
    ]
    assert changed_lines({"mark": mark, "text": text} for mark, text in pieces) == [
        "Second new line",
        f"{'x' * 80} … {'x' * 79} end",
        "last",
    ]
    assert changed_lines([{"mark": added, "text": " \n "}]) == []
