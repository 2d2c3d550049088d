"""Every state, transition and role (D20, D21, D82, D83), against a table that is written down here: what is offered is
what is accepted, everything else is refused in the right order and words, and what is accepted does what it should.

The last part is the specification's own table of states, row by row, through both of its prefixes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from itertools import product
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from elements.models import ElementVersion
from elements.reading.rows import read_versions
from elements.writing.history import Author
from elements.writing.updating import Writer
from facets.configuration import configuration_of
from release.lifecycle.transitions import TransitionRequest, apply_transition
from release.models import LifecycleEntry, Task
from repository_site.core.problems import Conflict, Forbidden, NotFound
from storage.access import callers
from storage.access.callers import CallerKind
from storage.access.tokens import token_digest
from storage.models import ApiToken, Storage
from storage.models.roles import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.release.house import API, BASE, ID, PUBLISHED, STATES, Desk, Wire, one, user
from tests.scale import only_at_full_scale

pytestmark = pytest.mark.django_db
Sit = Callable[..., Desk]
EDIT, APPROVE = "EditElement", "ApproveElement"
UNKNOWN = "InProcessToNowhere"
NO_TOKEN = "This needs a credential. Send an API token: Authorization: Bearer <token>."
# Late in the evening in London, but the next day in Berlin, where the storage is.
NOW = datetime.fromisoformat("2026-07-01T22:30:00.25+00:00")
LOCAL_NOW, TODAY = "2026-07-02T00:30:00.25", "2026-07-02T00:00:00"


class Row(NamedTuple):
    key: str
    source: str
    target: str
    needs: tuple[str, ...]
    """One of these permissions."""
    asks: bool = False
    """It only asks for consent: a task is made, and the element stays as it is."""


# In configured order, which is that of the specification for the first six.
TABLE = (
    Row("InProcessToInReview", "inProcess", "inReview", (EDIT,)),
    Row("InProcessToReadyForQA", "inProcess", "readyForQa", (EDIT,)),
    Row("InProcessToReadyForRelease", "inProcess", "readyForRelease", (EDIT,)),
    Row("InProcessToReleased", "inProcess", "released", (APPROVE,)),
    Row("InProcessToReleasedQA", "inProcess", "released", (APPROVE,)),
    Row("InProcessToReleasedExternal", "inProcess", "released", (APPROVE,)),
    Row("InReviewToInProcess", "inReview", "inProcess", (EDIT, APPROVE)),
    Row("InReviewToReadyForQA", "inReview", "readyForQa", (EDIT,)),
    Row("InReviewToReadyForRelease", "inReview", "readyForRelease", (EDIT,)),
    Row("ReadyForQAToInProcess", "readyForQa", "inProcess", (EDIT, APPROVE)),
    Row("ReadyForQAToReadyForRelease", "readyForQa", "readyForRelease", (EDIT,)),
    Row("ReadyForReleaseToInProcess", "readyForRelease", "inProcess", (EDIT, APPROVE)),
    Row("ReadyForReleaseToReleased", "readyForRelease", "released", (APPROVE,)),
    Row("ReleasedToRequestToExpire", "released", "requestToExpire", (EDIT,), asks=True),
    Row("InEffectToRequestToExpire", "inEffect", "requestToExpire", (EDIT,), asks=True),
)
BY_KEY = {row.key: row for row in TABLE}
KINDS = {
    401: ("unauthorized", "volatile"),
    403: ("unauthorized", "volatile"),
    404: ("error", "volatile"),
    409: ("error", "dialog"),
}


class Who(NamedTuple):
    role: Role
    may: tuple[str, ...]
    user: str | None = None


# The editor is anna, whom all elements have as their author.
CALLERS = (
    Who(Role.VIEWER, ()),
    Who(Role.ANALYZER, ()),
    Who(Role.EDITOR, (EDIT,), "anna"),
    Who(Role.APPROVER, (APPROVE,)),
    Who(Role.ARCHITECT, (EDIT, APPROVE)),
    Who(Role.ADMINISTRATOR, (EDIT, APPROVE)),
)
every_role = pytest.mark.parametrize("who", CALLERS, ids=lambda who: who.role.value)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOW)


@contextmanager
def undone() -> Iterator[None]:
    """What happens inside has not happened afterwards."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def contents(storage: Storage) -> str:
    """A digest of everything that is stored about elements and their lives."""
    tables = [f"elements_{name}" for name in ("element", "elementversion", "reference", "shape", "elementchange")]
    tables += ["release_task", "release_lifecycleentry"]
    parts = (f"(SELECT coalesce(string_agg(t::text, ',' ORDER BY t.id), '') FROM {name} t)" for name in tables)
    with tenant_scope(storage), connection.cursor() as cursor:
        cursor.execute(f"SELECT md5(concat_ws('|', {', '.join(parts)}))")
        return str(cursor.fetchone()[0])


