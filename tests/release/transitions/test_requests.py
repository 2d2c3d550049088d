"""Applying a transition (operation 18; D21, D83 to D86, D89): parameters and bodies of requests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from facets.blueprint.cycles import Transition
from storage.models import Storage
from tests.release.house import API, ID, HouseClient, MakeClient, error, one
from tests.release.stored_contents import contents, undone
from tests.release.task_calls import change_cycle
from tests.release.transition_calls import entries, refusal, state, unreadable

pytestmark = pytest.mark.django_db
SAYS_TRUE = ("?ignoreWarnings=true", "?ignoreWarnings=TRUE", "/true", "/True/", "/true?ignoreWarnings=TRUE")
SAYS_FALSE = (
    "", "?ignoreWarnings=false", "?ignoreWarnings=FALSE", "/false", "/False", "/false?ignoreWarnings=false", "?x=true",
)  # fmt: skip
SAYS_NOTHING = {
    "?ignoreWarnings=yes": ["ignoreWarnings: expected true or false, not 'yes'."],
    "?ignoreWarnings=1": ["ignoreWarnings: expected true or false, not '1'."],
    "?ignoreWarnings=": ["ignoreWarnings: expected true or false, not ''."],
    "?ignoreWarnings=true&ignoreWarnings=true": ["ignoreWarnings is given more than once; send it once."],
    "?ignoreWarnings=false&ignoreWarnings=true": ["ignoreWarnings is given more than once; send it once."],
    "?ignorewarnings=true": ["ignorewarnings: upper and lower case matter in names; write ignoreWarnings."],
    "/maybe": ["ignoreWarnings: expected true or false, not 'maybe'."],
    "/true?ignoreWarnings=false": ["ignoreWarnings: the path and the query string contradict each other."],
    "/false?ignoreWarnings=true": ["ignoreWarnings: the path and the query string contradict each other."],
    "/maybe?ignoreWarnings=yes": [
        "ignoreWarnings: expected true or false, not 'maybe'.",
        "ignoreWarnings: expected true or false, not 'yes'.",
    ],
}


def test_ignore_warnings_true(caller: HouseClient, house: Storage, warned: str) -> None:
    for ending in SAYS_TRUE:
        with undone():
            assert caller.applied("released", "InProcessToReleased", ending)["state"] == "released"
            assert state(house, warned) == "released"


def test_ignore_warnings_false(caller: HouseClient, house: Storage, warned: str) -> None:
    stored = contents(house)
    text = f"subProcess {warned}: no reason for the revision is given (reasonForRevision)."
    for ending in SAYS_FALSE:
        refusal(caller.apply("released", "InProcessToReleased", ending), 422, "warning", "dialog", text,
                message="The element has 1 warning. To apply the transition anyway, send ignoreWarnings=true.")  # fmt: skip
    assert contents(house) == stored


def test_invalid_values_of_ignore_warnings(caller: HouseClient, house: Storage, warned: str) -> None:
    stored = contents(house)
    for ending, texts in SAYS_NOTHING.items():
        response = caller.apply("released", "InProcessToReleased", ending)
        assert sorted(error(response)[3]) == texts, ending
        assert error(response)[:3] == (400, "error", "inline")
        many = f"{len(texts)} parameters are invalid."
        assert response.json()["message"] == (texts[0] if len(texts) == 1 else many)
    assert contents(house) == stored


def test_dollar_parameters_are_refused(caller: HouseClient, house: Storage) -> None:
    response = caller.apply("inProcess", "InProcessToReleased", "?$select=name")
    unreadable(response, "$select: this operation takes no $ parameters.")
    response = caller.apply("inProcess", "InProcessToReleased", "?$select=name&ignoreWarnings=x")
    unreadable(response, "$select: this operation takes no $ parameters.",
               "ignoreWarnings: expected true or false, not 'x'.", message="2 parameters are invalid.")  # fmt: skip
    response = caller.get(f"release/{ID['inProcess']}/transitions?$filter=x")
    unreadable(response, "$filter: this operation takes no $ parameters.")
    assert state(house, "inProcess-1") == "inProcess"


# The body (D89).


def send(
    desk: HouseClient, content: bytes | str, key: str = "InProcessToInReview", name: str = "inProcess", **more: Any
) -> Any:
    more.setdefault("content_type", "application/json")
    address = f"{API}/release/{ID.get(name, name)}/transitions/{key}"
    return desk.api.generic("POST", address, content, token=desk.token, **more)


COMMENTS = {
    "": None, "{}": None, " \n": None, " {} ": None, '{"comment": null}': None, '{"comment": ""}': None,
    '{"validUntil": null}': None,
    '{"comment": "Looks good."}': "Looks good.",
    '{"comment": " two\\nlines \\u00e4 😀 "}': " two\nlines ä 😀 ",
    json.dumps({"comment": "c" * 10_000}): "c" * 10_000,
}  # fmt: skip


def test_a_body_can_have_a_comment(caller: HouseClient) -> None:
    for content, comment in COMMENTS.items():
        with undone():
            assert one(send(caller, content))["state"] == "inReview"
            [step] = caller.steps("inProcess")
            assert step.get("comment") == comment


def test_no_content_type_is_needed_without_a_body(caller: HouseClient) -> None:
    assert one(send(caller, b"", content_type=""))["state"] == "inReview"


TOO_LONG = "comment: expected a text of at most 10000 characters."
NO_MOMENT = "validUntil: expected a date-time such as 2026-12-31T00:00:00."
NO_OBJECT = "The body must be empty or an object with comment and validUntil."
UNREADABLE: list[tuple[Any, list[str]]] = [
    ([], [NO_OBJECT]),
    ("text", [NO_OBJECT]),
    (1, [NO_OBJECT]),
    ([{"comment": "x"}], [NO_OBJECT]),
    ({"comment": "c" * 10_001}, [TOO_LONG]),
    ({"comment": 1}, [TOO_LONG]),
    ({"comment": ["x"]}, [TOO_LONG]),
    ({"comment": False}, [TOO_LONG]),
    ({"Comment": "x"}, ["Comment: unknown field; use comment or validUntil."]),
    ({"ignoreWarnings": True}, ["ignoreWarnings: unknown field; use comment or validUntil."]),
    ({"validUntil": "tomorrow"}, [NO_MOMENT]),
    ({"validUntil": "2026-02-30T00:00:00"}, [NO_MOMENT]),
    ({"validUntil": 20261231}, [NO_MOMENT]),
    ({"validUntil": ""}, [NO_MOMENT]),
    ({"comment": 1, "validUntil": "x"}, [TOO_LONG, NO_MOMENT]),
]
BROKEN = (
    '{"comment": "x"', '{"comment": "a", "comment": "b"}', '{"comment": "\\u0000"}', '{"comment": "\\ud800"}',
    "null", "x",
)  # fmt: skip


def test_invalid_bodies(caller: HouseClient, house: Storage) -> None:
    stored = contents(house)
    for body, errors in UNREADABLE:
        message = "" if len(errors) == 1 else f"The body has {len(errors)} problems."
        unreadable(send(caller, json.dumps(body)), *errors, message=message)
    for content in BROKEN:
        assert error(send(caller, content))[:3] == (400, "error", "inline"), content
    assert contents(house) == stored


def test_unknown_fields_are_reported_in_their_order(caller: HouseClient) -> None:
    names = ["zeta", "alpha", "mid", "omega", "beta", "kappa", "nu", "eta"]
    errors = [f"{name}: unknown field; use comment or validUntil." for name in names]
    unreadable(send(caller, json.dumps(dict.fromkeys(names, 1))), *errors, message="The body has 8 problems.")


def test_messages_escape_unknown_fields(caller: HouseClient) -> None:
    response = send(caller, json.dumps({"a\nb": 1, "c" * 100: 2, "comment": 3}))
    assert (response.status_code, response.json()["message"]) == (400, "The body has 3 problems.")
    assert [each["error"] for each in response.json()["data"]] == [
        "a b: unknown field; use comment or validUntil.",
        f"{'c' * 40}…: unknown field; use comment or validUntil.",
        TOO_LONG,
    ]


def test_another_content_type(caller: HouseClient, house: Storage) -> None:
    response = send(caller, "comment=x", content_type="application/x-www-form-urlencoded")
    refusal(response, 415, "error", "volatile", "The request body must have the Content-Type application/json.")
    assert state(house, "inProcess-1") == "inProcess"


def test_only_a_request_to_expire_takes_an_end(desk: MakeClient, house: Storage) -> None:
    anna, ben = desk(user="anna"), desk(user="ben")
    later = {"validUntil": "2027-12-31T00:00:00"}
    text = "validUntil: only a transition that ends a version accepts this, not {}."
    for caller, key in ((anna, "InProcessToInReview"), (ben, "InProcessToReleased")):
        refusal(caller.apply("inProcess", key, "", later), 422, "error", "inline", text.format(key))
    # Earlier problems (D83) still come first.
    assert anna.apply("inProcess", "InProcessToReleased", "", later).status_code == 403
    assert anna.apply("inProcess", "InReviewToInProcess", "", later).status_code == 409
    assert (state(house, "inProcess-1"), entries(house)) == ("inProcess", 0)
    assert anna.apply("released", "ReleasedToRequestToExpire", "", later).status_code == 200
    [task] = ben.tasks()
    assert task["validUntil"] == "2027-12-31T00:00:00"
    # Requests for other transitions take no end either.
    effect = Transition("TakeEffect", "released", "inEffect", ((1033, "Take effect"),), "Approve effect")
    change_cycle(house, effect)
    refusal(anna.apply("order", "TakeEffect", "", later), 422, "error", "inline", text.format("TakeEffect"))
    assert (anna.tasks("?requester=me"), entries(house)) == ([task], 1)


def test_an_end_that_is_skipped_by_the_clock_or_has_passed(caller: HouseClient, house: Storage) -> None:
    skipped = caller.apply("released", "ReleasedToRequestToExpire", "", {"validUntil": "2027-03-28T02:30:00"})
    refusal(skipped, 422, "error", "inline", "validUntil: does not exist in Europe/Berlin: clocks are set forward past "
            "2027-03-28T02:30:00 there.")  # fmt: skip
    # Invalid input is reported first.
    both = caller.apply(
        "released", "ReleasedToRequestToExpire", "", {"validUntil": "2027-03-28T02:30:00", "comment": 1}
    )
    unreadable(both, TOO_LONG)
    past = caller.apply("released", "ReleasedToRequestToExpire", "", {"validUntil": "2026-01-10T00:00:00"})
    refusal(past, 422, "error", "inline",
            "validUntil: must be in the future; leave it out to end the version when the task is accepted.")  # fmt: skip
    assert (caller.tasks("?assignee=all"), entries(house)) == ([], 0)
