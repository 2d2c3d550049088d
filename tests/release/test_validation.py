"""Validation rules (D22, D88): what must be filled in before a version goes on, what only warns, and in which words.

acme/house has the standard template with a few rules more. Those guard single transitions that no test of the standard
rules takes, so that `InProcessToReleased` is as in the standard. Names must be given in German and in English.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from elements.models import ElementVersion, Reference
from facets.blueprint.cycles import Severity, ValidationRule
from facets.blueprint.definitions import ElementType
from facets.blueprint.texts import texts
from facets.changing.changes import change_configuration
from facets.rows.reading import read_blueprint
from release.models import LifecycleEntry, Task
from storage.models import Culture, Storage
from storage.models.roles import Role
from storage.provisioning.templates import TEMPLATE_DIR
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.factories import token_for
from tests.release.house import ID, Desk, Wire, error, one, user, write_lines
from tests.release.test_transition_table import contents, first_contents, undone

pytestmark = pytest.mark.django_db
Sit = Callable[..., Desk]
RELEASE, EXTERNAL, BY_QA = "InProcessToReleased", "InProcessToReleasedExternal", "InProcessToReleasedQA"
OWNER = "no owner is set (owner)"
REASON = "no reason for the revision is given (reasonForRevision)"
IMAGE = {
    "address": "1",
    "fullAddress": "https://x.example/1",
    "mimeType": "image/png",
    "protocol": "https",
    "title": "A",
}


def rule(property: str, *transitions: str, severity: str = "error", **more: Any) -> Wire:
    messages = {"1031": f"{property} fehlt.", "1033": f"{property} is missing."}
    return {"property": property, "severity": severity, "messages": messages, "transitions": transitions, **more}


# Of properties of every kind: texts by culture, a list, a choice, a context, and what stands in columns.
ASKED_FOR = ("scope", "workshopImages", "processMaturity", "systems", "validFrom", "validUntil", "stereotype")
RULES = {
    **{f"{each}Given": rule(each, EXTERNAL) for each in ASKED_FOR},
    # Only some types have the next.
    "vendorGiven": rule("vendor", EXTERNAL),
    "purpGiven": rule("purp", BY_QA, severity="warning", perCulture=True),
    "reviewerGiven": rule("reviewer", "ReleasedToRequestToExpire", severity="warning"),
    "scopeForQa": rule("scope", "InProcessToInReview", states=["readyForQa"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def house(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    folder = tmp_path_factory.mktemp("house")
    template = json.loads((TEMPLATE_DIR / "standard.json").read_text(encoding="utf-8"))
    template["validationRules"] |= copy.deepcopy(RULES)
    path = folder / "template.json"
    path.write_text(json.dumps(template), encoding="utf-8")
    own: Wire = {
        "key": "house",
        "template": str(path),
        "time_zone": "Europe/Berlin",
        "mandatory_cultures": (1031, 1033),
    }
    rival = {**own, "template": "standard", "mandatory_cultures": None}
    with (
        filled_storage(write_lines(folder / "own.ndjson"), collection="acme", **own) as storage,
        filled_storage(write_lines(folder / "rival.ndjson", "Rival "), collection="rival", **rival),
    ):
        yield storage


@pytest.fixture
def caller(desk: Sit) -> Desk:
    """Who may do everything."""
    return desk(Role.ARCHITECT)


@pytest.fixture(autouse=True)
def rival(house: Storage, db: None) -> Iterator[Storage]:
    """rival/house, with the standard template and the same ids: nothing that is done here concerns it."""
    storage = Storage.objects.get(collection__key="rival", key=house.key)
    before = first_contents(storage)
    yield storage
    assert contents(storage) == before


def at(text: str, name: str = "inProcess-1", type: str = "subProcess") -> str:
    return f"{type} {ID.get(name, name)}: {text}."


def found_by(response: Any, errors: Sequence[str] = (), warnings: Sequence[str] = (), message: str = "") -> None:
    """The whole body: what was found, errors first."""
    kind = {"output": "inline", "type": "error"} if errors else {"output": "dialog", "type": "warning"}
    expected = {"message": message, **kind, "data": [{"error": each} for each in (*errors, *warnings)]}
    assert (response.status_code, response.json()) == (422, expected)


def give(
    storage: Storage, version: str, related: dict[str, list[str]] | None = None, /, **attributes: Wire | None
) -> None:
    """Into a version in whatever state; None takes an attribute away, and so does an empty list a context."""
    with tenant_scope(storage):
        row = ElementVersion.objects.get(id=ID.get(version, version))
        merged = {**row.attributes, **attributes}
        row.attributes = {key: value for key, value in merged.items() if value is not None}
        row.save(update_fields=["attributes"])
        for context, targets in (related or {}).items():
            Reference.objects.filter(version=row, context=context).delete()
            for position, target in enumerate(targets):
                Reference.objects.create(version=row, context=context, position=position, target_id=ID[target])


def bare(storage: Storage, name: str = "inProcess-1") -> None:
    """Without an owner and without a reason: two warnings."""
    give(storage, name, {"owner": []}, reasonForRevision=None)


# The standard rules.


def test_warnings_stop_a_release(caller: Desk, house: Storage) -> None:
    """Word by word as the worked examples have it."""
    bare(house)
    stored = contents(house)
    response = caller.apply("inProcess", RELEASE)
    version = ID["inProcess-1"]
    assert response.json() == {
        "message": "The element has 2 warnings.",
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
def test_one_warning(caller: Desk, house: Storage, missing: tuple[Wire, Wire], warning: str) -> None:
    """On release only, and by every way to it."""
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


def test_a_name_is_needed_in_every_mandatory_culture(caller: Desk, house: Storage) -> None:
    """For all that comes after a draft; and nobody may ignore it."""
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


def test_sending_back_and_asking_for_expiry_need_nothing(caller: Desk, house: Storage) -> None:
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


def test_only_mandatory_cultures_count(caller: Desk, house: Storage) -> None:
    """They are a setting of the storage, which takes effect with the next request."""
    give(house, "inProcess-1", name={"1033": "Order"})
    german, english = (Culture.objects.filter(storage=house, lcid=lcid) for lcid in (1031, 1033))
    found_by(caller.apply("inProcess", RELEASE), [at("no name is given (name[1031])")], (), "The element has 1 error.")
    with undone():
        german.update(is_mandatory=False)
        assert caller.applied("inProcess", RELEASE, "")["state"] == "released"
    with undone():
        english.update(is_mandatory=False)
        found_by(
            caller.apply("inProcess", RELEASE), [at("no name is given (name[1031])")], (), "The element has 1 error."
        )
    with undone():
        german.update(is_mandatory=False)
        english.update(is_mandatory=False)
        give(house, "inProcess-1", name=None)
        assert caller.applied("inProcess", RELEASE, "")["state"] == "released"


def test_errors_and_warnings_together_are_an_error(caller: Desk, house: Storage) -> None:
    """All that was found is told, and ignoring warnings does not help."""
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
    # What no rule says comes last among the errors.
    give(house, "inProcess-1", name={"1031": "Auftrag"})
    with tenant_scope(house):
        ElementVersion.objects.filter(id=ID["inProcess-1"]).update(
            valid_until=datetime.fromisoformat("2026-01-01T00:00Z")
        )
    errors = [no_name[1], at("the end of its validity has passed (validUntil)")]
    found_by(caller.apply("inProcess", RELEASE), errors, warnings, "The element has 2 errors and 2 warnings.")


def test_what_is_answered_before_anything_is_validated(desk: Sit, house: Storage) -> None:
    """D83; and a list of transitions tells what is possible by state and permission, whatever is missing."""
    bare(house)
    give(house, "inProcess-1", name=None)
    anna, ben = desk(user="anna"), desk(user="ben")
    assert ben.offered("inProcess") == [RELEASE, BY_QA, EXTERNAL]
    assert error(anna.apply("inProcess", RELEASE))[0] == 403
    assert error(ben.apply("inProcess", "ReadyForReleaseToReleased"))[0] == 409
    assert error(ben.apply("inProcess", "Whatever"))[0] == 404
    assert error(ben.apply("inProcess", RELEASE))[0] == 422


# Ignoring warnings.


def test_what_was_ignored_is_logged(caller: Desk, house: Storage) -> None:
    new = caller.new_version("released")["versionId"]
    give(house, new, {"owner": []})
    warnings = [at(OWNER, new), at(REASON, new)]
    found_by(caller.apply("released", RELEASE, "?ignoreWarnings=false"), (), warnings, "The element has 2 warnings.")
    found = caller.applied("released", RELEASE, "?ignoreWarnings=true", {"comment": "In a hurry."})
    assert (found["state"], found["attributes"]["version"]) == ("released", {"127": "2.0"})
    told = [(each["step"], each.get("comment"), each.get("ignoredWarnings")) for each in caller.steps("released")]
    assert told == [("version", None, None), ("transition", "In a hurry.", warnings), ("succession", None, None)]
    with tenant_scope(house):
        entry = LifecycleEntry.objects.get(step="transition")
        assert entry.ignored_warnings == warnings


def test_where_nothing_warns_nothing_is_logged(caller: Desk, house: Storage) -> None:
    caller.applied("inProcess", RELEASE, "?ignoreWarnings=true")
    [step] = caller.steps("inProcess")
    assert "ignoredWarnings" not in step


def test_warnings_about_a_request_are_logged_with_it(caller: Desk, house: Storage) -> None:
    """A rule may guard a transition that only asks for consent."""
    warning = at("reviewer is missing (reviewer)", "released-1")
    found_by(caller.apply("released", "ReleasedToRequestToExpire"), (), [warning], "The element has 1 warning.")
    with tenant_scope(house):
        assert not Task.objects.exists()
    caller.applied("released", "ReleasedToRequestToExpire", "?ignoreWarnings=true")
    [step] = caller.steps("released")
    assert (step["step"], step["ignoredWarnings"]) == ("request", [warning])


# Rules of other kinds.


def test_a_rule_may_guard_one_transition_only(caller: Desk, house: Storage) -> None:
    """Of three ways to the same state one asks for more, each thing in the order of the rules."""
    give(house, "inProcess-1", {"systems": []})
    with tenant_scope(house):
        ElementVersion.objects.filter(id=ID["inProcess-1"]).update(valid_until=None)
    errors = [at(f"{each} is missing ({each})") for each in ASKED_FOR]
    found_by(caller.apply("inProcess", EXTERNAL), errors, (), "The element has 7 errors.")
    found_by(caller.apply("inProcess", EXTERNAL, "?ignoreWarnings=true"), errors, (), "The element has 7 errors.")
    with undone():
        assert caller.applied("inProcess", RELEASE, "")["state"] == "released"
    # With all of it, it goes through.
    attributes = {
        "scope": {"1031": "Alles"}, "workshopImages": {"127": [IMAGE]}, "processMaturity": {"127": "defined"},
        "validFrom": {"127": "2026-01-01T00:00:00"}, "validUntil": {"127": "9999-12-31T00:00:00"},
    }  # fmt: skip
    systems = [{"facetName": "it", "id": ID["erp"], "type": "system"}]
    given = {"id": ID["inProcess"], "stereotype": "core", "attributes": attributes, "related": {"systems": systems}}
    assert caller.update(given).status_code == 200
    assert caller.applied("inProcess", EXTERNAL, "")["state"] == "released"


def test_each_of_these_is_asked_for_alone(caller: Desk, house: Storage) -> None:
    """One missing, the others there."""
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


def test_a_rule_may_guard_states_and_transitions(caller: Desk, house: Storage) -> None:
    missing = "scope is missing (scope)"
    for name, key in (
        ("inProcess", "InProcessToInReview"),
        ("inProcess", "InProcessToReadyForQA"),
        ("inReview", "InReviewToReadyForQA"),
    ):
        found_by(caller.apply(name, key), [at(missing, f"{name}-1")], (), "The element has 1 error.")
    # Neither by this way nor into that state.
    assert caller.applied("inProcess", "InProcessToReadyForRelease", "")["state"] == "readyForRelease"
    assert caller.applied("inReview", "InReviewToReadyForRelease", "")["state"] == "readyForRelease"


def test_a_warning_may_be_about_each_culture(caller: Desk, house: Storage) -> None:
    give(house, "inProcess-1", purp=None)
    warnings = [at(f"purp is missing (purp[{lcid}])") for lcid in (1031, 1033)]
    found_by(caller.apply("inProcess", BY_QA), (), warnings, "The element has 2 warnings.")
    give(house, "inProcess-1", purp={"1031": "Zweck"})
    found_by(caller.apply("inProcess", BY_QA), (), warnings[1:], "The element has 1 warning.")
    caller.applied("inProcess", BY_QA, "?ignoreWarnings=true")
    assert caller.steps("inProcess")[-1]["ignoredWarnings"] == warnings[1:]


def test_types_without_the_property_are_not_concerned(caller: Desk, house: Storage) -> None:
    """A system has a vendor, but no maturity and no systems of its own; a process has no vendor."""
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
    # An element that has no diagram and nothing but a name is released like any other.
    give(house, new, name={"1031": "ERP", "1033": "ERP"})
    assert caller.applied("erp", RELEASE)["state"] == "released"


# What counts as a value.

BLANK_TEXTS = ("", " ", "\n\t", "\u00a0", "\u2003 \u3000", "\x1c")
TEXTS = ("x", " x ", "0", "null", "\u200b", "-")
VALUES: list[tuple[str, Wire | None, bool]] = [
    *(("scope", {"1031": text}, False) for text in BLANK_TEXTS),
    *(("scope", {"1033": text}, True) for text in TEXTS),
    ("scope", {"1031": " ", "1033": ""}, False),
    ("scope", {"1031": " ", "1033": "x"}, True),
    ("scope", {"1031": None, "1033": None}, False),
    ("scope", {}, False),
    ("scope", None, False),
    ("workshopImages", {"127": []}, False),
    ("workshopImages", {"127": None}, False),
    ("workshopImages", {"127": [IMAGE]}, True),
    ("processMaturity", {"127": "isLived"}, True),
    ("processMaturity", {"127": ""}, False),
    ("processMaturity", {"127": None}, False),
]


def test_a_value_is_there_when_the_filter_language_says_so(caller: Desk, house: Storage) -> None:
    list_address = "rest/facets/processes/views/detail/elements?$resources=rootPath&$filter="
    for name, value, is_there in VALUES:
        with undone():
            give(house, "inProcess-1", **{name: value})
            response = caller.apply("inProcess", EXTERNAL)
            missing = at(f"{name} is missing ({name})") in error(response)[3]
            filtered = caller.get(f"{list_address}IsNull({name}) AND id eq '{ID['inProcess']}'").json()["count"]
            assert (missing, filtered) == (not is_there, int(not is_there)), (name, value)


def test_values_in_a_culture_that_the_storage_no_longer_has_do_not_count(caller: Desk, house: Storage) -> None:
    """Filters do not see them either."""
    give(house, "inProcess-1", reasonForRevision={"1031": "Grund"})
    Culture.objects.filter(storage=house, lcid=1031).delete()
    address = "rest/facets/processes/views/detail/elements?$resources=rootPath&$filter="
    filtered = caller.get(f"{address}IsNull(reasonForRevision) AND id eq '{ID['inProcess']}'")
    assert filtered.json()["count"] == 1
    found_by(caller.apply("inProcess", RELEASE), (), [at(REASON)], "The element has 1 warning.")


def test_a_rule_by_culture_asks_a_type_with_one_value_for_that(caller: Desk, house: Storage) -> None:
    """Processes have a purpose in each culture; systems have one for all."""
    with tenant_scope(house):
        old = read_blueprint()
    change_configuration(
        house,
        replace(old, types=tuple(_with_one_purpose(each) if each.key == "system" else each for each in old.types)),
    )
    new = caller.new_version("erp")["versionId"]
    give(house, new, {"owner": ["ben"]}, name={"1031": "ERP", "1033": "ERP"}, reasonForRevision={"1033": "x"})
    warning = [at("purp is missing (purp)", new, "system")]
    for value, is_there in (
        (None, False), ({}, False), ({"127": None}, False), ({"127": " "}, False), ({"127": "Books"}, True),
    ):  # fmt: skip
        with undone():
            give(house, new, purp=value)
            response = caller.apply("erp", BY_QA)
            if is_there:
                assert one(response)["state"] == "released"
            else:
                found_by(response, (), warning, "The element has 1 warning.")
    give(house, "inProcess-1", purp=None)
    warnings = [at(f"purp is missing (purp[{lcid}])") for lcid in (1031, 1033)]
    found_by(caller.apply("inProcess", BY_QA), (), warnings, "The element has 2 warnings.")


def _with_one_purpose(type: ElementType) -> ElementType:
    properties = tuple(
        replace(each, attribute=replace(each.attribute, is_invariant_culture=True))
        if each.key == "purp" and each.attribute
        else each
        for each in type.properties
    )
    assert properties != type.properties
    return replace(type, properties=properties)


def test_no_and_zero_are_values(caller: Desk, house: Storage) -> None:
    """Of what is neither text nor list only null is none."""
    new = caller.new_version("erp")["versionId"]
    for value, is_there in ((0, True), (False, True), (None, False)):
        with undone():
            give(house, new, vendor={"127": value})
            response = caller.apply("erp", EXTERNAL)
            assert (at("vendor is missing (vendor)", new, "system") not in error(response)[3]) is is_there


def test_what_clients_write_as_blank_is_found(caller: Desk, house: Storage) -> None:
    """Through the API, which keeps texts as they are."""
    blank: Wire = {
        "attributes": {"name": {"1031": " \n ", "1033": ""}, "reasonForRevision": {"1031": "\t", "1033": None}},
        "related": {"owner": []},
    }
    assert one(caller.update({"id": ID["inProcess"], **blank}))["attributes"]["name"] == {"1031": " \n ", "1033": ""}
    no_name = [at(f"no name is given (name[{lcid}])") for lcid in ("1031", "1033")]
    message = "The element has 2 errors and 2 warnings."
    found_by(caller.apply("inProcess", RELEASE), no_name, [at(OWNER), at(REASON)], message)
    filled: Wire = {
        "attributes": {"name": {"1031": "Auftrag", "1033": "Order"}, "reasonForRevision": {"1031": "Neu"}},
        "related": {"owner": [user("dora")]},
    }
    assert caller.update({"id": ID["inProcess"], **filled}).status_code == 200
    assert caller.applied("inProcess", RELEASE, "")["state"] == "released"


# Languages.

GERMAN = ["kein Verantwortlicher ist eingetragen (owner)", "kein Änderungsgrund ist angegeben (reasonForRevision)"]
ENGLISH = [OWNER, REASON]


def test_messages_are_in_the_language_of_the_caller(caller: Desk, house: Storage) -> None:
    bare(house)
    address = f"release/{ID['inProcess']}/transitions/{RELEASE}"
    for accepted, expected in (
        ("de", GERMAN), ("de-DE", GERMAN), ("de-CH, en;q=0.5", GERMAN), ("fr, de;q=0.3", GERMAN), ("DE", GERMAN),
        ("en", ENGLISH), ("en-GB, de;q=0.9", ENGLISH), ("fr", ENGLISH), ("", ENGLISH), ("de;q=0, fr", ENGLISH),
        ("*", ENGLISH), ("no language, at all;;", ENGLISH),
    ):  # fmt: skip
        response = caller.post(address, **{"Accept-Language": accepted})
        assert error(response) == (422, "warning", "dialog", [at(each) for each in expected]), accepted
        assert response.json()["message"] == "The element has 2 warnings."
    found_by(caller.post(address), (), [at(each) for each in ENGLISH], "The element has 2 warnings.")


def test_the_log_is_in_one_language_whatever_the_caller_was_told(caller: Desk, house: Storage) -> None:
    bare(house)
    address = f"release/{ID['inProcess']}/transitions/{RELEASE}?ignoreWarnings=true"
    for accepted in ("de", "en", "fr, de;q=0.3", ""):
        with undone():
            assert one(caller.post(address, **{"Accept-Language": accepted}))["state"] == "released"
            [step] = caller.steps("inProcess")
            assert step["ignoredWarnings"] == [at(each) for each in ENGLISH], accepted
            with tenant_scope(house):
                assert LifecycleEntry.objects.get().ignored_warnings == step["ignoredWarnings"]


# Rules change while the storage runs.


def configure(storage: Storage, *added: ValidationRule, without: str = "") -> None:
    with tenant_scope(storage):
        old = read_blueprint()
    kept = tuple(each for each in old.rules if each.key != without)
    change_configuration(storage, replace(old, rules=(*kept, *added)))


def test_rules_come_and_go_with_the_next_request(caller: Desk, house: Storage, api: ApiClient, rival: Storage) -> None:
    address = f"release/{ID['inProcess']}/transitions/{RELEASE}"
    with undone():
        assert caller.applied("inProcess", RELEASE, "")["state"] == "released"
    bare(house)
    give(house, "inProcess-1", name=None)
    assert len(error(caller.post(address))[3]) == 4
    with tenant_scope(house):
        old = read_blueprint()
    guided = ValidationRule(
        "guided", "guidelines", Severity.ERROR, texts({1036: "pas de règle", 1031: "Regel fehlt"}), states=("released",)
    )
    checked = ValidationRule(
        "checked", "qualityManager", Severity.WARNING, texts({1033: "nobody checks"}),
        transitions=("ReadyForReleaseToReleased",),
    )  # fmt: skip
    kept = [each for each in old.rules if each.key not in ("name", "owner")]
    change_configuration(house, replace(old, rules=(*kept, guided, checked)))
    # Without an English text the message is in a language of the storage, which French is not, whatever the caller
    # prefers (D40). The rules about names and owners are gone.
    errors, warnings = [at("Regel fehlt (guidelines)")], [at(REASON)]
    found_by(caller.post(address), errors, warnings, "The element has 1 error and 1 warning.")
    response = caller.post(address, **{"Accept-Language": "fr, de;q=0.9"})
    assert error(response)[3] == [at("Regel fehlt (guidelines)"), at(GERMAN[1])]
    response = caller.apply("readyForRelease", "ReadyForReleaseToReleased")
    version = "readyForRelease-1"
    found_by(response, [at("Regel fehlt (guidelines)", version)], [at("nobody checks (qualityManager)", version)],
             "The element has 1 error and 1 warning.")  # fmt: skip
    # The rules of others are their own.
    with undone():
        token = token_for(rival, Role.ADMINISTRATOR)
        response = api.post(f"/rival/house/_api/{address}", b"", content_type="application/json", token=token)
        assert one(response)["state"] == "released"
