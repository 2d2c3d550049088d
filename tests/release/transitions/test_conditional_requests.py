"""Applying a transition (operation 18; D21, D83 to D86, D89): idempotency keys, entity tags, API versions
and methods."""

from __future__ import annotations

from itertools import product

import pytest

from storage.models import Storage
from tests.release.house import API, ID, HouseClient, MakeClient, Wire, error, one
from tests.release.settable_clock import SettableClock
from tests.release.stored_contents import contents, undone
from tests.release.transition_calls import DETAIL, entries, refusal, state, unreadable
from tests.tags import is_version_tag, version_tag

pytestmark = pytest.mark.django_db


# Idempotency keys.


def test_an_idempotency_key_applies_once(desk: MakeClient, house: Storage) -> None:
    ben, key = desk(user="ben"), {"Idempotency-Key": "release-1"}
    address = f"release/{ID['inProcess']}/transitions/InProcessToReleased"
    first, second = ben.post(address, **key), ben.post(address, **key)
    assert (first.status_code, second.status_code) == (200, 200)
    assert (second.content, second["ETag"]) == (first.content, first["ETag"])
    assert first["X-Request-ID"] != second["X-Request-ID"]
    assert entries(house) == 1
    # Another request with the same key, and the same request without it.
    used = "The Idempotency-Key was used for a different request. Use a new key for each request."
    refusal(ben.post(f"{address}?ignoreWarnings=true", **key), 422, "error", "inline", used)
    refusal(ben.post(address, {"comment": "x"}, **key), 422, "error", "inline", used)
    other = ben.post(f"release/{ID['inReview']}/transitions/InReviewToInProcess", **key)
    refusal(other, 422, "error", "inline", used)
    assert error(ben.post(address))[0] == 409
    assert (entries(house), state(house, "inReview-1")) == (1, "inReview")
    # Each caller has its own keys.
    assert one(desk(user="anna").post(f"release/{ID['inReview']}/transitions/InReviewToInProcess", **key))


def test_an_idempotency_key_can_be_reused_after_a_refusal(caller: HouseClient, house: Storage, warned: str) -> None:
    key = {"Idempotency-Key": "release-2"}
    address = f"release/{warned}/transitions/InProcessToReleased"
    assert error(caller.post(address, **key))[:2] == (422, "warning")
    assert one(caller.post(f"{address}?ignoreWarnings=true", **key))["state"] == "released"
    assert one(caller.post(f"{address}?ignoreWarnings=true", **key))["state"] == "released"
    assert entries(house) == 3


def test_an_invalid_idempotency_key(caller: HouseClient, house: Storage) -> None:
    for key in ("", " ", "ä", "x" * 256):
        response = caller.post(f"release/{ID['inProcess']}/transitions/InProcessToReleased", **{"Idempotency-Key": key})
        unreadable(response, "Idempotency-Key: expected 1 to 255 visible ASCII characters.")
    assert entries(house) == 0


def test_if_match_protects_against_changes(desk: MakeClient, house: Storage) -> None:
    anna, ben = desk(user="anna"), desk(user="ben")
    tag = ben.get(f"{DETAIL}/{ID['inProcess']}")["ETag"]
    assert one(anna.update({"id": ID["inProcess"], "attributes": {"scope": {"1033": "All"}}}))
    address = f"release/{ID['inProcess']}/transitions/InProcessToReleased"
    stale = "The element has changed since it was read; read it again."
    refusal(ben.post(address, **{"If-Match": tag}), 412, "error", "dialog", stale)
    assert (state(house, "inProcess-1"), entries(house)) == ("inProcess", 0)
    unreadable(ben.post(address, **{"If-Match": "tag"}),
               'If-Match: expected * or a list of entity tags in quotes, such as "1a2b.3".')  # fmt: skip
    fresh = ben.get(f"{DETAIL}/{ID['inProcess-1']}")["ETag"]
    response = ben.post(address, **{"If-Match": f"{tag}, {fresh}"})
    assert (response.status_code, is_version_tag(response["ETag"], ID["inProcess-1"])) == (200, True)
    assert version_tag(ben.get(f"{DETAIL}/{ID['inProcess']}")["ETag"]) == response["ETag"] != version_tag(fresh)


