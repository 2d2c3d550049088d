"""Release tasks in the back office (D115 to D117): the list tells the truth, steps do what the domain does, and say so."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import unquote
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings as ChangedSettings

from elements import counting
from elements.models import Element, ElementVersion
from elements.writing.updating import Writer
from elements.writing.writers import settled_writer
from release.models import LifecycleEntry, Task
from release.tasks.bulk import step_each
from repository_site.core.problems import Conflict
from storage.access.callers import Caller, CallerKind
from storage.models import StaffAccount, Storage, StorageMembership
from storage.models.roles import Role
from storage.tenancy.scope import tenant_scope
from tests.factories import StaffAccountFactory
from tests.release.house import ID, Desk
from tests.release.log_check import check_lifecycles
from tests.release.test_tasks import (
    ANOTHERS,
    NOW,
    TYPE,
    UNKNOWN,
    Clock,
    ask,
    fingerprints,
    fresh,
    grant,
    open_task,
    rival_of,
    set_task,
    wire,
)

pytestmark = [pytest.mark.django_db, pytest.mark.long]
Sit = Callable[..., Desk]
OFFICE = "/acme/house/admin/"
TASKS = f"{OFFICE}release/task/"
LOG = f"{OFFICE}release/lifecycleentry/"
STEPS = ("accept", "reject", "reassign", "remind", "withdraw")
VERSIONS = ("released-1", "inEffect-1", "order-2")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """It is noon of 1 July 2026 in the storage's time zone, and stays so."""
    found = Clock()
    monkeypatch.setattr(timezone, "now", lambda: found.moment)
    return found


@pytest.fixture
def days_go_by(settings: ChangedSettings) -> None:
    """And nobody has to sign in again."""
    settings.SESSION_COOKIE_AGE = 30 * 24 * 3600


def member(storage: Storage, *roles: Role, user: str | None = None, **fields: Any) -> Client:
    """Somebody signed in to the office of the storage."""
    account = StaffAccountFactory.create(**fields)
    StorageMembership.objects.create(
        account=account, storage=storage, roles=[role.value for role in roles], user_id=user and ID[user]
    )
    return signed_in(account)


def signed_in(account: StaffAccount) -> Client:
    client = Client()
    client.force_login(account)
    return client


def boss(storage: Storage) -> Client:
    return member(storage, Role.ADMINISTRATOR, username="boss", first_name="Berta", last_name="Boss")


def text_of(response: Any) -> str:
    """What somebody reads on the page, in one line."""
    page = re.sub(r"(?s)<(script|style|template)\b.*?</\1>", " ", response.content.decode())
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page))).strip()


