"""Every combination of state, transition and role, compared with the table in `tests/release/transition_table.py`."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.utils import timezone

from elements.models import ElementVersion
from elements.reading.rows import read_versions
from elements.writing.authors import Author
from elements.writing.writers import Writer
from facets.configuration import configuration_of
from release.lifecycle.transitions import TransitionRequest, apply_transition
from release.models import Task
from repository_site.core.problems import Conflict, Forbidden, NotFound
from storage.access import callers
from storage.access.callers import CallerKind
from storage.access.tokens import token_digest
from storage.models import ApiToken, Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.release.house import API, ID, PUBLISHED, STATES, HouseClient, MakeClient, Wire, user
from tests.release.stored_contents import fingerprints, undone
from tests.release.transition_table import (
    APPROVE,
    BY_KEY,
    EDIT,
    NOW,
    TABLE,
    TransitionRow,
    _reference,
    error_body,
    user_reference,
    version_reference,
)
from tests.scale import only_at_full_scale

pytestmark = [pytest.mark.django_db, pytest.mark.long]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOW)


UNKNOWN = "InProcessToNowhere"
NO_TOKEN = "This needs a credential. Send an API token: Authorization: Bearer <token>."
LOCAL_NOW, TODAY = "2026-07-02T00:30:00.25", "2026-07-02T00:00:00"


class RoleRow(NamedTuple):
    role: Role
    may: tuple[str, ...]
    user: str | None = None


# The editor is anna, the author of all elements.
CALLERS = (
    RoleRow(Role.VIEWER, ()),
    RoleRow(Role.ANALYZER, ()),
    RoleRow(Role.EDITOR, (EDIT,), "anna"),
    RoleRow(Role.APPROVER, (APPROVE,)),
    RoleRow(Role.ARCHITECT, (EDIT, APPROVE)),
    RoleRow(Role.ADMINISTRATOR, (EDIT, APPROVE)),
)
every_role = pytest.mark.parametrize("who", CALLERS, ids=lambda who: who.role.value)


def accepted(may: tuple[str, ...], state: str) -> list[TransitionRow]:
    return [row for row in TABLE if row.source == state and set(row.needs) & set(may)]


def refusal(who: RoleRow, state: str, key: str) -> tuple[int, str] | None:
    """Return the expected error in the order of D83, or None if the transition is accepted."""
    label = f"subProcess {ID[f'{state}-1']}"
    if who.role is Role.VIEWER and state not in PUBLISHED:
        return 404, f"There is no element {ID[state]}."
    if key not in BY_KEY:
        return 404, f"There is no transition {key!r} in the release cycle standard; it has {', '.join(BY_KEY)}."
    row = BY_KEY[key]
    if not set(row.needs) & set(who.may):
        return 403, f"{key} of {label} requires the permission {' or '.join(row.needs)}."
    if row.source != state:
        *others, last = [row.key for row in accepted(who.may, state)] or [""]
        now = f"Available transitions: {', '.join(others)} and {last}" if others else f"Available transitions: {last}"
        return (
            409,
            f"{key} is not available for {label} in the state {state}. {now if last else 'No transition is available'}.",
        )
    return None


class TableCaller(HouseClient):
    """A caller of the table, and its name in responses."""

    def __init__(self, storage: Storage, api: ApiClient, who: RoleRow) -> None:
        super().__init__(storage, api, who.role, user=who.user)
        token = ApiToken.objects.get(digest=token_digest(self.token, settings.SECRET_KEY))
        self.label = f"token:{token.id}"
        self.reference = user_reference(who.user) if who.user else _reference("automation", "authToken", str(token.id))
        self.before = cache(self.element)
        """Elements before a test; changes are rolled back."""


def element_after(row: TransitionRow, caller: TableCaller) -> Wire:
    """Return the whole element as the caller must see it after the transition."""
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


def step_after(row: TransitionRow, caller: TableCaller, response: Any) -> Wire:
    """Return the only entry of the element's log. A request keeps the state."""
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


def stored_after(row: TransitionRow, released_by: UUID) -> tuple[Any, ...]:
    """Return state, category, number, releaser and published version as stored."""
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
def test_every_combination(house: Storage, who: RoleRow) -> None:
    """Checks the domain function directly, which is fast; the next test checks some combinations over the API."""
    caller = callers.Caller(
        CallerKind.TOKEN, "test", frozenset({who.role}), UUID(ID[who.user]) if who.user else None, "test"
    )
    pairs = [pair for pair in PAIRS if who.role is not Role.VIEWER or pair[0] in PUBLISHED]
    stored = fingerprints(house)
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
    assert fingerprints(house) == stored


def some_pairs(who: RoleRow) -> list[tuple[str, str]]:
    """Return all transitions in their source state, and for each state one other transition, which differs by role."""
    found = [(row.source, row.key) for row in TABLE]
    for place, state in enumerate(STATES):
        others = [pair for pair in PAIRS if pair[0] == state and pair not in found]
        found.append(others[(3 * place + 2 * CALLERS.index(who)) % len(others)])
    return found


@every_role
@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=[pytest.mark.long, only_at_full_scale])], ids=["some", "every"]
)
def test_responses_and_effects(house: Storage, api: ApiClient, who: RoleRow, every: bool) -> None:
    caller = TableCaller(house, api, who)
    stored = fingerprints(house)
    for state, key in PAIRS if every else some_pairs(who):
        refused = refusal(who, state, key)
        if refused is None:
            with undone():
                check_step(caller, BY_KEY[key])
        else:
            response = caller.apply(state, key)
            assert (response.status_code, response.json()) == (refused[0], error_body(*refused)), (state, key)
    assert fingerprints(house) == stored


