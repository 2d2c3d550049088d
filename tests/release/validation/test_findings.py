"""Validation (D22, D88): errors and warnings that stop a transition, and the log of ignored warnings."""

from __future__ import annotations

from datetime import datetime

import pytest

from elements.models import ElementVersion
from release.models import LifecycleEntry, Task
from storage.models import Culture, Storage
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID, HouseClient, MakeClient, Wire, error
from tests.release.stored_contents import contents, undone
from tests.release.validation_rules import (
    BY_QA,
    EXTERNAL,
    OWNER,
    REASON,
    RELEASE,
    at,
    bare,
    found_by,
    give,
    renew_configuration,
)

pytestmark = pytest.mark.django_db


# The standard rules.


def test_warnings_stop_a_release(caller: HouseClient, house: Storage) -> None:
    """The texts are those of the worked examples."""
    bare(house)
    stored = contents(house)
    response = caller.apply("inProcess", RELEASE)
    version = ID["inProcess-1"]
    assert response.json() == {
        "message": "The element has 2 warnings. To apply the transition anyway, send ignoreWarnings=true.",
        "output": "dialog",
        "type": "warning",
        "data": [
            {"error": f"subProcess {version}: no owner is set (owner)."},
            {"error": f"subProcess {version}: no reason for the revision is given (reasonForRevision)."},
        ],
    }
    assert (response.status_code, list(response.json())) == (422, ["message", "output", "type", "data"])
    assert contents(house) == stored


@pytest.mark.parametrize(
    ("missing", "warning"),
    [(({"owner": []}, {}), OWNER), (({}, {"reasonForRevision": None}), REASON)],
    ids=["owner", "reasonForRevision"],
)
def test_one_warning(caller: HouseClient, house: Storage, missing: tuple[Wire, Wire], warning: str) -> None:
    """On release only, by every transition to it."""
    for version in ("inProcess-1", "readyForRelease-1"):
        give(house, version, missing[0], **missing[1])
    message = "The element has 1 warning."
    found_by(caller.apply("inProcess", RELEASE), (), [at(warning)], message)
    found_by(
        caller.apply("readyForRelease", "ReadyForReleaseToReleased"), (), [at(warning, "readyForRelease-1")], message
    )
    assert caller.applied("inProcess", "InProcessToReadyForRelease", "")["state"] == "readyForRelease"


WAYS = (
    ("inProcess", "InProcessToInReview"), ("inProcess", "InProcessToReadyForQA"),
    ("inProcess", "InProcessToReadyForRelease"), ("inProcess", "InProcessToReleased"),
    ("inReview", "InReviewToReadyForQA"), ("inReview", "InReviewToReadyForRelease"),
    ("readyForQa", "ReadyForQAToReadyForRelease"), ("readyForRelease", "ReadyForReleaseToReleased"),
)  # fmt: skip
NAMES: list[tuple[Wire | None, list[str]]] = [
    ({"1033": "Order"}, ["1031"]),
    ({"1031": "Auftrag"}, ["1033"]),
    ({"1031": "  ", "1033": "Order"}, ["1031"]),
    ({"1031": "", "1033": None}, ["1031", "1033"]),
    (None, ["1031", "1033"]),
]


def test_a_name_is_needed_in_every_mandatory_culture(caller: HouseClient, house: Storage) -> None:
    """For every step after draft; this error cannot be ignored."""
    for names, missing in NAMES:
        with undone():
            for name in dict(WAYS):
                give(house, f"{name}-1", name=names, scope={"1033": "All"})
            stored = contents(house)
            for name, key in WAYS if names and len(names) == 1 else WAYS[-1:]:
                errors = [at(f"no name is given (name[{lcid}])", f"{name}-1") for lcid in missing]
                message = f"The element has {len(errors)} error{'s' if len(errors) > 1 else ''}."
                query = "?ignoreWarnings=true" if len(errors) > 1 else ""
                found_by(caller.apply(name, key, query), errors, (), message)
            assert contents(house) == stored


def test_sending_back_and_requesting_expiry_are_not_validated(caller: HouseClient, house: Storage) -> None:
    for name in ("inReview", "readyForQa", "readyForRelease", "released", "inEffect"):
        give(house, f"{name}-1", {"owner": [], "reviewer": ["dora"]}, name=None, reasonForRevision=None)
    for name, key in (
        ("inReview", "InReviewToInProcess"),
        ("readyForQa", "ReadyForQAToInProcess"),
        ("readyForRelease", "ReadyForReleaseToInProcess"),
    ):
        assert caller.applied(name, key, "")["state"] == "inProcess"
    for name, key in (("released", "ReleasedToRequestToExpire"), ("inEffect", "InEffectToRequestToExpire")):
        assert caller.applied(name, key, "")["state"] == name