@cache
def first_contents(storage: Storage) -> str:
    """As it was when it was asked for the first time."""
    return contents(storage)


def both_contents(house: Storage) -> list[str]:
    return [contents(house), contents(Storage.objects.get(collection__key="rival", key=house.key))]


def accepted(may: tuple[str, ...], state: str) -> list[Row]:
    return [row for row in TABLE if row.source == state and set(row.needs) & set(may)]


def refusal(who: Who, state: str, key: str) -> tuple[int, str] | None:
    """In the order of D83; None where it is accepted."""
    label = f"subProcess {ID[f'{state}-1']}"
    if who.role is Role.VIEWER and state not in PUBLISHED:
        return 404, f"There is no element {ID[state]}."
    if key not in BY_KEY:
        return 404, f"There is no transition {key!r} in the release cycle standard; it has {', '.join(BY_KEY)}."
    row = BY_KEY[key]
    if not set(row.needs) & set(who.may):
        return 403, f"{key} of {label} needs the permission {' or '.join(row.needs)}."
    if row.source != state:
        *others, last = [row.key for row in accepted(who.may, state)] or [""]
        now = f"offered now: {', '.join(others)} and {last}" if others else f"offered now: {last}"
        return (
            409,
            f"{label} is in the state {state}, {key} is not offered; {now if last else 'nothing is offered now'}.",
        )
    return None


def error_body(status: int, message: str) -> Wire:
    type, output = KINDS[status]
    return {"message": message, "output": output, "type": type, "data": [{"error": message}]}


class Caller(Desk):
    """Somebody of the table, and how answers name them."""

    def __init__(self, storage: Storage, api: ApiClient, who: Who) -> None:
        super().__init__(storage, api, who.role, user=who.user)
        token = ApiToken.objects.get(digest=token_digest(self.token, settings.SECRET_KEY))
        self.label = f"token:{token.id}"
        self.reference = user_reference(who.user) if who.user else _reference("automation", "authToken", str(token.id))
        self.before = cache(self.element)
        """Elements as they are; what a test changes it takes back."""


def _reference(facet: str, type: str, element: str) -> Wire:
    address = f"{BASE}/rest/facets/{facet}/views/detail/elements/{element}"
    return {"facetName": facet, "id": element, "creationId": element, "type": type, "expandUri": address}


def user_reference(name: str) -> Wire:
    return _reference("users", "user", ID[name])


def version_reference(name: str, version: str, state: str) -> Wire:
    return {
        "facetName": "processes", "id": ID.get(name, name), "versionId": ID.get(version, version),
        "type": "subProcess", "state": state,
        "expandUri": f"{BASE}/rest/facets/processes/views/detail/elements/{ID.get(version, version)}",
    }  # fmt: skip


