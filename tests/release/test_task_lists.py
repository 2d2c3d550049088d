"""Lists of tasks (D93) and their summary: visibility, filters, pages and invalid requests."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection

from release.models import Task
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.factories import token_for
from tests.release.house import API, BASE, ID, HouseClient, MakeClient, Wire
from tests.release.stored_contents import rival_of
from tests.release.task_calls import TYPE, refused, wire

pytestmark = pytest.mark.django_db
END = "Approve end"
KNOWN = "use state, type, element, assignee, requester or stuck"
SUBJECT = "expected the id of an element or a version"
PERSON = "expected me, all or the id of a user or group"
# Each with version, assignee and requester. The decided tasks have one time and no defined order.
TASKS: dict[str, dict[str, Any]] = {
    "bens": {"version": "released-1", "assignee": "ben", "requester": "anna", "hour": 8},
    "stuck": {"version": "inEffect-1", "requester": "anna", "hour": 9, "stuck_reasons": ["overdue"]},
    "crews": {"version": "order-2", "assignee": "crew", "requester": "cora", "hour": 7, "type": END},
    "withdrawn": {"version": "order-2", "assignee": "dora", "requester": "anna", "hour": 6, "state": "withdrawn"},
    "rejected": {"version": "house-1", "assignee": "dora", "requester": "cora", "hour": 6, "state": "rejected"},
    "accepted": {"version": "order-1", "assignee": "ben", "requester": "anna", "hour": 6, "state": "accepted"},
    "obsolete": {"version": "expired-1", "requester": "anna", "hour": 6, "state": "obsolete", "type": END},
}
TASK_ID = {name: f"{number:08x}-0000-4000-9000-000000000000" for number, name in enumerate(TASKS, 1)}
NAME = {task: name for name, task in TASK_ID.items()}


def make(name: str, version: str, hour: int, **fields: Any) -> Task:
    people = {f"{who}_id": ID[fields.pop(who)] for who in ("assignee", "requester") if who in fields}
    stuck = {"stuck_on": datetime.fromisoformat("2026-07-02T00:00:00+00:00")} if "stuck_reasons" in fields else {}
    identity = {"id": TASK_ID[name], "version_id": ID[version], "element_id": ID[version.rpartition("-")[0]]}
    way = {"transition": "T", "source_state": "released", "target_state": "requestToExpire", "revision": 0}
    asked = {"requested_on": f"2026-07-01T{hour:02}:00:00+00:00", "requester_label": "token:x"}
    return Task(**{"type": TYPE, "state": "open", **identity, **way, **asked, **people, **stuck, **fields})


@pytest.fixture
def tasks(house: Storage) -> None:
    """Create the tasks of the table; in the other storage the same ones, all open, stuck and assigned to Ben."""
    with tenant_scope(house):
        Task.objects.bulk_create([make(name, **fields) for name, fields in TASKS.items()])
    with tenant_scope(rival_of(house)):
        names = [name for name in TASKS if name != "withdrawn"]
        other: dict[str, Any] = {"assignee": "ben", "state": "open", "comment": "Rival's", "stuck_reasons": ["overdue"]}
        Task.objects.bulk_create([make(name, **{**TASKS[name], **other}) for name in names])


def names(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    body = response.json()
    assert list(body) == ["count", "values"]
    assert body["count"] == len(body["values"])
    return [NAME[each["id"]] for each in body["values"]]


@pytest.mark.usefixtures("tasks")
class TestVisibility:
    def test_tasks_that_wait_for_the_caller(self, desk: MakeClient) -> None:
        """Their own tasks, those of their groups, and those for every approver if they can approve; oldest first."""
        cases: list[tuple[str | None, tuple[Role, ...], list[str]]] = [
            ("ben", (), ["crews", "bens", "stuck"]),
            ("dora", (), ["crews", "stuck"]),
            ("anna", (), []),
            ("cora", (), ["stuck"]),
            (None, (Role.APPROVER,), ["stuck"]),
            (None, (Role.ARCHITECT,), ["stuck"]),
            (None, (Role.EDITOR, Role.ANALYZER), []),
        ]
        for user, roles, found in cases:
            assert names(desk(*roles, user=user).get("rest/tasks")) == found, (user, roles)
        ben = desk(user="ben")
        for query in ("?assignee=me", "?state=open&assignee=me&requester=all"):
            assert names(ben.get(f"rest/tasks{query}")) == ["crews", "bens", "stuck"], query

    def test_own_requests_wait_for_others(self, house: Storage, desk: MakeClient) -> None:
        """This applies to tasks for everybody, for their group and for themselves. Administrators can decide their own."""
        mine = {"crews": "crew", "bens": "ben", "stuck": None}

        def asked_by(requester: str | None, label: str = "token:x") -> None:
            with tenant_scope(house):
                for name in mine:
                    Task.objects.filter(id=TASK_ID[name]).update(
                        requester_id=requester and ID[requester], requester_label=label
                    )

        ben, dora, cora = desk(user="ben"), desk(user="dora"), desk(user="cora")
        asked_by("ben")
        assert [names(each.get("rest/tasks")) for each in (ben, dora, cora)] == [[], ["crews", "stuck"], ["stuck"]]
        assert names(ben.get("rest/tasks?assignee=me")) == []
        assert names(ben.get("rest/tasks?requester=me&assignee=me")) == []
        assert names(ben.get("rest/tasks?requester=me")) == ["crews", "bens", "stuck"]
        assert names(ben.get("rest/tasks?assignee=all")) == ["crews", "bens", "stuck"]
        assert names(ben.get(f"rest/tasks?assignee={ID['ben']}")) == ["bens"]
        asked_by("cora")
        assert [names(each.get("rest/tasks")) for each in (ben, cora)] == [["crews", "bens", "stuck"], ["stuck"]]
        # Requesters without an element, or deleted.
        asked_by(None)
        assert names(ben.get("rest/tasks")) == ["crews", "bens", "stuck"]

    def test_whole_payloads(self, desk: MakeClient) -> None:
        response = desk(user="dora").get("rest/tasks")
        common: Wire = {
            "state": "open", "transitionId": "T", "sourceState": "released", "targetState": "requestToExpire",
            "requester": "token:x",
        }  # fmt: skip
        assert response.json() == {
            "count": 2,
            "values": [
                {
                    **common,
                    "id": TASK_ID["crews"],
                    "type": END,
                    "element": wire("order", "released", "order-2"),
                    "requestedOn": "2026-07-01T09:00:00",
                    "requestedBy": wire("cora"),
                    "assignee": wire("crew"),
                    "isStuck": False,
                },
                {
                    **common,
                    "id": TASK_ID["stuck"],
                    "type": TYPE,
                    "element": wire("inEffect", "inEffect"),
                    "requestedOn": "2026-07-01T11:00:00",
                    "requestedBy": wire("anna"),
                    "isStuck": True,
                    "stuckOn": "2026-07-02T02:00:00",
                    "stuckReasons": ["overdue"],
                },
            ],
        }
        assert (response["api-version"], response["X-Total-Count"]) == ("1.0", "2")

    def test_deleted_people_are_left_out(self, house: Storage, desk: MakeClient) -> None:
        with tenant_scope(house):
            gone = "ffffffff-0000-4000-8000-000000000000"
            Task.objects.filter(id=TASK_ID["bens"]).update(assignee_id=gone, requester_id=gone)
        (found,) = desk(user="ben").get(f"rest/tasks?assignee=all&element={ID['released']}").json()["values"]
        assert (found["requester"], "requestedBy" in found, "assignee" in found) == ("token:x", False, False)

    def test_another_storage_has_its_own_tasks(self, house: Storage, api: ApiClient) -> None:
        token = token_for(rival_of(house), Role.ANALYZER)
        response = api.get("/rival/house/_api/rest/tasks?assignee=all", token=token)
        assert sorted(names(response)) == sorted({*TASKS} - {"withdrawn"})
        assert {each["comment"] for each in response.json()["values"]} == {"Rival's"}
        summary = api.get("/rival/house/_api/rest/tasks/summary", token=token).json()
        assert [(each["state"], each["count"], each["stuck"]) for each in summary["values"]] == [
            ("open", 2, 2),
            ("open", 4, 4),
        ]


@pytest.mark.usefixtures("tasks")
class TestFilters:
    def test_single_and_combined_filters(self, desk: MakeClient) -> None:
        ben = desk(user="ben")
        cases = [
            ("?assignee=all", "crews bens stuck"),
            ("?requester=all", "crews bens stuck"),
            (f"?assignee={ID['ben']}", "bens"),
            (f"?assignee={ID['ben'].upper()}", "bens"),
            (f"?assignee={ID['crew']}", "crews"),
            (f"?assignee={ID['dora']}", ""),
            (f"?assignee={ID['erp']}", ""),
            ("?requester=me", ""),
            (f"?requester={ID['anna']}", "bens stuck"),
            (f"?requester={ID['cora']}", "crews"),
            (f"?requester={ID['anna']}&assignee=me", "bens stuck"),
            (f"?requester={ID['anna']}&assignee={ID['ben']}", "bens"),
            ("?state=accepted", "accepted"),
            ("?state=obsolete", "obsolete"),
            ("?state=rejected", ""),
            ("?state=rejected&assignee=all", "rejected"),
            ("?state=withdrawn,rejected&assignee=all", "withdrawn rejected"),
            ("?state=accepted,open", "accepted crews bens stuck"),
            (
                "?assignee=all&state=open,accepted,rejected,withdrawn,obsolete",
                "withdrawn rejected accepted obsolete crews bens stuck",
            ),
            (f"?type={quote(TYPE)}", "bens stuck"),
            (f"?type={quote(END)}", "crews"),
            (f"?type={quote(END)},{quote(TYPE)}", "crews bens stuck"),
            ("?type=Approve", ""),
            ("?type=%25", ""),
            (f"?element={ID['released']}", "bens"),
            (f"?element={ID['released-1'].upper()}", "bens"),
            (f"?element={ID['order']}", "crews"),
            (f"?element={ID['order-2']}&state=open,withdrawn&assignee=all", "withdrawn crews"),
            (f"?element={ID['order']}&state=open,withdrawn,accepted&assignee=all", "withdrawn accepted crews"),
            (f"?element={ID['order-1']}", ""),
            (f"?element={ID['ben']}", ""),
            ("?stuck=true", "stuck"),
            ("?stuck=false", "crews bens"),
            (f"?stuck=false&type={quote(TYPE)}&assignee=all&requester={ID['anna']}&state=open", "bens"),
            (f"?stuck=true&type={quote(END)}&assignee=all", ""),
            # Empty parameters are ignored.
            ("?state=&type=&element=&assignee=&requester=&stuck=", "crews bens stuck"),
        ]
        for query, found in cases:
            assert names(ben.get(f"rest/tasks{query}")) == found.split(), query

    def test_me_means_the_caller(self, house: Storage, desk: MakeClient) -> None:
        anna, token = desk(user="anna"), desk(Role.EDITOR)
        assert names(anna.get("rest/tasks?requester=me")) == ["bens", "stuck"]
        every = "state=open,accepted,rejected,withdrawn,obsolete"
        assert names(anna.get(f"rest/tasks?requester=me&{every}")) == [
            "withdrawn", "accepted", "obsolete", "bens", "stuck",
        ]  # fmt: skip
        assert names(anna.get("rest/tasks?requester=me&assignee=me")) == []
        assert names(token.get("rest/tasks?requester=me")) == []

    def test_invalid_filters(self, desk: MakeClient) -> None:
        ben = desk(user="ben")
        cases = [
            ("state=open,lost", ["state: Select a valid choice. lost is not one of the available choices."]),
            ("state=OPEN", ["state: Select a valid choice. OPEN is not one of the available choices."]),
            ("element=order", [f"element: {SUBJECT}."]),
            ("element=%00", [f"element: {SUBJECT}.", "element: Null characters are not allowed."]),
            ("assignee=you", [f"assignee: {PERSON}."]),
            (f"assignee=me,{ID['ben']}", [f"assignee: {PERSON}."]),
            (f"requester={ID['ben'][:-1]}", [f"requester: {PERSON}."]),
            ("stuck=1", ["stuck: Select a valid choice. 1 is not one of the available choices."]),
            ("type=%00", ["type: Null characters are not allowed."]),
            ("asignee=all", [f"asignee: unknown parameter; {KNOWN}."]),
            ("$filter=state -eq open", ["$filter: this operation takes $page and $pageSize."]),
            ("$page=0", ["$page: expected a whole number from 1 to 1000000000, not '0'."]),
            ("$pageSize=1001", ["$pageSize: expected a whole number from 1 to 1000, not '1001'."]),
            (
                "$top=1&$page=x&stat=open&state=x&element=x&assignee=x&requester=x&stuck=x&type=%00",
                [
                    "$top: this operation takes $page and $pageSize.",
                    "$page: expected a whole number from 1 to 1000000000, not 'x'.",
                    f"stat: unknown parameter; {KNOWN}.",
                    "state: Select a valid choice. x is not one of the available choices.",
                    "type: Null characters are not allowed.",
                    f"element: {SUBJECT}.",
                    f"assignee: {PERSON}.",
                    f"requester: {PERSON}.",
                    "stuck: Select a valid choice. x is not one of the available choices.",
                ],
            ),
        ]
        for query, errors in cases:
            self.refuse(ben.get(f"rest/tasks?{query}"), errors)

    def refuse(self, response: Any, errors: list[str]) -> None:
        """Check that all problems are reported at once."""
        message = errors[0] if len(errors) == 1 else f"{len(errors)} parameters are invalid."
        data = [{"error": each} for each in errors]
        assert response.json() == {"message": message, "output": "inline", "type": "error", "data": data}
        assert response.status_code == 400

    def test_unknown_parameters_are_reported_in_their_order(self, desk: MakeClient) -> None:
        wrong = ["zeta", "alpha", "mid", "omega", "beta", "kappa", "nu", "eta"]
        query = "&".join(f"{name}=1" for name in wrong)
        self.refuse(
            desk(user="ben").get(f"rest/tasks?{query}"), [f"{each}: unknown parameter; {KNOWN}." for each in wrong]
        )

    def test_repeated_parameters_are_refused(self, desk: MakeClient) -> None:
        """One of two values would have no effect."""
        values = {"state": ("open", "accepted"), "type": (TYPE, END), "stuck": ("true", "false")}
        values |= dict.fromkeys(("element", "assignee", "requester"), (ID["order"], ID["released"]))
        ben = desk(user="ben")
        for name, given in values.items():
            query = "&".join(f"{name}={quote(each)}" for each in given)
            self.refuse(ben.get(f"rest/tasks?{query}"), [f"{name} is given more than once; send it once."])

    def test_upper_and_lower_case_of_parameters_matter(self, desk: MakeClient) -> None:
        case = "upper and lower case matter in names; write"
        self.refuse(
            desk(user="ben").get("rest/tasks?State=open&PAGESIZE=2"),
            [f"State: {case} state.", "PAGESIZE: the $ is missing; write $pageSize."],
        )

    def test_ids_must_be_guids(self, desk: MakeClient) -> None:
        ben, plain = desk(user="ben"), ID["released"]
        for text in (f"{{{plain}}}", f"urn:uuid:{plain}", plain.replace("-", "")):
            self.refuse(ben.get(f"rest/tasks?element={quote(text)}"), [f"element: {SUBJECT}."])
            for name in ("assignee", "requester"):
                self.refuse(ben.get(f"rest/tasks?{name}={quote(text)}"), [f"{name}: {PERSON}."])

    def test_other_parameters_of_every_operation(self, desk: MakeClient) -> None:
        assert names(desk(user="dora").get("rest/tasks?api-version=1.0")) == ["crews", "stuck"]
        assert desk(user="dora").get("rest/tasks?api-version=4.0").status_code == 400


@pytest.mark.usefixtures("tasks")
class TestPages:
    ALL = "assignee=all&state=open,accepted,rejected,withdrawn,obsolete"
    ORDER = ["withdrawn", "rejected", "accepted", "obsolete", "crews", "bens", "stuck"]

    def links(self, response: Any) -> dict[str, str]:
        found = {}
        for part in response["Link"].split(", "):
            address, _, relation = part.partition("; rel=")
            found[relation.strip('"')] = address.strip("<>").removeprefix(f"{BASE}/rest/tasks?")
        return found

    def test_following_pages(self, desk: MakeClient) -> None:
        ben = desk(user="ben")
        seen = []
        for page in range(1, 5):
            response = ben.get(f"rest/tasks?{self.ALL}&$pageSize=2&$page={page}")
            seen.append(names(response))
            assert response["X-Total-Count"] == "7"
            expected = {"first": 1, "prev": page - 1, "next": page + 1, "last": 4}
            expected = {name: each for name, each in expected.items() if 1 <= each <= 4}
            assert self.links(response) == {
                name: f"{self.ALL}&$pageSize=2&$page={each}" for name, each in expected.items()
            }
        assert seen == [self.ORDER[:2], self.ORDER[2:4], self.ORDER[4:6], self.ORDER[6:]]

    def test_a_page_past_the_end(self, desk: MakeClient) -> None:
        response = desk(user="ben").get(f"rest/tasks?{self.ALL}&$page=9&$pageSize=3")
        assert names(response) == []
        assert response["X-Total-Count"] == "7"
        assert self.links(response) == {
            "first": f"{self.ALL}&$page=1&$pageSize=3",
            "prev": f"{self.ALL}&$page=3&$pageSize=3",
            "last": f"{self.ALL}&$page=3&$pageSize=3",
        }

    def test_the_default_page(self, house: Storage, desk: MakeClient) -> None:
        """A hundred tasks, with links to the rest."""
        with tenant_scope(house):
            rows = [make("accepted", **TASKS["accepted"]) for _ in range(103)]
            for number, row in enumerate(rows):
                row.id = f"{number:08x}-1111-4000-9000-000000000000"
            Task.objects.bulk_create(rows)
        ben = desk(user="ben")
        first, second = ben.get("rest/tasks?state=accepted"), ben.get("rest/tasks?state=accepted&$page=2")
        assert (first.json()["count"], second.json()["count"]) == (100, 4)
        assert first["X-Total-Count"] == second["X-Total-Count"] == "104"
        assert self.links(first)["next"] == "state=accepted&$page=2&$pageSize=100"
        found = [each["id"] for each in first.json()["values"] + second.json()["values"]]
        # Tasks of the same time are sorted by id.
        assert found == sorted(found)
        assert len(set(found)) == 104

    def test_the_page_size_is_limited(self, desk: MakeClient, settings: Any) -> None:
        settings.MAX_PAGE_SIZE = 3
        response = desk(user="ben").get(f"rest/tasks?{self.ALL}")
        assert (names(response), response["X-Total-Count"]) == (self.ORDER[:3], "7")
        assert self.links(response)["next"] == f"{self.ALL}&$page=2&$pageSize=3"

    def test_head_and_post(self, desk: MakeClient, api: ApiClient) -> None:
        ben = desk(user="ben")
        for path in (
            "rest/tasks",
            "rest/tasks?$page=1&$pageSize=2",
            "rest/tasks/summary",
            f"rest/tasks/{TASK_ID['bens']}",
        ):
            read = ben.get(path)
            assert read.status_code == 200
            for posted in (ben.post(path), ben.post(path, {})):
                assert (posted.status_code, posted.content) == (200, read.content)
            head = api.head(f"{API}/{path}", token=ben.token)
            assert (head.status_code, head.content) == (200, b"")
            for name in ("X-Total-Count", "Link"):
                assert head.get(name) == posted.get(name) == read.get(name)
            refused(ben.post(path, {"state": "open"}), 400, "This operation only reads and takes no body.")


class TestSummary:
    """Counts by type, state and age."""

    @pytest.fixture
    def now(self) -> datetime:
        """Return the time of the database, which is constant in a transaction."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT now()")
            found: datetime = cursor.fetchone()[0]
        return found

    def add(self, storage: Storage, number: int, state: str, asked: datetime, **fields: Any) -> None:
        with tenant_scope(storage):
            # A version can have one open task.
            row = make("bens", **{**TASKS["bens"], "state": state, **fields})
            row.id, row.requested_on = f"{number:08x}-2222-4000-9000-000000000000", asked
            if state == "open":
                versions = sorted(name for name in ID if name.endswith("-1"))
                row.version_id = ID[versions[number]]
            row.save(force_insert=True)

    def values(self, desk: HouseClient, path: str = "rest/tasks/summary") -> list[tuple[str, str, str, int, int]]:
        response = desk.get(path)
        assert response.status_code == 200, response.content
        body = response.json()
        assert list(body) == ["count", "values"]
        assert body["count"] == len(body["values"])
        assert all(list(each) == ["type", "state", "age", "count", "stuck"] for each in body["values"])
        return [tuple(each.values()) for each in body["values"]]

    def test_the_summary_of_an_empty_storage(self, desk: MakeClient) -> None:
        response = desk(Role.ANALYZER).get("rest/tasks/summary")
        assert response.json() == {"count": 0, "values": []}

    @pytest.mark.one_node("the clock of a node differs by more than a microsecond")
    def test_the_whole_summary(self, house: Storage, desk: MakeClient, now: datetime) -> None:
        day, tick = timedelta(days=1), timedelta(microseconds=1)
        ages = (0 * day, day - tick, day, 7 * day - tick, 7 * day, 14 * day, 14 * day + tick, 400 * day)
        for number, age in enumerate(ages):
            self.add(house, number, "open", now - age, **({"stuck_reasons": ["overdue"]} if number > 5 else {}))
        # A decided task keeps its age.
        long_ago = now - 400 * day
        for number, (state, age) in enumerate([("accepted", tick), ("accepted", 8 * day), ("obsolete", 15 * day)], 8):
            self.add(house, number, state, long_ago, decided_on=long_ago + age)
        self.add(house, 11, "withdrawn", now - 3 * day, decided_on=now, type=END)
        self.add(house, 12, "rejected", now - 3 * day, decided_on=now, type=END)
        analyst = desk(Role.ANALYZER)
        assert self.values(analyst) == [
            (END, "rejected", "underOneWeek", 1, 0),
            (END, "withdrawn", "underOneWeek", 1, 0),
            (TYPE, "open", "underOneDay", 2, 0),
            (TYPE, "open", "underOneWeek", 2, 0),
            (TYPE, "open", "withinLimit", 2, 0),
            (TYPE, "open", "overLimit", 2, 2),
            (TYPE, "accepted", "underOneDay", 1, 0),
            (TYPE, "accepted", "withinLimit", 1, 0),
            (TYPE, "obsolete", "overLimit", 1, 0),
        ]
        # The limit of the storage takes precedence.
        Storage.objects.filter(pk=house.pk).update(stuck_after_days=2)
        assert [each for each in self.values(analyst) if each[1] == "open"] == [
            (TYPE, "open", "underOneDay", 2, 0),
            (TYPE, "open", "underOneWeek", 1, 0),
            (TYPE, "open", "overLimit", 5, 2),
        ]

    def test_the_summary_takes_no_parameters(self, desk: MakeClient) -> None:
        response = desk(Role.ANALYZER).get("rest/tasks/summary?$page=1")
        refused(response, 400, "$page: this operation takes no $ parameters.")