def test_only_mandatory_cultures_count(caller: HouseClient, house: Storage) -> None:
    """Mandatory cultures are a part of the configuration."""
    give(house, "inProcess-1", name={"1033": "Order"})
    german, english = (Culture.objects.filter(storage=house, lcid=lcid) for lcid in (1031, 1033))
    found_by(caller.apply("inProcess", RELEASE), [at("no name is given (name[1031])")], (), "The element has 1 error.")
    with undone():
        german.update(is_mandatory=False)
        renew_configuration(house)
        assert caller.applied("inProcess", RELEASE, "")["state"] == "released"
    with undone():
        english.update(is_mandatory=False)
        renew_configuration(house)
        found_by(
            caller.apply("inProcess", RELEASE), [at("no name is given (name[1031])")], (), "The element has 1 error."
        )
    with undone():
        german.update(is_mandatory=False)
        english.update(is_mandatory=False)
        renew_configuration(house)
        give(house, "inProcess-1", name=None)
        assert caller.applied("inProcess", RELEASE, "")["state"] == "released"


def test_errors_and_warnings_together_are_an_error(caller: HouseClient, house: Storage) -> None:
    """All findings are reported, and ignoring warnings does not help."""
    no_name = [at(f"no name is given (name[{lcid}])") for lcid in ("1031", "1033")]
    warnings = [at(OWNER), at(REASON)]
    bare(house)
    with undone():
        give(house, "inProcess-1", name={})
        stored = contents(house)
        for query in ("", "?ignoreWarnings=true", "/true"):
            response = caller.apply("inProcess", RELEASE, query)
            found_by(response, no_name, warnings, "The element has 2 errors and 2 warnings.")
        assert contents(house) == stored
    with undone():
        give(house, "inProcess-1", {"owner": ["ben"]}, name={"1031": "Auftrag"})
        found_by(
            caller.apply("inProcess", RELEASE), no_name[1:], warnings[1:], "The element has 1 error and 1 warning."
        )
    # Errors without a rule come last among the errors.
    give(house, "inProcess-1", name={"1031": "Auftrag"})
    with tenant_scope(house):
        ElementVersion.objects.filter(id=ID["inProcess-1"]).update(
            valid_until=datetime.fromisoformat("2026-01-01T00:00Z")
        )
    errors = [no_name[1], at("the end of its validity has passed (validUntil)")]
    found_by(caller.apply("inProcess", RELEASE), errors, warnings, "The element has 2 errors and 2 warnings.")


def test_other_errors_come_before_validation(desk: MakeClient, house: Storage) -> None:
    """See D83. The list of transitions depends on state and permission, not on validation."""
    bare(house)
    give(house, "inProcess-1", name=None)
    anna, ben = desk(user="anna"), desk(user="ben")
    assert ben.offered("inProcess") == [RELEASE, BY_QA, EXTERNAL]
    assert error(anna.apply("inProcess", RELEASE))[0] == 403
    assert error(ben.apply("inProcess", "ReadyForReleaseToReleased"))[0] == 409
    assert error(ben.apply("inProcess", "Whatever"))[0] == 404
    assert error(ben.apply("inProcess", RELEASE))[0] == 422


# Ignoring warnings.


def test_ignored_warnings_are_logged(caller: HouseClient, house: Storage) -> None:
    new = caller.new_version("released")["versionId"]
    give(house, new, {"owner": []})
    warnings = [at(OWNER, new), at(REASON, new)]
    found_by(
        caller.apply("released", RELEASE, "?ignoreWarnings=false"),
        (),
        warnings,
        "The element has 2 warnings.",
    )
    found = caller.applied("released", RELEASE, "?ignoreWarnings=true", {"comment": "In a hurry."})
    assert (found["state"], found["attributes"]["version"]) == ("released", {"127": "2.0"})
    told = [(each["step"], each.get("comment"), each.get("ignoredWarnings")) for each in caller.steps("released")]
    assert told == [("version", None, None), ("transition", "In a hurry.", warnings), ("succession", None, None)]
    with tenant_scope(house):
        entry = LifecycleEntry.objects.get(step="transition")
        assert entry.ignored_warnings == warnings


def test_nothing_is_logged_without_warnings(caller: HouseClient, house: Storage) -> None:
    caller.applied("inProcess", RELEASE, "?ignoreWarnings=true")
    [step] = caller.steps("inProcess")
    assert "ignoredWarnings" not in step


def test_warnings_about_a_request_are_logged_with_it(caller: HouseClient, house: Storage) -> None:
    """A rule can apply to a transition that creates a task."""
    warning = at("reviewer is missing (reviewer)", "released-1")
    found_by(
        caller.apply("released", "ReleasedToRequestToExpire"),
        (),
        [warning],
        "The element has 1 warning.",
    )
    with tenant_scope(house):
        assert not Task.objects.exists()
    caller.applied("released", "ReleasedToRequestToExpire", "?ignoreWarnings=true")
    [step] = caller.steps("released")
    assert (step["step"], step["ignoredWarnings"]) == ("request", [warning])