def element_after(row: Row, caller: Caller) -> Wire:
    """The whole element, as the caller is to see it after the transition."""
    before = caller.before(row.source)
    if row.asks:
        return before
    attributes = {**before["attributes"], "changedOn": {"127": LOCAL_NOW}, "state1": {"127": row.target}}
    related = {**before["related"], "changedBy": [caller.reference]}
    if row.target == "released":
        attributes |= {
            "isReleased": {"127": True}, "relOn": {"127": LOCAL_NOW}, "validFrom": {"127": TODAY},
            "version": {"127": "1.0"},
        }  # fmt: skip
        history = [version_reference(row.source, f"{row.source}-1", row.target)]
        related |= {"relBy": [caller.reference], "releaseHistory": history}
    return {**before, "state": row.target, "attributes": attributes, "related": related}


def step_after(row: Row, caller: Caller, response: Any) -> Wire:
    """The one entry of the element's log. A request stays where it is."""
    step = {
        "number": 1,
        "step": "request" if row.asks else "transition",
        "versionId": ID[f"{row.source}-1"],
        "version": "1.0" if "released" in (row.source, row.target) or row.source == "inEffect" else "0.1",
        "fromState": row.source,
        "toState": row.source if row.asks else row.target,
        "transitionId": row.key,
        "changedOn": LOCAL_NOW,
        "caller": caller.label,
        "requestId": response["X-Request-ID"],
        "changedBy": caller.reference,
    }
    if row.asks:
        with tenant_scope(caller.storage):
            step["taskId"] = str(Task.objects.get(version_id=UUID(ID[f"{row.source}-1"]), state="open").id)
    return step


def stored_after(row: Row, released_by: UUID) -> tuple[Any, ...]:
    """State, its category, number, who has released it, and what readers see of the element."""
    version = UUID(ID[f"{row.source}-1"])
    if row.asks:
        return row.source, "published", 1, 0, UUID(ID["ben"]), version
    if row.target == "released":
        return "released", "published", 1, 0, released_by, version
    return row.target, "draft" if row.target == "inProcess" else "review", 0, 1, None, None


# Applying.


PAIRS = tuple(product(STATES, (*BY_KEY, UNKNOWN)))
assert len(PAIRS) == 8 * 16
REFUSED = {403: Forbidden, 404: NotFound, 409: Conflict}


@every_role
def test_every_combination(house: Storage, who: Who) -> None:
    """What decides, without the API around it, which would make this take long; the next test has some through it."""
    caller = callers.Caller(
        CallerKind.TOKEN, "test", frozenset({who.role}), UUID(ID[who.user]) if who.user else None, "test"
    )
    pairs = [pair for pair in PAIRS if who.role is not Role.VIEWER or pair[0] in PUBLISHED]
    stored = both_contents(house)
    with tenant_scope(house):
        author = Author(caller.element_id, caller.label, "")
        writer = Writer(configuration_of(house), caller, ZoneInfo(house.time_zone), author)
        rows = read_versions([ID[f"{state}-1"] for state in STATES])
        for state, key in pairs:
            row, wanted = rows[ID[f"{state}-1"]], TransitionRequest(transition=key)
            if (refused := refusal(who, state, key)) is None:
                with undone():
                    assert apply_transition(writer, row, wanted) == row.version, (state, key)
            else:
                with pytest.raises(REFUSED[refused[0]]) as caught:
                    apply_transition(writer, row, wanted)
                assert caught.value.message == refused[1], (state, key)
    assert both_contents(house) == stored


def some_pairs(who: Who) -> list[tuple[str, str]]:
    """All transitions in the state that they start from, and one that starts elsewhere, or is unknown, in each state:
    another one for each role."""
    found = [(row.source, row.key) for row in TABLE]
    for place, state in enumerate(STATES):
        others = [pair for pair in PAIRS if pair[0] == state and pair not in found]
        found.append(others[(3 * place + 2 * CALLERS.index(who)) % len(others)])
    return found


