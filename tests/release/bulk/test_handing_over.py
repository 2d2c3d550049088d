"""The work of one person goes to another (D474): contexts, states, versions, open tasks, and the command."""

from __future__ import annotations

from io import StringIO
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from release.models import Task
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.release.bulk.bulk_calls import numbers, reasons
from tests.release.house import ID, STATES, HouseClient, MakeClient, Wire, error, user

pytestmark = [pytest.mark.django_db, pytest.mark.on_cluster]
HANDOVER = "rest/handover"


def hand_over(client: HouseClient, old: str, new: str, **more: bool) -> Wire:
    response = client.post(HANDOVER, {"from": ID[old], "to": ID[new], **more})
    assert response.status_code == 200, response.content
    found: Wire = response.json()["values"][0]
    return found


def people(client: HouseClient, name: str, context: str) -> list[str]:
    known = {value: key for key, value in ID.items()}
    return [known[each["id"]] for each in client.element(name).get("related", {}).get(context, [])]


def test_owners_are_replaced_in_versions_of_any_state(desk: MakeClient, rival: Storage) -> None:
    cora = desk(user="cora")
    draft = cora.new_version("order")
    preview = hand_over(cora, "ben", "dora", dryRun=True)
    assert people(cora, "inReview", "owner") == ["ben"]
    report = hand_over(cora, "ben", "dora")
    assert numbers(report) == numbers(preview) == (len(STATES) + 1, 0, 0)
    for name in (*STATES, "order-2", draft["versionId"]):
        assert people(cora, name, "owner") == ["dora"]
    assert people(cora, "order-1", "owner") == ["ben"]
    again = hand_over(cora, "ben", "dora")
    assert (again["total"], numbers(again)) == (0, (0, 0, 0))
    known = cora.get(f"{HANDOVER}/{report['id']}").json()["values"][0]
    assert (known["changed"], known["operations"]) == (9, [{"handOver": {"from": ID["ben"], "to": ID["dora"]}}])
    assert cora.post(f"{HANDOVER}/{report['id']}").json()["values"] == [known]
    assert cora.post(f"{HANDOVER}/{report['id']}/stop").json()["values"] == [known], "it has ended"


def test_lists_of_people_name_nobody_twice(desk: MakeClient) -> None:
    cora = desk(user="cora")
    change = {"related": {"secondaryAuthors": [user("dora"), user("anna"), user("ben")]}}
    assert cora.update({"id": ID["inProcess"], **change}).status_code == 200
    hand_over(cora, "anna", "dora")
    assert people(cora, "inProcess", "secondaryAuthors") == ["dora", "ben"]
    assert people(cora, "inProcess", "author") == ["dora"]


def test_open_tasks_are_delegated_and_can_still_be_decided(desk: MakeClient, house: Storage) -> None:
    anna, cora = desk(user="anna"), desk(user="cora")
    anna.applied("inEffect", "InEffectToRequestToExpire")
    with tenant_scope(house):
        [task] = Task.objects.filter(element_id=ID["inEffect"], state=Task.State.OPEN)
        assert task.assignee_id == UUID(ID["ben"])
    hand_over(cora, "ben", "dora")
    with tenant_scope(house):
        task.refresh_from_db()
        assert task.assignee_id == UUID(ID["dora"])
    accepted = desk(user="dora").post(f"rest/tasks/{task.id}/accept")
    assert accepted.status_code == 200, accepted.content


def test_an_element_whose_task_cannot_be_delegated_stays_as_it_was(desk: MakeClient, house: Storage) -> None:
    """Anna cannot approve, so the task stays with Ben, and so does the element."""
    anna, cora = desk(user="anna"), desk(user="cora")
    anna.applied("inEffect", "InEffectToRequestToExpire")
    report = hand_over(cora, "ben", "anna")
    assert [*reasons(report)] == ["inEffect"]
    assert "ApproveElement" in reasons(report)["inEffect"][0]
    assert people(cora, "inEffect", "owner") == ["ben"]
    assert people(cora, "released", "owner") == ["anna"]


def test_only_administrators_hand_over(desk: MakeClient) -> None:
    body = {"from": ID["ben"], "to": ID["dora"]}
    assert error(desk(user="anna").post(HANDOVER, body))[0] == 403
    assert error(desk(user="anna").get(f"{HANDOVER}/{ID['ben']}"))[0] == 403
    assert error(desk(user="anna").post(f"{HANDOVER}/{ID['ben']}/stop"))[0] == 403
    operation = {"ids": [ID["inProcess"]], "operations": [{"handOver": body}]}
    report = desk(user="anna").post("rest/facets/processes/views/detail/bulk", operation).json()["values"][0]
    assert reasons(report) == {"inProcess": ["This needs the role administrator."]}


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        ({"from": ID["ben"]}, 400, 'The body must be an object such as {"from": "…", "to": "…", "dryRun": true}.'),
        ({"from": ID["ben"], "to": "x"}, 400, "operations[0]: handOver: expected the ids of two users."),
        ({"from": ID["ben"], "to": ID["dora"], "dryRun": 1}, 400, "dryRun: expected true or false."),
        ({"from": ID["ben"], "to": ID["ben"]}, 422, "to: expected another user."),
        ({"from": ID["ben"], "to": ID["eve"]}, 422, f"to: the user {ID['eve']} is inactive."),
        ({"from": ID["erp"], "to": ID["dora"]}, 422, f"from: there is no user {ID['erp']}."),
    ],
)
def test_mistakes(desk: MakeClient, body: Wire, status: int, problem: str) -> None:
    found = error(desk(user="cora").post(HANDOVER, body))
    assert (found[0], found[3]) == (status, [problem])


def test_the_command_hands_over(desk: MakeClient, house: Storage) -> None:
    cora, output = desk(user="cora"), StringIO()
    call_command("hand_over", "acme", "house", ID["ben"], ID["dora"], "--dry-run", stderr=output)
    assert output.getvalue().splitlines()[-1] == "9 elements would change, 0 refused."
    assert people(cora, "released", "owner") == ["ben"]
    call_command("hand_over", "acme", "house", ID["ben"], ID["dora"], stderr=output)
    assert output.getvalue().splitlines()[-1] == "9 elements changed, 0 refused."
    assert people(cora, "released", "owner") == ["dora"]
    with pytest.raises(CommandError, match="inactive"):
        call_command("hand_over", "acme", "house", ID["ben"], ID["eve"])