def test_if_match_with_a_star(caller: HouseClient) -> None:
    address = f"release/{ID['inProcess']}/transitions/InProcessToReleased"
    assert one(caller.post(address, **{"If-Match": "*"}))["state"] == "released"


def test_a_release_changes_the_entity_tag_of_the_replaced_version(caller: HouseClient, draft: Wire) -> None:
    """Readers of the earlier version notice the change (D84)."""
    tag = version_tag(caller.get(f"{DETAIL}/{ID['order-2']}")["ETag"])
    caller.applied("order", "InProcessToReleased", "")
    new = version_tag(caller.get(f"{DETAIL}/{ID['order-2']}")["ETag"])
    assert is_version_tag(new, ID["order-2"])
    assert new != tag


def test_the_second_of_two_callers_gets_a_conflict(desk: MakeClient, house: Storage) -> None:
    ben, dora = desk(user="ben"), desk(user="dora")
    assert ben.apply("inProcess", "InProcessToReleased").status_code == 200
    refusal(dora.apply("inProcess", "InProcessToReleased"), 409, "error", "dialog",
            f"InProcessToReleased is not available for subProcess {ID['inProcess-1']} in the state released. No transition is available.")  # fmt: skip
    assert entries(house) == 1


# api-version and methods.


def test_older_api_versions_return_values(caller: HouseClient, clock: SettableClock) -> None:
    with undone():
        expected = caller.applied("inProcess", "InProcessToInReview")
    for label in ("1.0", "3.0"):
        with undone():
            address = f"release/{ID['inProcess']}/transitions/InProcessToInReview"
            response = caller.post(address, **{"api-version": label})
            assert response.json() == {"count": 1, "values": [expected]}
            assert (response.status_code, response["api-version"]) == (200, label)


def test_the_api_version_can_be_in_the_query(caller: HouseClient, house: Storage) -> None:
    response = caller.apply("inProcess", "InProcessToInReview", "?api-version=3.0")
    assert (list(response.json()), response["api-version"]) == (["count", "values"], "3.0")
    unreadable(caller.apply("inProcess", "InReviewToInProcess", "?api-version=5.0"),
               "api-version: this operation does not support '5.0'; use 1.0, 2.0, 3.0 or 4.0.")  # fmt: skip
    for response in (
        caller.get(f"release/{ID['inProcess']}/transitions", **{"api-version": "2.0"}),
        caller.post(f"release/{ID['inProcess']}/transitions", **{"api-version": "2.0"}),
    ):
        unreadable(response, "api-version: this operation does not support '2.0'; use 1.0.")
    assert state(house, "inProcess-1") == "inReview"


def test_other_methods(caller: HouseClient, house: Storage) -> None:
    stored = contents(house)
    allowed = {
        "transitions/InProcessToReleased": "POST",
        "transitions/InProcessToReleased/true": "POST",
        "transitions": "GET, HEAD, POST",
    }
    for prefix, method in product(("release", "rest/release"), ("GET", "PUT", "PATCH", "DELETE")):
        for path, methods in allowed.items():
            if method not in methods:
                response = caller.api.generic(method, f"{API}/{prefix}/{ID['inProcess']}/{path}", token=caller.token)
                assert response["Allow"] == methods
                refusal(response, 405, "error", "volatile", f"{method} is not allowed at this address; use {methods}.")
    assert contents(house) == stored


def test_reading_the_list_takes_no_body(caller: HouseClient) -> None:
    unreadable(
        caller.post(f"release/{ID['inProcess']}/transitions", {"comment": "x"}),
        "This operation only reads and takes no body.",
    )


def test_only_json_is_available(caller: HouseClient, house: Storage) -> None:
    response = caller.post(f"release/{ID['inProcess']}/transitions/InProcessToReleased", Accept="text/html")
    refusal(response, 406, "error", "volatile", "Accept: this operation responds with application/json only.")
    assert state(house, "inProcess-1") == "inProcess"