@every_role
@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=[pytest.mark.long, only_at_full_scale])], ids=["some", "every"]
)
def test_what_applying_answers_and_does(house: Storage, api: ApiClient, who: Who, every: bool) -> None:
    caller = Caller(house, api, who)
    stored = both_contents(house)
    for state, key in PAIRS if every else some_pairs(who):
        refused = refusal(who, state, key)
        if refused is None:
            with undone():
                check_step(caller, BY_KEY[key])
        else:
            response = caller.apply(state, key)
            assert (response.status_code, response.json()) == (refused[0], error_body(*refused)), (state, key)
    assert both_contents(house) == stored


def check_step(caller: Caller, row: Row) -> None:
    after = element_after(row, caller)
    response = caller.apply(row.source, row.key)
    assert response.status_code == 200, (row, response.content)
    assert response.json() == {"count": 1, "elements": [after]}, row
    assert caller.steps(row.source) == [step_after(row, caller, response)]
    columns = ("state", "category", "major", "minor", "released_by_id", "element__published_id")
    with tenant_scope(caller.storage):
        found = ElementVersion.objects.values_list(*columns).get(id=ID[f"{row.source}-1"])
    assert found == stored_after(row, UUID(caller.reference["id"])), row


def test_nobody_applies_anything_without_a_token(api: ApiClient, house: Storage) -> None:
    stored = both_contents(house)
    expected = error_body(401, NO_TOKEN)
    for state, key in PAIRS:
        response = api.post(f"{API}/release/{ID[state]}/transitions/{key}")
        assert (response.status_code, response["WWW-Authenticate"], response.json()) == (401, "Bearer", expected)
    assert both_contents(house) == stored


# Listing.


def listed(rows: list[Row]) -> list[Wire]:
    return [{"transitionId": row.key, "sourceState": row.source, "targetState": row.target} for row in rows]


@every_role
def test_what_is_offered_is_what_is_accepted(desk: Sit, house: Storage, who: Who) -> None:
    """By GET and POST; by the id of the element and of the version."""
    caller = desk(who.role, user=who.user)
    stored = both_contents(house)
    for state in STATES:
        offered = listed([row for row in TABLE if refusal(who, state, row.key) is None])
        got = caller.get(f"release/{ID[state]}/transitions")
        posted = caller.post(f"rest/release/{ID[f'{state}-1']}/transitions")
        if who.role is Role.VIEWER and state not in PUBLISHED:
            for response, name in ((got, state), (posted, f"{state}-1")):
                expected = error_body(404, f"There is no element {ID[name]}.")
                assert (response.status_code, response.json()) == (404, expected)
        else:
            assert (got.status_code, got["api-version"]) == (200, "1.0")
            assert (posted.status_code, posted["api-version"]) == (200, "1.0")
            assert got.json() == {"count": len(offered), "values": offered}, state
            assert posted.json() == {"count": len(offered), "transitions": offered}, state
    assert both_contents(house) == stored


def test_the_other_ways_to_ask(desk: Sit) -> None:
    """GET below rest, POST not below it, HEAD, an empty object, and a slash at the end."""
    cora = desk(Role.ADMINISTRATOR)
    for state in STATES:
        offered = listed([row for row in TABLE if row.source == state])
        got = cora.get(f"rest/release/{ID[f'{state}-1']}/transitions/")
        posted = cora.post(f"release/{ID[state]}/transitions", {})
        assert got.json() == {"count": len(offered), "values": offered}
        assert posted.json() == {"count": len(offered), "transitions": offered}
    head = cora.api.head(f"{API}/release/{ID['inProcess']}/transitions", token=cora.token)
    assert (head.status_code, head.content) == (200, b"")


def test_nobody_lists_anything_without_a_token(api: ApiClient, house: Storage) -> None:
    expected = error_body(401, NO_TOKEN)
    for state in STATES:
        for response in (
            api.get(f"{API}/release/{ID[state]}/transitions"),
            api.post(f"{API}/rest/release/{ID[state]}/transitions"),
        ):
            assert (response.status_code, response.json()) == (401, expected)


