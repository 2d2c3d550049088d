"""Validation rules: states, transitions, cultures and types that a rule applies to."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from elements.models import ElementVersion
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID, HouseClient
from tests.release.stored_contents import undone
from tests.release.validation_rules import ASKED_FOR, BY_QA, EXTERNAL, IMAGE, OWNER, REASON, RELEASE, at, found_by, give

pytestmark = pytest.mark.django_db


# Other kinds of rules.


def test_a_rule_can_apply_to_one_transition(caller: HouseClient, house: Storage) -> None:
    """One of three transitions to the same state has more rules; findings are in the order of the rules."""
    give(house, "inProcess-1", {"systems": []})
    with tenant_scope(house):
        ElementVersion.objects.filter(id=ID["inProcess-1"]).update(valid_until=None)
    errors = [at(f"{each} is missing ({each})") for each in ASKED_FOR]
    found_by(caller.apply("inProcess", EXTERNAL), errors, (), "The element has 7 errors.")
    found_by(caller.apply("inProcess", EXTERNAL, "?ignoreWarnings=true"), errors, (), "The element has 7 errors.")
    with undone():
        assert caller.applied("inProcess", RELEASE, "")["state"] == "released"
    # With all values the transition succeeds.
    attributes = {
        "scope": {"1031": "Alles"}, "workshopImages": {"127": [IMAGE]}, "processMaturity": {"127": "defined"},
        "validFrom": {"127": "2026-01-01T00:00:00"}, "validUntil": {"127": "9999-12-31T00:00:00"},
    }  # fmt: skip
    systems = [{"facetName": "it", "id": ID["erp"], "type": "system"}]
    given = {"id": ID["inProcess"], "stereotype": "core", "attributes": attributes, "related": {"systems": systems}}
    assert caller.update(given).status_code == 200
    assert caller.applied("inProcess", EXTERNAL, "")["state"] == "released"


def test_each_property_alone(caller: HouseClient, house: Storage) -> None:
    """One value is missing and the others are given."""
    give(
        house, "inProcess-1", scope={"1031": "Alles"}, workshopImages={"127": [IMAGE]}, processMaturity={"127": "defined"}
    )  # fmt: skip
    with tenant_scope(house):
        version = ElementVersion.objects.filter(id=ID["inProcess-1"])
        version.update(stereotype="core", valid_from=datetime.fromisoformat("2026-01-01T00:00Z"))
    columns: dict[str, Any] = {
        "validFrom": {"valid_from": None}, "validUntil": {"valid_until": None}, "stereotype": {"stereotype": " "},
    }  # fmt: skip
    for each in ASKED_FOR:
        with undone():
            if each in columns:
                with tenant_scope(house):
                    version.update(**columns[each])
            elif each == "systems":
                give(house, "inProcess-1", {"systems": []})
            else:
                give(house, "inProcess-1", **{each: None})
            errors = [at(f"{each} is missing ({each})")]
            found_by(caller.apply("inProcess", EXTERNAL), errors, (), "The element has 1 error.")
    assert caller.applied("inProcess", EXTERNAL, "")["state"] == "released"


def test_a_rule_can_apply_to_states_and_transitions(caller: HouseClient, house: Storage) -> None:
    missing = "scope is missing (scope)"
    for name, key in (
        ("inProcess", "InProcessToInReview"),
        ("inProcess", "InProcessToReadyForQA"),
        ("inReview", "InReviewToReadyForQA"),
    ):
        found_by(caller.apply(name, key), [at(missing, f"{name}-1")], (), "The element has 1 error.")
    # Neither by this transition nor into that state.
    assert caller.applied("inProcess", "InProcessToReadyForRelease", "")["state"] == "readyForRelease"
    assert caller.applied("inReview", "InReviewToReadyForRelease", "")["state"] == "readyForRelease"


def test_a_warning_for_each_culture(caller: HouseClient, house: Storage) -> None:
    give(house, "inProcess-1", purp=None)
    warnings = [at(f"purp is missing (purp[{lcid}])") for lcid in (1031, 1033)]
    found_by(
        caller.apply("inProcess", BY_QA),
        (),
        warnings,
        "The element has 2 warnings.",
    )
    give(house, "inProcess-1", purp={"1031": "Zweck"})
    found_by(
        caller.apply("inProcess", BY_QA),
        (),
        warnings[1:],
        "The element has 1 warning.",
    )
    caller.applied("inProcess", BY_QA, "?ignoreWarnings=true")
    assert caller.steps("inProcess")[-1]["ignoredWarnings"] == warnings[1:]


def test_rules_do_not_apply_to_types_without_the_property(caller: HouseClient, house: Storage) -> None:
    """A system has a vendor, but no maturity and no systems; a process has no vendor."""
    new = caller.new_version("erp")["versionId"]
    with tenant_scope(house):
        ElementVersion.objects.filter(id=new).update(stereotype="core")
    asked = [each for each in ASKED_FOR if each not in ("processMaturity", "systems", "stereotype", "validUntil")]
    found_by(
        caller.apply("erp", EXTERNAL),
        [at("no name is given (name[1031])", new, "system")]
        + [at(f"{each} is missing ({each})", new, "system") for each in (*asked, "vendor")],
        [at(OWNER, new, "system"), at(REASON, new, "system")],
        "The element has 5 errors and 2 warnings.",
    )
    # An element without a diagram and with only a name can be released.
    give(house, new, name={"1031": "ERP", "1033": "ERP"})
    assert caller.applied("erp", RELEASE)["state"] == "released"
