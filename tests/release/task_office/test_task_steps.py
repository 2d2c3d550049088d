"""Steps on a single task in the back office (D116): accept, reject, reassign, remind, withdraw."""

from __future__ import annotations

import re

import pytest

from storage.models import StaffAccount, Storage
from storage.options import Role
from tests.release.house import ID, MakeClient
from tests.release.log_check import check_lifecycles
from tests.release.settable_clock import SettableClock
from tests.release.stored_contents import fingerprints
from tests.release.task_calls import NOW, ask, open_task, wire
from tests.release.task_pages import OFFICE, TASKS, boss, listed, member, state_of, take, text_of, told

pytestmark = [pytest.mark.django_db, pytest.mark.long]


class TestSteps:
    def test_accept_on_behalf(self, house: Storage, desk: MakeClient) -> None:
        client, anna = boss(house), desk(user="anna")
        task = ask(anna)
        page = client.get(f"{TASKS}{task}/accept/")
        assert page.status_code == 200
        assert "Accept: Approve expiry, released-1" in text_of(page)
        response = take(client, "accept", task, comment="Ben is on leave.")
        assert response["Location"] == TASKS
        assert "1 task was accepted." in told(client, response)
        assert anna.element("released")["state"] == "expired"
        (found,) = desk(user="cora").tasks("?state=accepted&assignee=all")
        assert (found["decision"], found["assignee"], found["decidedOn"]) == ("Ben is on leave.", wire("ben"), NOW)
        request, transition, expiry = anna.steps("released")
        account = StaffAccount.objects.get(username="boss")
        assert transition == {
            "number": 2, "step": "transition", "versionId": ID["released-1"], "version": "1.0", "fromState": "released",
            "toState": "requestToExpire", "transitionId": "ReleasedToRequestToExpire", "changedOn": NOW,
            "caller": f"staff:{account.pk}", "requestId": response["X-Request-ID"], "comment": "Ben is on leave.",
            "taskId": task, "assignee": wire("ben"),
        }  # fmt: skip
        assert "assignee" not in request | expiry
        assert "Berta Boss on behalf of Ben" in listed(client, "?state=accepted")[0]
        check_lifecycles(house)

    def test_reject_on_behalf(self, house: Storage, desk: MakeClient) -> None:
        client, anna = boss(house), desk(user="anna")
        task = ask(anna)
        assert "1 task was rejected." in told(client, take(client, "reject", task, comment="Still\r\nneeded."))
        assert anna.element("released")["state"] == "released"
        last = anna.steps("released")[-1]
        assert (last["step"], last["comment"], last["assignee"]) == ("rejection", "Still\nneeded.", wire("ben"))
        check_lifecycles(house)

    def test_an_assignee_decides_on_nobodys_behalf(self, house: Storage, desk: MakeClient) -> None:
        anna = desk(user="anna")
        ben = member(house, Role.APPROVER, user="ben")
        take(ben, "reject", ask(anna), comment="No.")
        last = anna.steps("released")[-1]
        assert (last["step"], last["changedBy"], "assignee" in last) == ("rejection", wire("ben"), False)

    def test_reassign(self, house: Storage, desk: MakeClient) -> None:
        client, anna = boss(house), desk(user="anna")
        task = ask(anna)
        page = client.get(f"{TASKS}{task}/reassign/").content.decode()
        choices = dict(re.findall(r'<option value="([^"]*)"[^>]*>\s*([^<]*?)\s*</option>', page))
        assert choices == {"": "Choose an approver", ID["cora"]: "Cora", ID["dora"]: "Dora"}
        response = take(client, "reassign", task, assignee=ID["dora"])
        assert "1 task was reassigned." in told(client, response)
        (found,) = desk(user="dora").tasks()
        assert (found["id"], found["assignee"]) == (task, wire("dora"))
        last = anna.steps("released")[-1]
        assert (last["step"], last["assignee"], "comment" in last) == ("delegation", wire("dora"), False)

    def test_withdraw(self, house: Storage, desk: MakeClient) -> None:
        client, anna = boss(house), desk(user="anna")
        task = ask(anna)
        assert "1 task was withdrawn." in told(client, take(client, "withdraw", task, comment="A mistake."))
        assert anna.offered("released") == ["ReleasedToRequestToExpire"]
        assert [each["step"] for each in anna.steps("released")] == ["request", "withdrawal"]
        check_lifecycles(house)

    @pytest.mark.usefixtures("long_sessions")
    def test_remind(self, house: Storage, desk: MakeClient, clock: SettableClock) -> None:
        client, anna = boss(house), desk(user="anna")
        task = ask(anna, comment="Out of date.")
        assert "The approver gets a message, and a mail if this installation sends mails." in text_of(
            client.get(f"{TASKS}{task}/remind/")
        )
        for day in ("03", "04"):
            clock.set(f"2026-07-{day}T10:00:00+00:00")
            assert "1 reminder was sent." in told(client, take(client, "remind", task, comment=f"Called on {day}."))
        assert "Reminded 2 times, last on 2026-07-04 12:00" in listed(client)[0]
        assert [(each["step"], each.get("comment"), each.get("assignee")) for each in anna.steps("released")] == [
            ("request", "Out of date.", None),
            ("reminder", "Called on 03.", wire("ben")),
            ("reminder", "Called on 04.", wire("ben")),
        ]
        assert state_of(house, task) == ["open"]
        check_lifecycles(house)

    def test_steps_that_end_a_task_need_a_comment(self, house: Storage) -> None:
        client, task = boss(house), open_task(house)
        before = fingerprints(house)
        for step in ("accept", "reject", "withdraw"):
            response = take(client, step, task, comment="  ")
            assert response.status_code == 200
            assert "Enter a reason; it is recorded in the lifecycle log." in text_of(response)
        response = take(client, "reassign", task, comment="Kept.")
        assert response.status_code == 200
        assert "Choose an approver." in text_of(response)
        assert "Kept." in text_of(response)
        assert "Select a valid choice." in text_of(take(client, "reassign", task, assignee=ID["eve"]))
        assert fingerprints(house) == before

    def test_a_step_returns_to_its_start_page_only(self, house: Storage) -> None:
        client, task = boss(house), open_task(house)
        began = f"{TASKS}?stuck=yes"
        page = client.get(f"{TASKS}{task}/remind/", headers={"Referer": f"http://testserver{began}"})
        assert f'name="back" value="{began}"' in page.content.decode()
        assert take(client, "remind", task, back=began)["Location"] == began
        for elsewhere in ("https://example.org/", "//example.org/", f"{OFFICE}elements/element/", "javascript:x"):
            assert take(client, "remind", task, back=elsewhere)["Location"] == TASKS