# Authors (D20).


def test_an_editor_who_is_not_the_author_has_nothing_to_apply(desk: Sit, house: Storage) -> None:
    other = desk(Role.EDITOR)
    stored = both_contents(house)
    for state in STATES:
        assert other.offered(state) == []
    for row in TABLE:
        response = other.apply(row.source, row.key)
        message = f"{row.key} of subProcess {ID[f'{row.source}-1']} needs the permission {' or '.join(row.needs)}."
        assert (response.status_code, response.json()) == (403, error_body(403, message))
    assert other.apply("inProcess", UNKNOWN).status_code == 404
    assert both_contents(house) == stored


def test_two_roles_together_allow_what_either_does(desk: Sit) -> None:
    """Not the author, who may therefore approve only."""
    other = desk(Role.EDITOR, Role.APPROVER)
    for state in STATES:
        assert other.offered(state) == [row.key for row in accepted((APPROVE,), state)]
    response = other.apply("inReview", "InReviewToReadyForQA")
    message = f"InReviewToReadyForQA of subProcess {ID['inReview-1']} needs the permission EditElement."
    assert (response.status_code, response.json()) == (403, error_body(403, message))
    assert other.applied("inReview", "InReviewToInProcess")["state"] == "inProcess"


def test_secondary_authors_are_authors(desk: Sit) -> None:
    anna, cora = desk(user="anna"), desk(user="cora")
    editing = [row.key for row in accepted((EDIT,), "inProcess")]

    def has(**authors: list[Wire]) -> list[str]:
        assert cora.update({"id": ID["inProcess"], "related": authors}).status_code == 200
        return anna.offered("inProcess")

    assert has(author=[user("ben")]) == []
    response = anna.apply("inProcess", "InProcessToInReview")
    message = f"InProcessToInReview of subProcess {ID['inProcess-1']} needs the permission EditElement."
    assert (response.status_code, response.json()) == (403, error_body(403, message))
    assert has(secondaryAuthors=[user("dora"), user("anna")]) == editing
    with undone():
        assert anna.applied("inProcess", "InProcessToInReview")["state"] == "inReview"
    assert has(secondaryAuthors=[user("dora")]) == []
    assert has(author=[]) == []
    # Without any author every editor may.
    assert has(secondaryAuthors=[]) == editing
    assert desk(Role.EDITOR).offered("inProcess") == editing
    assert desk(Role.EDITOR).applied("inProcess", "InProcessToInReview")["state"] == "inReview"


# The specification's table of states.