def check_step(caller: TableCaller, row: TransitionRow) -> None:
    after = element_after(row, caller)
    response = caller.apply(row.source, row.key)
    assert response.status_code == 200, (row, response.content)
    assert response.json() == {"count": 1, "elements": [after]}, row
    assert caller.steps(row.source) == [step_after(row, caller, response)]
    columns = ("state", "category", "major", "minor", "released_by_id", "element__published_id")
    with tenant_scope(caller.storage):
        found = ElementVersion.objects.values_list(*columns).get(id=ID[f"{row.source}-1"])
    assert found == stored_after(row, UUID(caller.reference["id"])), row


def test_applying_needs_a_token(api: ApiClient, house: Storage) -> None:
    stored = fingerprints(house)
    expected = error_body(401, NO_TOKEN)
    for state, key in PAIRS:
        response = api.post(f"{API}/release/{ID[state]}/transitions/{key}")
        assert (response.status_code, response["WWW-Authenticate"], response.json()) == (401, "Bearer", expected)
    assert fingerprints(house) == stored


# Listing.


def listed(rows: list[TransitionRow]) -> list[Wire]:
    return [{"transitionId": row.key, "sourceState": row.source, "targetState": row.target} for row in rows]


@every_role
def test_offered_transitions_are_the_accepted_ones(desk: MakeClient, house: Storage, who: RoleRow) -> None:
    """By GET and POST, by the id of the element and of the version."""
    caller = desk(who.role, user=who.user)
    stored = fingerprints(house)
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
    assert fingerprints(house) == stored


def test_other_forms_of_the_request(desk: MakeClient) -> None:
    """GET below rest, POST outside it, HEAD, an empty object, and a trailing slash."""
    cora = desk(Role.ADMINISTRATOR)
    for state in STATES:
        offered = listed([row for row in TABLE if row.source == state])
        got = cora.get(f"rest/release/{ID[f'{state}-1']}/transitions/")
        posted = cora.post(f"release/{ID[state]}/transitions", {})
        assert got.json() == {"count": len(offered), "values": offered}
        assert posted.json() == {"count": len(offered), "transitions": offered}
    head = cora.api.head(f"{API}/release/{ID['inProcess']}/transitions", token=cora.token)
    assert (head.status_code, head.content) == (200, b"")


def test_listing_needs_a_token(api: ApiClient, house: Storage) -> None:
    expected = error_body(401, NO_TOKEN)
    for state in STATES:
        for response in (
            api.get(f"{API}/release/{ID[state]}/transitions"),
            api.post(f"{API}/rest/release/{ID[state]}/transitions"),
        ):
            assert (response.status_code, response.json()) == (401, expected)


# Authors (D20).


def test_an_editor_who_is_not_the_author_can_apply_nothing(desk: MakeClient, house: Storage) -> None:
    other = desk(Role.EDITOR)
    stored = fingerprints(house)
    for state in STATES:
        assert other.offered(state) == []
    for row in TABLE:
        response = other.apply(row.source, row.key)
        message = f"{row.key} of subProcess {ID[f'{row.source}-1']} requires the permission {' or '.join(row.needs)}."
        assert (response.status_code, response.json()) == (403, error_body(403, message))
    assert other.apply("inProcess", UNKNOWN).status_code == 404
    assert fingerprints(house) == stored


def test_two_roles_together_allow_what_either_does(desk: MakeClient) -> None:
    """The caller is not the author and can therefore only approve."""
    other = desk(Role.EDITOR, Role.APPROVER)
    for state in STATES:
        assert other.offered(state) == [row.key for row in accepted((APPROVE,), state)]
    response = other.apply("inReview", "InReviewToReadyForQA")
    message = f"InReviewToReadyForQA of subProcess {ID['inReview-1']} requires the permission EditElement."
    assert (response.status_code, response.json()) == (403, error_body(403, message))
    assert other.applied("inReview", "InReviewToInProcess")["state"] == "inProcess"


def test_secondary_authors_are_authors(desk: MakeClient) -> None:
    anna, cora = desk(user="anna"), desk(user="cora")
    editing = [row.key for row in accepted((EDIT,), "inProcess")]

    def has(**authors: list[Wire]) -> list[str]:
        assert cora.update({"id": ID["inProcess"], "related": authors}).status_code == 200
        return anna.offered("inProcess")

    assert has(author=[user("ben")]) == []
    response = anna.apply("inProcess", "InProcessToInReview")
    message = f"InProcessToInReview of subProcess {ID['inProcess-1']} requires the permission EditElement."
    assert (response.status_code, response.json()) == (403, error_body(403, message))
    assert has(secondaryAuthors=[user("dora"), user("anna")]) == editing
    with undone():
        assert anna.applied("inProcess", "InProcessToInReview")["state"] == "inReview"
    assert has(secondaryAuthors=[user("dora")]) == []
    assert has(author=[]) == []
    # Without an author every editor can edit.
    assert has(secondaryAuthors=[]) == editing
    assert desk(Role.EDITOR).offered("inProcess") == editing
    assert desk(Role.EDITOR).applied("inProcess", "InProcessToInReview")["state"] == "inReview"
