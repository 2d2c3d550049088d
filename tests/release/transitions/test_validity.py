"""Applying a transition (operation 18; D21, D83 to D86, D89): the validity of the released version."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from release.steps.days import start_of_day
from storage.models import Storage
from tests.release.house import ID, NO_END, HouseClient, error
from tests.release.settable_clock import SettableClock
from tests.release.stored_contents import contents, undone
from tests.release.transition_calls import LOCAL_NIGHT, NIGHT, TODAY, refusal, version

pytestmark = pytest.mark.django_db


# Validity (D85).


def set_validity(desk: HouseClient, name: str, **moments: str | None) -> None:
    response = desk.update({"id": ID[name], "attributes": {each: {"127": value} for each, value in moments.items()}})
    assert response.status_code == 200, response.content


def test_a_given_start_of_validity_is_kept(caller: HouseClient, house: Storage, clock: SettableClock) -> None:
    set_validity(caller, "inProcess", validFrom="2026-12-24T08:00:00")
    clock.moment = NIGHT
    found = caller.applied("inProcess", "InProcessToReleased", "")
    assert found["attributes"]["validFrom"] == {"127": "2026-12-24T08:00:00"}
    assert found["attributes"]["relOn"] == {"127": LOCAL_NIGHT}
    assert version(house, "inProcess-1")["valid_from"] == datetime.fromisoformat("2026-12-24T07:00:00+00:00")


PASSED, ENDS_FIRST = "the end of its validity has passed", "its validity ends before it begins"
NOT_VALID: list[tuple[dict[str, str | None], str]] = [
    ({"validUntil": "2026-07-02T00:30:00"}, PASSED),
    ({"validUntil": "2026-07-02T00:30:00.25"}, PASSED),
    ({"validUntil": "2025-01-01T00:00:00"}, PASSED),
    ({"validFrom": "2027-01-01T00:00:00", "validUntil": "2026-12-31T00:00:00"}, ENDS_FIRST),
    ({"validFrom": "2027-01-01T00:00:00", "validUntil": "2027-01-01T00:00:00"}, ENDS_FIRST),
    ({"validFrom": "2025-01-01T00:00:00", "validUntil": "2025-06-01T00:00:00"}, PASSED),
]
VALID: list[dict[str, str | None]] = [
    {"validUntil": "2026-07-02T00:30:01"},
    {"validUntil": None},
    {"validFrom": "2027-01-01T00:00:00", "validUntil": "2027-01-01T00:00:01"},
    {"validFrom": "2020-01-01T00:00:00"},
]


def test_versions_that_would_end_at_once_are_not_released(
    caller: HouseClient, house: Storage, clock: SettableClock
) -> None:
    clock.moment = NIGHT
    for moments, text in NOT_VALID:
        set_validity(caller, "inProcess", **{"validFrom": None, **moments})
        stored = contents(house)
        refusal(caller.apply("inProcess", "InProcessToReleased", "?ignoreWarnings=true"), 422, "error", "inline",
                f"subProcess {ID['inProcess-1']}: {text} (validUntil).", message="The element has 1 error.")  # fmt: skip
        assert contents(house) == stored
    # The step into review is possible, because the dates can still change.
    assert caller.applied("inProcess", "InProcessToReadyForRelease")["state"] == "readyForRelease"
    assert error(caller.apply("inProcess", "ReadyForReleaseToReleased"))[0] == 422


def test_versions_that_are_still_valid_are_released(caller: HouseClient, clock: SettableClock) -> None:
    clock.moment = NIGHT
    for moments in VALID:
        with undone():
            set_validity(caller, "inProcess", **moments)
            found = caller.applied("inProcess", "InProcessToReleased", "")["attributes"]
            assert found["validFrom"] == {"127": moments.get("validFrom", TODAY)}
            assert found.get("validUntil", {"127": None}) == {"127": moments.get("validUntil", NO_END)}


@pytest.mark.parametrize(
    ("moment", "zone", "begin"),
    [
        ("2026-07-01T22:30:00+00:00", "Europe/Berlin", "2026-07-01T22:00:00+00:00"),
        ("2026-07-01T21:59:59.999999+00:00", "Europe/Berlin", "2026-06-30T22:00:00+00:00"),
        ("2026-01-01T12:00:00+00:00", "Europe/Berlin", "2025-12-31T23:00:00+00:00"),
        # Days on which the clocks change at night.
        ("2026-03-29T12:00:00+00:00", "Europe/Berlin", "2026-03-28T23:00:00+00:00"),
        ("2026-10-25T12:00:00+00:00", "Europe/Berlin", "2026-10-24T22:00:00+00:00"),
        # There was no midnight; the day began at one.
        ("2018-11-04T12:00:00+00:00", "America/Sao_Paulo", "2018-11-04T03:00:00+00:00"),
        # Midnight came twice.
        ("2018-11-04T06:00:00+00:00", "America/Havana", "2018-11-04T04:00:00+00:00"),
        ("2026-07-01T12:00:00+00:00", "Pacific/Kiritimati", "2026-07-01T10:00:00+00:00"),
    ],
)
def test_validity_begins_at_the_first_instant_of_the_day(moment: str, zone: str, begin: str) -> None:
    assert start_of_day(datetime.fromisoformat(moment), ZoneInfo(zone)) == datetime.fromisoformat(begin)