@pytest.fixture(params=["release", "rest/release"])
def prefix(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def take(desk: Desk, prefix: str, state: str, key: str) -> Wire:
    """A transition that the list offers, as every row of the table has it."""
    row = BY_KEY[key]
    offered = desk.get(f"{prefix}/{ID[state]}/transitions").json()["values"]
    assert {"transitionId": key, "sourceState": row.source, "targetState": row.target} in offered
    return one(desk.post(f"{prefix}/{ID[state]}/transitions/{key}"))


def check_row(desk: Desk, prefix: str, key: str, *, released: bool = False) -> None:
    row = BY_KEY[key]
    after = take(desk, prefix, row.source, key)
    attributes = after["attributes"]
    assert (after["versionId"], after["state"]) == (ID[f"{row.source}-1"], row.target)
    assert attributes["state1"] == {"127": row.target}
    assert attributes["isReleased"] == {"127": released}
    assert attributes["version"] == {"127": "1.0" if released else "0.1"}
    assert desk.element(row.source) == after
    assert desk.offered(row.source) == [each.key for each in TABLE if each.source == row.target]


def test_in_process_by_in_process_to_in_review(desk: Sit, prefix: str) -> None:
    check_row(desk(Role.ADMINISTRATOR), prefix, "InProcessToInReview")


def test_in_process_by_in_process_to_ready_for_qa(desk: Sit, prefix: str) -> None:
    check_row(desk(Role.ADMINISTRATOR), prefix, "InProcessToReadyForQA")


def test_in_process_by_in_process_to_ready_for_release(desk: Sit, prefix: str) -> None:
    check_row(desk(Role.ADMINISTRATOR), prefix, "InProcessToReadyForRelease")


def test_in_process_by_in_process_to_released(desk: Sit, prefix: str) -> None:
    check_row(desk(Role.ADMINISTRATOR), prefix, "InProcessToReleased", released=True)


def test_in_process_by_in_process_to_released_qa(desk: Sit, prefix: str) -> None:
    check_row(desk(Role.ADMINISTRATOR), prefix, "InProcessToReleasedQA", released=True)


def test_in_process_by_in_process_to_released_external(desk: Sit, prefix: str) -> None:
    check_row(desk(Role.ADMINISTRATOR), prefix, "InProcessToReleasedExternal", released=True)


def test_released_by_released_to_request_to_expire(desk: Sit, prefix: str) -> None:
    """The element is answered still released; the task must be accepted to complete the transition."""
    anna, ben = desk(user="anna"), desk(user="ben")
    before = anna.element("released")
    assert take(anna, prefix, "released", "ReleasedToRequestToExpire") == before
    [task] = ben.tasks()
    assert (task["type"], task["element"]) == (
        "Approve expiry",
        version_reference("released", "released-1", "released"),
    )
    assert task["assignee"]["id"] == ID["ben"]
    # While it is open, the transition is not offered, and applying it is a conflict.
    assert anna.offered("released") == []
    response = anna.post(f"{prefix}/{ID['released']}/transitions/ReleasedToRequestToExpire")
    open_task = (
        f"A task Approve expiry of subProcess {ID['released-1']} is open; it must be decided or withdrawn first."
    )
    assert (response.status_code, response.json()) == (409, error_body(409, open_task))
    assert ben.post(f"rest/tasks/{task['id']}/accept").status_code == 200
    # It is to end today, so that it goes on at once.
    steps = [(each["step"], each.get("fromState"), each["toState"]) for each in anna.steps("released")]
    assert steps == [
        ("request", "released", "released"),
        ("transition", "released", "requestToExpire"),
        ("expiry", "requestToExpire", "expired"),
    ]
    assert anna.element("released")["state"] == "expired"


def test_released_by_createversion(desk: Sit, prefix: str) -> None:
    """Earlier versions show expired or released, and the release history of the new one lists them."""
    anna = desk(user="anna")
    new = one(anna.post(f"{prefix}/{ID['order']}/createversion"))
    assert (new["id"], new["state"]) == (ID["order"], "inProcess")
    assert new["related"]["releaseHistory"] == [
        version_reference("order", "order-1", "expired"), version_reference("order", "order-2", "released")
    ]  # fmt: skip
    versions = anna.get(f"rest/facets/processes/views/detail/elements/{ID['order']}/versions").json()
    found = [(each["versionId"], each["state"]) for each in versions["elements"]]
    assert found == [(ID["order-1"], "expired"), (ID["order-2"], "released"), (new["versionId"], "inProcess")]


def test_several_transitions_may_lead_to_one_state(desk: Sit, house: Storage) -> None:
    """Rule 2; the log says by which of them it was."""
    ben = desk(user="ben")
    ways = [row.key for row in TABLE if (row.source, row.target) == ("inProcess", "released")]
    assert len(ways) == 3
    for key in ways:
        with undone():
            ben.applied("inProcess", key)
            with tenant_scope(house):
                entry = LifecycleEntry.objects.get(element_id=ID["inProcess"])
                assert (entry.transition, entry.from_state, entry.to_state) == (key, "inProcess", "released")