def rows_of(response: Any) -> list[str]:
    """Each row of a list, in one line."""
    page = response.content.decode()
    found = re.findall(r'(?s)<tr class="data-row.*?</tr>', page)
    texts = [re.sub(r"(?s)<template\b.*?</template>", " ", each) for each in found]
    return [re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", each))).strip() for each in texts]


def listed(client: Client, query: str = "") -> list[str]:
    response = client.get(f"{TASKS}{query}")
    assert response.status_code == 200, response.content
    return rows_of(response)


def take(client: Client, step: str, *tasks: str, **given: str) -> Any:
    return client.post(f"{TASKS}step/{step}/", {"task": tasks, **given})


def told(client: Client, response: Any) -> str:
    """The message on the page that follows."""
    assert response.status_code == 302, text_of(response)
    return text_of(client.get(response["Location"]))


def state_of(storage: Storage, *tasks: str) -> list[str]:
    with tenant_scope(storage):
        found = {str(each.id): each.state for each in Task.objects.filter(id__in=tasks)}
    return [found[each] for each in tasks]


class TestTheList:
    def test_a_row_says_what_who_and_how_long(self, house: Storage, desk: Sit, clock: Clock) -> None:
        ask(desk(user="anna"), comment="Out of date.")
        clock.set("2026-07-06T10:00:00+00:00")
        (row,) = listed(boss(house))
        assert row.startswith("Approve expiry released-1 Sub process 1.0 Anna 5 days ago Out of date. Ben 5 days")
        assert "due in 9 days" in row
        assert "can go on" in row

    def test_it_links_to_the_task_the_element_and_the_people(self, house: Storage, desk: Sit) -> None:
        task = ask(desk(user="anna"))
        page = boss(house).get(TASKS).content.decode()
        links = set(re.findall(r'href="(/acme/house/admin/[^"]*)"', page))
        assert {
            f"{TASKS}{task}/change/",
            f"{OFFICE}elements/element/{ID['released']}/change/?version={ID['released-1']}",
            f"{OFFICE}elements/user/{ID['anna']}/change/",
            f"{OFFICE}elements/user/{ID['ben']}/change/",
        } <= links

    def test_open_ones_oldest_first_unless_asked_otherwise(self, house: Storage) -> None:
        tasks = [open_task(house, version) for version in VERSIONS]
        for task, days in zip(tasks, (1, 3, 2), strict=True):
            set_task(house, task, requested_on=timezone.now() - timedelta(days=days))
        set_task(house, tasks[2], state="rejected", decided_on=timezone.now(), decider_label="staff:0", decision="No.")
        client = boss(house)
        names = [re.search(r"(\S+-\d) Sub process", row) for row in listed(client)]
        assert [each and each[1] for each in names] == ["inEffect-1", "released-1"]
        (rejected,) = listed(client, "?state=rejected")
        assert re.search(r"order-2 .* Rejected staff:0 on behalf of Ben, just now No\.", rejected)
        assert len(listed(client, "?state=all")) == 3
        assert listed(client, "?state=withdrawn") == listed(client, "?state=nonsense") == []

    @pytest.mark.parametrize(
        ("assignee", "days", "why"),
        [
            ("ben", 3, "can go on"),
            ("eve", 3, "stuck Eve is inactive. Reassign it, or make the account active again."),
            ("anna", 3, "stuck Anna has no role that approves. Reassign it, or give the role approver."),
            (UNKNOWN, 3, "stuck Who was to decide is no longer there. Reassign it."),
            ("crew", 3, "can go on"),
            ("ben", 20, "stuck Open for 20 days. Remind, reassign, or decide on behalf."),
            (
                "eve",
                20,
                "stuck Eve is inactive. Reassign it, or make the account active again."
                " Open for 20 days. Remind, reassign, or decide on behalf.",
            ),
        ],
    )
    def test_why_a_task_is_stuck_and_what_would_help(self, house: Storage, assignee: str, days: int, why: str) -> None:
        set_task(
            house, open_task(house, assignee=assignee), requested_on=timezone.now() - timedelta(days=days, hours=1)
        )
        (row,) = listed(boss(house))
        assert row.endswith(f"{why} more_horiz"), row
        assert ("overdue by 6 days" in row) is (days == 20)

    def test_groups_and_everybody(self, house: Storage) -> None:
        client, task = boss(house), open_task(house, assignee="crew")
        for name in ("ben", "dora"):
            grant(house, name, approver=False)
        assert "No active member of Crew has a role that approves." in listed(client)[0]
        for name in ("ben", "dora"):
            grant(house, name, inactive=True)
        assert "All members of Crew are inactive." in listed(client)[0]
        set_task(house, task, assignee_id=None)
        assert "Every approver" in listed(client)[0]
        assert "can go on" in listed(client)[0]
        grant(house, "cora", administrator=False)
        assert "nobody except who has asked could decide" in listed(client)[0]
        set_task(house, task, assignee_id=ID["ben"], requester_id=ID["ben"])
        for name in ("ben", "dora"):
            grant(house, name, approver=True, inactive=False)
        assert "Ben has asked for it and cannot decide as well (four eyes)." in listed(client)[0]

    def test_it_tells_what_is_true_now_not_what_the_clock_has_marked(self, house: Storage) -> None:
        client, task = boss(house), open_task(house)
        assert "can go on" in listed(client)[0]
        assert listed(client, "?stuck=yes") == []
        grant(house, "ben", inactive=True)
        with tenant_scope(house):
            assert Task.objects.get(id=task).stuck_on is None
        assert "Ben is inactive." in listed(client)[0]
        assert len(listed(client, "?stuck=yes")) == 1
        grant(house, "ben", inactive=False)
        set_task(house, task, stuck_on=timezone.now(), stuck_reasons=["approverInactive"])
        assert "can go on" in listed(client)[0]
        assert listed(client, "?stuck=yes") == []

    def test_filters(self, house: Storage) -> None:
        client = boss(house)
        for version, assignee, days in zip(VERSIONS, ("eve", "ben", None), (3, 20, 0), strict=True):
            asked = timezone.now() - timedelta(days=days, hours=1)
            set_task(house, open_task(house, version, assignee), requested_on=asked)

        def found(query: str) -> list[str]:
            rows = listed(client, query)
            return sorted(version for version in VERSIONS for row in rows if f" {version} " in row)

        assert found("") == sorted(VERSIONS)
        assert found("?stuck=yes") == ["inEffect-1", "released-1"]
        assert found("?stuck=no") == ["order-2"]
        assert found("?stuck=approverInactive") == ["released-1"]
        assert found("?stuck=overdue") == ["inEffect-1"]
        assert found("?stuck=approverMissing") == []
        assert found(f"?assignee={ID['ben']}") == ["inEffect-1"]
        assert found("?assignee=everybody") == ["order-2"]
        assert found("?assignee=nonsense") == []
        assert found(f"?type={TYPE}".replace(" ", "+")) == sorted(VERSIONS)
        assert found("?type=Other") == []
        ages = {age: found(f"?age={age}") for age in ("underOneDay", "underOneWeek", "withinLimit", "overLimit")}
        assert ages == {
            "underOneDay": ["order-2"], "underOneWeek": ["released-1"], "withinLimit": [], "overLimit": ["inEffect-1"],
        }  # fmt: skip
        assert found("?q=ORDER") == ["order-2"]

    def test_the_navigation_counts_those_that_are_stuck(self, house: Storage) -> None:
        client = member(house, Role.ANALYZER)
        open_task(house, assignee="ben")
        assert "assignment Tasks history Lifecycle log" in text_of(client.get(OFFICE))
        grant(house, "ben", inactive=True)
        assert "assignment Tasks 1 history Lifecycle log" in text_of(client.get(OFFICE))

    def test_nothing_of_another_storage(self, house: Storage) -> None:
        rival = rival_of(house)
        open_task(rival, assignee="eve")
        client = boss(house)
        assert listed(client, "?state=all") == []
        assert "assignment Tasks history Lifecycle log" in text_of(client.get(OFFICE))
        assert client.get(f"/rival/house/admin/release/task/{ID['released']}/change/").status_code == 404


class TestStatements:
    def count(self, client: Client, address: str) -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert client.get(address).status_code == 200
        return len(queries)

    @pytest.mark.long
    def test_as_many_for_few_tasks_as_for_a_hundred(self, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        # However slow the machine is, the overview counts anew.
        monkeypatch.setattr(counting, "SLOW", 60)
        client = boss(house)
        for version, assignee in zip(VERSIONS, ("ben", "crew", None), strict=True):
            open_task(house, version, assignee)
        self.add(house, 3)
        addresses = (f"{TASKS}?all=&stuck=yes", f"{TASKS}?all=", LOG, OFFICE)
        client.get(OFFICE)
        before = [self.count(client, each) for each in addresses]
        self.add(house, 94)
        assert (len(listed(client)), len(listed(client, "?all="))) == (50, 100)
        assert [self.count(client, each) for each in addresses] == before
        assert max(before) < 35

    def test_the_page_of_a_step_as_well(self, house: Storage) -> None:
        client = boss(house)
        for version in VERSIONS:
            open_task(house, version)
        self.add(house, 3)
        with tenant_scope(house):
            tasks = [str(each) for each in Task.objects.values_list("id", flat=True)]
        few = f"{TASKS}step/remind/?" + "&".join(f"task={each}" for each in tasks)
        client.get(few)
        before = self.count(client, few)
        self.add(house, 94)
        with tenant_scope(house):
            many = f"{TASKS}step/remind/?" + "&".join(
                f"task={each}" for each in Task.objects.values_list("id", flat=True)
            )
        assert self.count(client, many) == before
        assert "101 tasks are too many" in text_of(client.get(f"{many}&task={UNKNOWN}"))

    def add(self, storage: Storage, number: int) -> None:
        """Further published elements with an open task each, later than what is there, and a step in the log."""
        with tenant_scope(storage):
            template = ElementVersion.objects.get(id=ID["released-1"])
            type_id = Element.objects.get(id=ID["released"]).type_id
            for place in range(number):
                element = Element.objects.create(creation_id=ID["released"], type_id=type_id)
                template.pk, template.element_id, template.attributes = (
                    element.id, element.id, {"name": {"1033": f"More {place}"}},
                )  # fmt: skip
                template.save(force_insert=True)
                Element.objects.filter(id=element.id).update(newest_id=element.id, published_id=element.id)
                task = Task.objects.create(
                    type=TYPE, element_id=element.id, version_id=element.id, revision=0, transition="x",
                    source_state="released", target_state="requestToExpire",
                    requested_on=timezone.now() + timedelta(seconds=1),
                    requester_id=ID["anna"], requester_label="x", assignee_id=ID[("ben", "crew", "eve")[place % 3]],
                )  # fmt: skip
                LifecycleEntry.objects.create(
                    element_id=element.id, version_id=element.id, number=1, version="1.0", step="reminder",
                    from_state="released", to_state="released", changed_on=timezone.now(), caller_label="staff:1",
                    request_id="", task_id=task.id, assignee_id=ID["ben"],
                )  # fmt: skip


class TestSteps:
    def test_accept_on_behalf(self, house: Storage, desk: Sit) -> None:
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

    def test_reject_on_behalf(self, house: Storage, desk: Sit) -> None:
        client, anna = boss(house), desk(user="anna")
        task = ask(anna)
        assert "1 task was rejected." in told(client, take(client, "reject", task, comment="Still\r\nneeded."))
        assert anna.element("released")["state"] == "released"
        last = anna.steps("released")[-1]
        assert (last["step"], last["comment"], last["assignee"]) == ("rejection", "Still\nneeded.", wire("ben"))
        check_lifecycles(house)

    def test_deciding_for_oneself_is_on_nobodys_behalf(self, house: Storage, desk: Sit) -> None:
        anna = desk(user="anna")
        ben = member(house, Role.APPROVER, user="ben")
        take(ben, "reject", ask(anna), comment="No.")
        last = anna.steps("released")[-1]
        assert (last["step"], last["changedBy"], "assignee" in last) == ("rejection", wire("ben"), False)

    def test_reassign(self, house: Storage, desk: Sit) -> None:
        client, anna = boss(house), desk(user="anna")
        task = ask(anna)
        page = client.get(f"{TASKS}{task}/reassign/").content.decode()
        choices = dict(re.findall(r'<option value="([^"]*)"[^>]*>\s*([^<]*?)\s*</option>', page))
        assert choices == {"": "Choose somebody", ID["cora"]: "Cora", ID["dora"]: "Dora"}
        response = take(client, "reassign", task, assignee=ID["dora"])
        assert "1 task was reassigned." in told(client, response)
        (found,) = desk(user="dora").tasks()
        assert (found["id"], found["assignee"]) == (task, wire("dora"))
        last = anna.steps("released")[-1]
        assert (last["step"], last["assignee"], "comment" in last) == ("delegation", wire("dora"), False)

    def test_withdraw(self, house: Storage, desk: Sit) -> None:
        client, anna = boss(house), desk(user="anna")
        task = ask(anna)
        assert "1 task was withdrawn." in told(client, take(client, "withdraw", task, comment="A mistake."))
        assert anna.offered("released") == ["ReleasedToRequestToExpire"]
        assert [each["step"] for each in anna.steps("released")] == ["request", "withdrawal"]
        check_lifecycles(house)

    @pytest.mark.usefixtures("days_go_by")
    def test_remind(self, house: Storage, desk: Sit, clock: Clock) -> None:
        client, anna = boss(house), desk(user="anna")
        task = ask(anna, comment="Out of date.")
        member(house, Role.APPROVER, user="ben", email="ben@example.org")
        member(rival_of(house), Role.APPROVER, user="dora", email="leak@example.org")
        page = client.get(f"{TASKS}{task}/remind/")
        text = text_of(page)
        assert "This service sends no messages." in text
        assert (
            f"Asked for by Anna on 1 July 2026, due 15 July 2026. Reason: Out of date. http://testserver{TASKS}{task}/change/"
            in text
        )
        (letter,) = re.findall(r'href="(mailto:[^"]*)"', page.content.decode())
        assert unquote(html.unescape(letter)).startswith(
            "mailto:ben@example.org?subject=Please decide: Approve expiry,"
        )
        assert "leak@" not in text
        for day in ("03", "04"):
            clock.set(f"2026-07-{day}T10:00:00+00:00")
            assert "1 reminder was recorded." in told(client, take(client, "remind", task, comment=f"Called on {day}."))
        assert "Reminded 2 times, last on 2026-07-04 12:00" in listed(client)[0]
        assert [(each["step"], each.get("comment"), each.get("assignee")) for each in anna.steps("released")] == [
            ("request", "Out of date.", None),
            ("reminder", "Called on 03.", wire("ben")),
            ("reminder", "Called on 04.", wire("ben")),
        ]
        assert state_of(house, task) == ["open"]
        check_lifecycles(house)

    def test_whom_a_reminder_is_for(self, house: Storage) -> None:
        client, task = boss(house), open_task(house, assignee="crew")
        for name in ("ben", "dora", "cora"):
            member(house, Role.APPROVER, user=name, email=f"{name}@example.org")
        address = f"{TASKS}{task}/remind/"
        assert "To Crew" in text_of(client.get(address))
        assert "Write an e-mail to ben@example.org, dora@example.org" in text_of(client.get(address))
        set_task(house, task, assignee_id=None)
        text = text_of(client.get(address))
        assert "To Every approver" in text
        assert all(f"{name}@example.org" in text for name in ("ben", "dora", "cora"))
        set_task(house, task, assignee_id=ID["eve"])
        assert "No address is known." in text_of(client.get(address))

    def test_what_ends_a_task_needs_a_comment(self, house: Storage) -> None:
        client, task = boss(house), open_task(house)
        before = fingerprints(house)
        for step in ("accept", "reject", "withdraw"):
            response = take(client, step, task, comment="  ")
            assert response.status_code == 200
            assert "Say why: the comment stands in the lifecycle log." in text_of(response)
        response = take(client, "reassign", task, comment="Kept.")
        assert response.status_code == 200
        assert "Choose who is to decide." in text_of(response)
        assert "Kept." in text_of(response)
        assert "Select a valid choice." in text_of(take(client, "reassign", task, assignee=ID["eve"]))
        assert fingerprints(house) == before

    def test_a_step_leads_back_to_where_it_began_and_nowhere_else(self, house: Storage) -> None:
        client, task = boss(house), open_task(house)
        began = f"{TASKS}?stuck=yes"
        page = client.get(f"{TASKS}{task}/remind/", headers={"Referer": f"http://testserver{began}"})
        assert f'name="back" value="{began}"' in page.content.decode()
        assert take(client, "remind", task, back=began)["Location"] == began
        for elsewhere in ("https://example.org/", "//example.org/", f"{OFFICE}elements/element/", "javascript:x"):
            assert take(client, "remind", task, back=elsewhere)["Location"] == TASKS


class TestSeveralAtOnce:
    def test_from_the_list(self, house: Storage) -> None:
        client, tasks = boss(house), [open_task(house, each) for each in VERSIONS[:2]]
        page = client.post(TASKS, {"action": "reject", "_selected_action": tasks, "index": "0"})
        assert page.status_code == 200
        assert "Reject: 2 tasks" in text_of(page)
        hidden = re.findall(r'name="task" value="([^"]*)"', page.content.decode())
        assert sorted(hidden) == sorted(tasks)
        assert f'action="{TASKS}step/reject/"' in page.content.decode()
        response = take(client, "reject", *tasks, comment="All of them.")
        assert "2 tasks were rejected." in told(client, response)
        assert state_of(house, *tasks) == ["rejected", "rejected"]
        with tenant_scope(house):
            assert list(LifecycleEntry.objects.values_list("step", "comment")) == [("rejection", "All of them.")] * 2

    def test_what_can_be_done_is_done_and_the_rest_is_told(self, house: Storage, desk: Sit) -> None:
        """One was decided by somebody else meanwhile, one has changed since: they stay as they are."""
        client = boss(house)
        good, decided, changed = [open_task(house, each) for each in VERSIONS]
        set_task(house, decided, state="rejected", decided_on=timezone.now())
        set_task(house, changed, revision=7)
        response = take(client, "accept", good, decided, changed, comment="Agreed.")
        assert response.status_code == 200
        text = text_of(response)
        assert "1 task was accepted." in text
        assert "The 2 tasks below failed and were not changed. The others are done." in text
        assert "The task is rejected already." in text
        assert "has changed since the task was made; reject it, or withdraw it and ask again." in text
        assert "Agreed." in text
        assert sorted(re.findall(r'name="task" value="([^"]*)"', response.content.decode())) == sorted(
            [decided, changed]
        )
        assert state_of(house, good, decided, changed) == ["accepted", "rejected", "open"]
        states = {name: desk(user="cora").element(name)["state"] for name in ("released", "inEffect", "order")}
        assert states == {"released": "expired", "inEffect": "inEffect", "order": "released"}
        with tenant_scope(house):
            assert set(LifecycleEntry.objects.values_list("task_id", flat=True)) == {Task.objects.get(id=good).id}

    def test_nothing_done(self, house: Storage) -> None:
        client, task = boss(house), open_task(house)
        set_task(house, task, state="withdrawn", decided_on=timezone.now())
        before = fingerprints(house)
        response = take(client, "accept", task, comment="Agreed.")
        assert response.status_code == 409
        assert "The tasks were not changed. " in text_of(response)
        assert "The task is withdrawn already." in text_of(response)
        # There is nothing left to try.
        assert 'name="comment"' not in response.content.decode()
        assert fingerprints(house) == before

    def test_what_fails_half_way_leaves_nothing(self, house: Storage) -> None:
        """Whatever a step has written before it is refused goes with it; the others stay done."""
        ids = [open_task(house, each) for each in VERSIONS]

        def step(writer: Writer, task: Task) -> Task:
            Task.objects.filter(id=task.id).update(decision="half done")
            if str(task.id) == ids[1]:
                raise Conflict("No further.")
            return task

        caller = Caller(CallerKind.STAFF, "staff:1", frozenset(Role))
        with tenant_scope(house):
            tasks = list(Task.objects.order_by("requested_on", "id"))
            outcomes = step_each(settled_writer(fresh(house), caller, ""), tasks, step)
            assert [each.task for each in outcomes] == tasks
            assert {str(each.task.id): each.problem and each.problem.message for each in outcomes} == {
                ids[0]: None, ids[1]: "No further.", ids[2]: None,
            }  # fmt: skip
            told = {str(each.id): each.decision for each in Task.objects.all()}
        assert told == {ids[0]: "half done", ids[1]: "", ids[2]: "half done"}

    @pytest.mark.usefixtures("days_go_by")
    def test_each_has_its_own_moment(self, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of two changes of an element the later one has the later time, also when a long list is worked through."""
        client, tasks = boss(house), [open_task(house, each) for each in VERSIONS[:2]]
        moments = iter(
            datetime.fromisoformat("2026-07-02T10:00:00+00:00") + timedelta(minutes=n) for n in range(10_000)
        )
        monkeypatch.setattr(timezone, "now", lambda: next(moments))
        take(client, "reject", *tasks, comment="x")
        with tenant_scope(house):
            assert len(set(LifecycleEntry.objects.values_list("changed_on", flat=True))) == 2


class TestRights:
    @pytest.mark.parametrize("role", [Role.ANALYZER, Role.EDITOR, Role.APPROVER, Role.ARCHITECT, Role.ADMINISTRATOR])
    def test_who_is_offered_what(self, house: Storage, role: Role) -> None:
        client, task = member(house, role), open_task(house)
        decides = role in (Role.APPROVER, Role.ARCHITECT, Role.ADMINISTRATOR)
        asks = role in (Role.EDITOR, Role.ARCHITECT, Role.ADMINISTRATOR)
        allowed = dict(zip(STEPS, (decides, decides, decides, asks, asks), strict=True))
        assert client.get(TASKS).status_code == 200
        page = client.get(f"{TASKS}{task}/change/").content.decode()
        assert {each: f"{TASKS}{task}/{each}/" in page for each in STEPS} == allowed
        offered = set(re.findall(r'<option value="(\w+)"', client.get(TASKS).content.decode()))
        assert {each: each in offered for each in STEPS} == allowed
        before = fingerprints(house)
        for step in STEPS:
            status = 200 if allowed[step] else 403
            assert client.get(f"{TASKS}{task}/{step}/").status_code == status
            assert client.get(f"{TASKS}step/{step}/?task={task}").status_code == status
            if not allowed[step]:
                assert take(client, step, task, comment="x", assignee=ID["dora"]).status_code == 403
        assert fingerprints(house) == before

    def test_the_domain_decides_about_each_task(self, house: Storage, desk: Sit) -> None:
        """Dora approves, but the task is for Ben; Anna edits and may take back what she has asked for, nobody else."""
        dora, anna = member(house, Role.APPROVER, user="dora"), member(house, Role.EDITOR, user="anna")
        someone = member(house, Role.EDITOR)
        task = ask(desk(user="anna"))
        response = take(dora, "accept", task, comment="x")
        assert (response.status_code, ANOTHERS in text_of(response)) == (403, True)
        for step, does in (("withdraw", "withdraws it"), ("remind", "reminds of it")):
            response = take(someone, step, task, comment="x")
            words = f"Only who has made the request {does}; this needs the role administrator."
            assert (response.status_code, words in text_of(response)) == (403, True)
        assert "1 reminder was recorded." in told(anna, take(anna, "remind", task))
        assert "1 task was withdrawn." in told(anna, take(anna, "withdraw", task, comment="Not yet."))

    def test_who_asks_does_not_consent(self, house: Storage, desk: Sit) -> None:
        grant(house, "anna", architect=True)
        anna, task = member(house, Role.ARCHITECT, user="anna"), ask(desk(user="anna"))
        assert take(anna, "accept", task, comment="x").status_code == 403
        assert state_of(house, task) == ["open"]

    def test_another_storages_task_is_not_there(self, house: Storage) -> None:
        """The same ids live in both storages: only the tenant tells them apart."""
        rival = rival_of(house)
        own, other = open_task(house), open_task(rival)
        with tenant_scope(rival):
            twin = Task.objects.get(id=other)
            twin.delete()
            twin.id = UUID(own)
            twin.save(force_insert=True)
        client, before = boss(house), fingerprints(house)[1]
        for step in STEPS:
            assert client.get(f"{TASKS}step/{step}/?task={other}").status_code == 404
            assert take(client, step, other, comment="x", assignee=ID["dora"]).status_code == 404
        assert client.get(f"{TASKS}{other}/change/").status_code == 404
        take(client, "reject", own, comment="Only here.")
        assert (state_of(house, own), state_of(rival, own)) == (["rejected"], ["open"])
        assert fingerprints(house)[1] == before

    def test_addresses_of_nothing(self, house: Storage) -> None:
        client = boss(house)
        for path in (
            "step/nonsense/",
            "step/accept/",
            "step/accept/?task=x",
            f"step/accept/?task={UNKNOWN}",
            "x/change/",
        ):
            assert client.get(f"{TASKS}{path}").status_code == 404
        assert client.get(f"{LOG}{UNKNOWN}/change/").status_code == 404


class TestThePage:
    def test_everything_of_a_task(self, house: Storage, desk: Sit, clock: Clock) -> None:
        task = ask(desk(user="anna"), comment="Out of date.", validUntil="2026-08-01T00:00:00")
        clock.set("2026-07-20T10:00:00+00:00")
        client = boss(house)
        take(client, "remind", task)
        text = text_of(client.get(f"{TASKS}{task}/change/"))
        for part in (
            "Approve expiry: released-1",
            "Why the task is stuck Open for 19 days. Remind, reassign, or decide on behalf.",
            "State “Expiry requested”, ending 2026-08-01 00:00 Request expiry",
            "By Anna , 2026-07-01 12:00 Out of date.",
            "Approver Ben Reminded once, on 2026-07-20 12:00",
            "State Open",
            "Age 19 days, overdue by 5 days 2026-07-15 12:00",
            "2026-07-20 12:00 Reminded Ben Request expiry version 1.0 Released Berta Boss",
        ):
            assert part in text, text
        take(client, "reject", task, comment="Keep it.")
        text = text_of(client.get(f"{TASKS}{task}/change/"))
        assert "State Rejected Berta Boss on behalf of Ben, just now Keep it." in text
        assert "Task rejected on behalf of Ben" in text
        assert "Possible actions" not in client.get(f"{TASKS}{task}/change/").content.decode()
        assert client.post(f"{TASKS}{task}/change/", {"state": "open"}).status_code in (200, 403, 405)
        assert state_of(house, task) == ["rejected"]


class TestTheLog:
    @pytest.mark.usefixtures("days_go_by")
    def test_all_steps_newest_first(self, house: Storage, desk: Sit, clock: Clock) -> None:
        client, anna = boss(house), desk(user="anna")
        ask(anna)
        clock.set("2026-07-02T10:00:00+00:00")
        desk(user="cora").applied("inProcess", "InProcessToReleased", body={"comment": "At last."})
        rows = rows_of(client.get(LOG))
        assert len(rows) == 2
        assert rows[0].startswith(
            "2026-07-02 12:00 inProcess-1 Sub process 1.0 Transition Release In process → Released Cora"
        )
        assert "At last." in rows[0]
        assert rows[1].startswith("2026-07-01 12:00 released-1 Sub process 1.0 Task made")
        assert rows_of(client.get(f"{LOG}?step=request")) == rows[1:]
        assert rows_of(client.get(f"{LOG}?step=release")) == rows[:1]
        assert rows_of(client.get(f"{LOG}?week=2026-06-29")) == rows
        assert rows_of(client.get(f"{LOG}?week=recent")) == rows
        assert rows_of(client.get(f"{LOG}?week=2026-07-06")) == rows_of(client.get(f"{LOG}?week=x")) == []
        assert rows_of(client.get(f"{LOG}?p=2")) == []

    def test_a_step_leads_to_its_element(self, house: Storage, desk: Sit) -> None:
        ask(desk(user="anna"))
        with tenant_scope(house):
            entry = LifecycleEntry.objects.get()
        found = boss(house).get(f"{LOG}{entry.id}/change/")["Location"]
        assert found == f"{OFFICE}elements/element/{ID['released']}/change/?version={ID['released-1']}"
