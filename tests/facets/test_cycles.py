"""Release cycles and validation rules of a configuration (D21, D22): templates, rows, compiled values and changes."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from facets import models
from facets.blueprint.cycles import Category, ReleaseCycle, Severity, State, Transition, ValidationRule
from facets.blueprint.definitions import Blueprint
from facets.blueprint.differences import Hazard, describe_differences, hazards
from facets.changing.changes import change_configuration
from facets.configuration import CompiledCycle, Configuration, compile_configuration, configuration_of
from facets.rows.reading import read_blueprint
from facets.template_format.document_nodes import BAD_KEY
from facets.template_format.reading import read_template
from facets.template_format.writing import write_template
from repository_site.core.problems import Invalid, NotFound
from storage.models import Storage
from storage.provisioning.templates import load_template
from storage.tenancy.scope import tenant_scope
from tests.facets.office_forms import revision
from tests.facets.small_template import SMALL, small_template

OLD = read_template(SMALL)
CULTURES = load_template("standard").cultures
NAMES = {"1033": "X"}
CYCLE, STATES = "releaseCycles.slow", "releaseCycles.slow.states"
WAYS = "releaseCycles.slow.transitions"
TASK: dict[str, Any] = {"type": "Check", "accept": "Publish", "reject": "Back"}
EXPECTED_TEXTS = 'expected texts by culture id, such as {"1031": "Prozess", "1033": "Process"}'
NO_TASK = "only a transition with a task can end a version"
SLOW: dict[str, Any] = SMALL["releaseCycles"]["slow"]
NAMED: dict[str, Any] = SMALL["validationRules"]["named"]


def way(source: str, target: str, **more: str) -> dict[str, Any]:
    return {"displayNames": NAMES, "from": source, "to": target, **more}


BACK = {f"{WAYS}.Back": way("checked", "draft")}


def test_cycles_and_rules_as_values() -> None:
    quick, slow = OLD.cycles
    assert quick == ReleaseCycle(
        "quick",
        ((1033, "Quick"),),
        (
            State("open", Category.DRAFT, ((1033, "Open"),)),
            State("out", Category.PUBLISHED, ((1033, "Out"),)),
            State("gone", Category.RETIRED, ((1033, "Gone"),)),
        ),
        (Transition("Go", "open", "out", ((1033, "Go"),)),),
    )
    assert [each.key for each in slow.states] == ["draft", "checked", "out", "valid", "gone"]
    assert slow.transitions[2] == Transition("End", "valid", "gone", ((1033, "End"),), "Approve end", ends_version=True)
    assert [each.key for each in slow.transitions if each.ends_version] == ["End"]
    assert slow.takes_effect == "valid"
    assert OLD.rules == (
        ValidationRule("named", "name", Severity.ERROR, ((1033, "no name"),), ("checked", "out"), per_culture=True),
        ValidationRule(
            "held", "holder", Severity.WARNING, ((1031, "niemand"), (1033, "nobody")), transitions=("Publish", "Go")
        ),
    )


def test_tasks_of_the_standard_template_end_versions() -> None:
    (cycle,) = read_template(dict(load_template("standard").sections)).cycles
    asking = [(each.key, each.task) for each in cycle.transitions if each.task]
    assert asking == [(f"{state}ToRequestToExpire", "Approve expiry") for state in ("Released", "InEffect")]
    assert [each.key for each in cycle.transitions if each.ends_version] == [key for key, _ in asking]


def test_a_versioned_type_has_the_cycle_it_names_or_the_first() -> None:
    def cycles(**changes: Any) -> dict[str, str]:
        return {each.key: each.release_cycle for each in read_template(small_template(**changes)).types}

    others = {"box": "", "dot": "", "person": ""}
    assert cycles() == {"Thing": "slow", **others}
    assert cycles(**{"types.Thing.releaseCycle": None}) == {"Thing": "quick", **others}


def test_a_template_without_versioned_types_needs_no_cycle() -> None:
    changes = dict.fromkeys(("releaseCycles", "validationRules", "types.Thing.isVersioned", "types.Thing.releaseCycle"))
    found = read_template(small_template(**changes))
    assert (found.cycles, found.rules) == ((), ())
    assert read_template(write_template("x", "X", CULTURES, found)) == found


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        # Types.
        ({"types.Thing.releaseCycle": "fast"}, ['types.Thing.releaseCycle: unknown release cycle "fast"']),
        ({"types.Thing.releaseCycle": "Slow"}, ['types.Thing.releaseCycle: unknown release cycle "Slow"']),
        ({"types.Thing.releaseCycle": 7}, ["types.Thing.releaseCycle: expected a text"]),
        ({"types.Thing.releaseCycle": ""}, ["types.Thing.releaseCycle: expected a text"]),
        ({"types.box.releaseCycle": "slow"}, ["types.box.releaseCycle: only a versioned type can have a release cycle"]),
        (
            {"releaseCycles": None, "validationRules": None},
            ["types.Thing.releaseCycle: a versioned type needs a release cycle; define one under releaseCycles"],
        ),
        # A whole cycle.
        ({"releaseCycles.quick": 7, "validationRules": None}, [
            "releaseCycles.quick: expected an object",
            "releaseCycles.quick.states: a release cycle needs a state of the category draft",
            "releaseCycles.quick.states: a release cycle needs a state of the category published",
            "releaseCycles.quick.states: a release cycle needs a state of the category retired",
            f"releaseCycles.quick.displayNames: {EXPECTED_TEXTS}",
        ]),
        ({f"{CYCLE}.colour": "red"}, [f"{CYCLE}.colour: unknown field; the fields are displayNames, states, transitions, takesEffect"]),
        ({f"{CYCLE}.displayNames": None}, [f"{CYCLE}.displayNames: {EXPECTED_TEXTS}"]),
        ({"releaseCycles|very slow": SLOW}, [f"releaseCycles.very slow: 'very slow' {BAD_KEY}"]),
        ({"releaseCycles.SLOW": SLOW}, ['releaseCycles.SLOW: differs from "slow" in letter case only']),
        # States.
        ({STATES: [], WAYS: {}, f"{CYCLE}.takesEffect": None, "validationRules": None}, [
            f"{STATES}: expected an object",
            f"{STATES}: a release cycle needs a state of the category draft",
            f"{STATES}: a release cycle needs a state of the category published",
            f"{STATES}: a release cycle needs a state of the category retired",
        ]),
        ({f"{STATES}.draft.color": "red"}, [f"{STATES}.draft.color: unknown field; the fields are category, displayNames, task"]),
        ({f"{STATES}.draft.category": None}, [f"{STATES}.draft.category: expected one of draft, review, published, retired"]),
        ({f"{STATES}.draft.category": "static"}, [f"{STATES}.draft.category: expected one of draft, review, published, retired"]),
        ({f"{STATES}.draft.category": ["draft"]}, [f"{STATES}.draft.category: expected one of draft, review, published, retired"]),
        ({f"{STATES}.draft.displayNames": {}}, [f"{STATES}.draft.displayNames: {EXPECTED_TEXTS}"]),
        ({f"{STATES}.draft.displayNames": {"1033": " "}}, [f"{STATES}.draft.displayNames.1033: must not be blank"]),
        ({f"{STATES}|1st".replace(".", "|"): SLOW["states"]["checked"]}, [f"{STATES}.1st: '1st' {BAD_KEY}"]),
        ({f"{STATES}.OUT": SLOW["states"]["out"]}, [f'{STATES}.OUT: differs from "out" in letter case only']),
        ({f"{STATES}.draft.category": "review"}, [
            f"{STATES}: new versions start in the first state, so its category must be draft",
            f"{STATES}: a release cycle needs a state of the category draft",
        ]),
        ({STATES: {"checked": SLOW["states"]["checked"], **{key: each for key, each in SLOW["states"].items() if key != "checked"}}}, [
            f"{STATES}: new versions start in the first state, so its category must be draft",
        ]),
        ({f"{STATES}.gone": None, f"{WAYS}.End": None}, [f"{STATES}: a release cycle needs a state of the category retired"]),
        ({f"{STATES}.out.category": "review", f"{STATES}.valid.category": "review", f"{WAYS}.End": None, f"{CYCLE}.takesEffect": None}, [
            f"{STATES}: a release cycle needs a state of the category published",
        ]),
        # Transitions.
        ({WAYS: []} | {"validationRules.held": None}, [f"{WAYS}: expected an object"]),
        ({f"{WAYS}.Check": "draft"}, [
            f"{WAYS}.Check: expected an object",
            f"{WAYS}.Check.from: is missing",
            f"{WAYS}.Check.to: is missing",
            f"{WAYS}.Check.displayNames: {EXPECTED_TEXTS}",
        ]),
        ({f"{WAYS}.Check.role": "editor"}, [f"{WAYS}.Check.role: unknown field; the fields are displayNames, from, to, task, endsVersion"]),
        ({f"{WAYS}.Check.from": None}, [f"{WAYS}.Check.from: is missing"]),
        ({f"{WAYS}.Check.to": ""}, [f"{WAYS}.Check.to: expected a text"]),
        ({f"{WAYS}.Check.from": "Draft", f"{WAYS}.Check.to": "open"}, [
            f'{WAYS}.Check.from: unknown state "Draft"',
            f'{WAYS}.Check.to: unknown state "open"',  # a state of the other cycle
        ]),
        ({f"{WAYS}.End.task": 7}, [
            f"{WAYS}.End.task: expected a text",
            f"{WAYS}.End.endsVersion: {NO_TASK}",
        ]),
        ({f"{WAYS}.End.task": None}, [f"{WAYS}.End.endsVersion: {NO_TASK}"]),
        ({f"{WAYS}.Check.endsVersion": True}, [f"{WAYS}.Check.endsVersion: {NO_TASK}"]),
        ({f"{WAYS}.End.endsVersion": "yes"}, [f"{WAYS}.End.endsVersion: expected true or false"]),
        ({f"{WAYS}.End.task": "x" * 101}, [f"{WAYS}.End.task: is longer than 100 characters"]),
        ({f"{WAYS}.Check.displayNames": None}, [f"{WAYS}.Check.displayNames: {EXPECTED_TEXTS}"]),
        ({f"{WAYS}|To check".replace(".", "|"): way("draft", "checked")}, [f"{WAYS}.To check: 'To check' {BAD_KEY}"]),
        ({f"{WAYS}.check": way("draft", "checked")}, [f'{WAYS}.check: differs from "Check" in letter case only']),
        ({f"{WAYS}.Stay": way("draft", "draft")}, [f"{WAYS}.Stay.to: a transition must lead to another state"]),
        ({f"{WAYS}.Wake": way("gone", "draft")}, [f"{WAYS}.Wake.from: no transition can leave a retired state; create a new version instead"]),
        ({f"{WAYS}.Wake": way("gone", "valid")}, [f"{WAYS}.Wake.from: no transition can leave a retired state; create a new version instead"]),
        ({f"{WAYS}.Back": way("valid", "draft")}, [f"{WAYS}.Back.to: a published version cannot return to draft or review; create a new version instead"]),
        ({f"{WAYS}.Back": way("out", "checked")}, [f"{WAYS}.Back.to: a published version cannot return to draft or review; create a new version instead"]),
        ({f"{WAYS}.Drop": way("draft", "gone")}, [f"{WAYS}.Drop.to: only a published version can be retired"]),
        ({f"{WAYS}.Drop": way("checked", "gone")}, [f"{WAYS}.Drop.to: only a published version can be retired"]),
        ({f"{WAYS}.Check.task": "Approve"}, [f"{WAYS}.Check.task: only a transition from a published state can have a task"]),
        # States that versions enter automatically.
        *(
            ({f"{CYCLE}.takesEffect": state}, [f"{CYCLE}.takesEffect: expected a published state other than the first published one"])
            for state in ("Valid", "out", "draft", "gone")
        ),
        ({"releaseCycles.quick.takesEffect": "out"}, ["releaseCycles.quick.takesEffect: expected a published state other than the first published one"]),
        ({f"{CYCLE}.takesEffect": 7}, [
            f"{CYCLE}.takesEffect: expected a text",
            f"{CYCLE}.takesEffect: expected a published state other than the first published one",
        ]),
        # Rules.
        ({"validationRules": []}, ["validationRules: expected an object"]),
        ({"validationRules.named": 7}, [
            "validationRules.named: expected an object",
            "validationRules.named.property: is missing",
            "validationRules.named.severity: expected one of error, warning",
            f"validationRules.named.messages: {EXPECTED_TEXTS}",
            "validationRules.named: name at least one state or transition",
        ]),
        ({"validationRules.named.message": "x"}, ["validationRules.named.message: unknown field; the fields are property, severity, messages, states, transitions, perCulture"]),
        ({"validationRules|is named": NAMED}, [f"validationRules.is named: 'is named' {BAD_KEY}"]),
        ({"validationRules.Named": NAMED}, ['validationRules.Named: differs from "named" in letter case only']),
        ({f"{STATES}.checked.task": "Check"}, [f"{STATES}.checked.task: expected an object"]),
        ({f"{STATES}.checked.task": {}}, [f"{STATES}.checked.task.{name}: is missing" for name in ("type", "accept", "reject")]),
        ({f"{STATES}.checked.task": TASK | {"who": "holder"}, **BACK}, [f"{STATES}.checked.task.who: unknown field; the fields are type, assignees, approvals, dueDays, accept, reject"]),
        ({f"{STATES}.checked.task": TASK | {"approvals": "some", "dueDays": 0}, **BACK}, [
            f"{STATES}.checked.task.approvals: expected a whole number from 1 to 100",
            f"{STATES}.checked.task.dueDays: expected a whole number from 1 to 3650",
        ]),
        ({f"{STATES}.checked.task": TASK | {"accept": "Pass", "reject": "Check"}}, [
            f'{STATES}.checked.task.accept: unknown transition "Pass"',
            f"{STATES}.checked.task.reject: the transition Check does not begin in this state",
        ]),
        ({f"{STATES}.checked.task": TASK | {"assignees": ["holder", "name", "boss"]}, **BACK}, [
            f'{STATES}.checked.task.assignees[{place}]: no versioned type has a related context "{name}"'
            for place, name in ((1, "name"), (2, "boss"))
        ]),
        ({f"{STATES}.checked.task": TASK | {"reject": "Publish"}}, [
            f"{STATES}.checked.task.reject: the transition Publish must lead to a draft or review state",
        ]),
        ({f"{STATES}.out.task": TASK | {"accept": "End", "reject": "End"}}, [
            f"{STATES}.out.task: only a state of the category review can have a task",
            *(f"{STATES}.out.task.{name}: the transition End does not begin in this state" for name in ("accept", "reject")),
        ]),
        ({"validationRules.named.property": "nmae"}, ['validationRules.named.property: no versioned type has a property "nmae"']),
        ({"validationRules.held.property": "age"}, ['validationRules.held.property: no versioned type has a property "age"']),
        ({"validationRules.held.property": ["holder"]}, ["validationRules.held.property: expected a text"]),
        ({"validationRules.named.severity": "fatal"}, ["validationRules.named.severity: expected one of error, warning"]),
        ({"validationRules.named.severity": None}, ["validationRules.named.severity: expected one of error, warning"]),
        ({"validationRules.named.messages": {}}, [f"validationRules.named.messages: {EXPECTED_TEXTS}"]),
        ({"validationRules.named.states": ["checked", "Out", "open"]}, ['validationRules.named.states[1]: unknown state "Out"']),
        ({"validationRules.held.transitions": ["publish"]}, ['validationRules.held.transitions[0]: unknown transition "publish"']),
        ({"validationRules.named.states": ["out", "out"]}, ["validationRules.named.states[1]: 'out' occurs twice"]),
        ({"validationRules.named.transitions": "Go"}, ["validationRules.named.transitions: expected a list"]),
        ({"validationRules.named.states": None}, ["validationRules.named: name at least one state or transition"]),
        ({"validationRules.named.perCulture": "yes"}, ["validationRules.named.perCulture: expected true or false"]),
        ({"validationRules.named.property": "größe"}, ["validationRules.named.perCulture: größe does not have values by culture"]),
        ({"validationRules.held.perCulture": True}, ["validationRules.held.perCulture: holder does not have values by culture"]),
    ],
)  # fmt: skip
def test_problems(changes: dict[str, Any], problems: list[str]) -> None:
    with pytest.raises(Invalid) as caught:
        read_template(small_template(**changes))
    assert list(caught.value.details) == problems


def test_a_property_that_only_one_type_has_by_culture() -> None:
    """The rule requires a value per culture of one type and a single value of the other, in any order of types."""
    alone = {
        "key": "name",
        "displayNames": {"1033": "Name"},
        "attribute": {"dataType": "SingleLineText", "isInvariantCulture": True},
    }
    twin = {**SMALL["types"]["Thing"], "properties": [alone]}
    for types in ({**SMALL["types"], "twin": twin}, {"twin": twin, **SMALL["types"]}):
        assert read_template({**SMALL, "types": types}).rules[0].per_culture


def rule_about(key: str) -> dict[str, Any]:
    """Return the standard template with one more rule, about a property of its versions."""
    sections = dict(load_template("standard").sections)
    rule = {"property": key, "severity": "error", "messages": NAMES, "states": ["released"]}
    return {**sections, "validationRules": {"extra": rule}}


@pytest.mark.parametrize(
    "key",
    "version state1 changedOn createdOn relOn isReleased gotoUrl authorNote changedBy createdBy relBy releaseHistory".split(),
)
def test_no_rule_can_require_a_derived_property(key: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_template(rule_about(key))
    assert list(caught.value.details) == [
        f"validationRules.extra.property: the server derives {key}, so no rule can require it"
    ]


@pytest.mark.parametrize("key", ["validFrom", "validUntil", "stereotype", "owner", "purp"])
def test_rules_can_require_properties_that_clients_set(key: str) -> None:
    assert [each.property for each in read_template(rule_about(key)).rules] == [key]


@pytest.mark.parametrize(
    ("source", "target"),
    [("draft", "out"), ("checked", "draft"), ("checked", "valid"), ("out", "valid"), ("valid", "out"), ("out", "gone")],
)
def test_allowed_transitions(source: str, target: str) -> None:
    found = read_template(small_template(**{f"{WAYS}.Way": way(source, target)})).cycles[1].transitions[-1]
    assert found == Transition("Way", source, target, ((1033, "X"),))


# Each entry changes or removes one part of a cycle or rule.
PARTS: list[dict[str, Any]] = [
    {f"{CYCLE}.displayNames": {"1031": "Langsam"}},
    {f"{CYCLE}.takesEffect": None},
    {f"{STATES}.valid.category": "retired", f"{CYCLE}.takesEffect": None, f"{WAYS}.End": None},
    {f"{STATES}.checked.displayNames": {"1033": "Checked"}},
    {f"{WAYS}.Publish.from": "draft"},
    {f"{WAYS}.Publish.to": "valid"},
    {f"{WAYS}.End.task": "Approve the end"},
    {f"{WAYS}.End.task": None, f"{WAYS}.End.endsVersion": None},
    {f"{WAYS}.End.endsVersion": None},
    {f"{WAYS}.End.displayNames": {"1031": "Ende"}},
    {f"{WAYS}.Check": None},
    {"releaseCycles": dict(reversed(SMALL["releaseCycles"].items()))},
    {WAYS: dict(reversed(SLOW["transitions"].items()))},
    {"types.Thing.releaseCycle": "quick"},
    {"validationRules.named.property": "holder", "validationRules.named.perCulture": False},
    {"validationRules.named.severity": "warning"},
    {"validationRules.named.messages": {"1031": "kein Name"}},
    {"validationRules.named.states": ["out"]},
    {"validationRules.named.transitions": ["Go"]},
    {"validationRules.named.perCulture": False},
    {"validationRules": dict(reversed(SMALL["validationRules"].items()))},
    {"validationRules.held": None},
]


@pytest.mark.parametrize("changes", PARTS)
def test_a_written_template_keeps_every_part(changes: dict[str, Any]) -> None:
    new = read_template(small_template(**changes))
    assert new != OLD
    assert read_template(write_template("x", "X", CULTURES, new)) == new


@pytest.mark.django_db
@pytest.mark.long
def test_rows_keep_every_part_and_each_change_has_a_new_revision(small: Storage, other_storage: Storage) -> None:
    others = revision(other_storage)
    for changes in PARTS:
        for new in (read_template(small_template(**changes)), OLD):
            before = revision(small)
            change_configuration(small, new)
            assert revision(small) != before
            with tenant_scope(small):
                assert read_blueprint() == new
            found = configuration_of(Storage.objects.get(pk=small.pk))
            assert found.cycles["Thing"].cycle in new.cycles
            assert found.blueprint.rules == new.rules
    assert revision(other_storage) == others


@pytest.mark.django_db
def test_the_database_requires_a_cycle_for_versioned_types_only(small: Storage) -> None:
    with tenant_scope(small):
        cycle = models.ReleaseCycle.objects.get(key="quick").id
        for key, given in (("Thing", None), ("box", cycle)):
            with pytest.raises(IntegrityError, match="versions_have_a_cycle"), transaction.atomic():
                models.ElementType.objects.filter(key=key).update(release_cycle_id=given)


# The compiled configuration.


def compiled(**changes: Any) -> Configuration:
    return compile_configuration(1, CULTURES, read_template(small_template(**changes)), {})


def test_the_cycles_of_types() -> None:
    found = compiled(**{"types.twin": {**SMALL["types"]["Thing"], "releaseCycle": "quick"}})
    assert {key: each.cycle.key for key, each in found.cycles.items()} == {"Thing": "slow", "twin": "quick"}
    assert dict(found.cycles["Thing"].categories) == {
        "draft": Category.DRAFT,
        "checked": Category.REVIEW,
        "out": Category.PUBLISHED,
        "valid": Category.PUBLISHED,
        "gone": Category.RETIRED,
    }


def test_the_category_of_a_state() -> None:
    found = compiled()
    thing, box = found.types["Thing"], found.types["box"]
    assert [found.category(thing, state) for state in ("draft", "checked", "valid")] == ["draft", "review", "published"]
    assert found.category(box, "") is found.category(box, "show") is Category.STATIC


def test_states_that_versions_enter_automatically() -> None:
    more = {
        "late": {"category": "retired", "displayNames": NAMES},
        "again": {"category": "draft", "displayNames": NAMES},
    }
    cycle = compiled(**{STATES: SLOW["states"] | more}).cycles["Thing"]
    assert (cycle.first_state, cycle.published_state, cycle.retired_state) == ("draft", "out", "gone")


def test_a_transition_is_found_in_any_letter_case() -> None:
    for key in ("Publish", "publish", "PUBLISH"):
        assert slow().transition(key) == OLD.cycles[1].transitions[1]


def test_an_unknown_transition_is_reported_with_the_known_ones() -> None:
    for key in ("Go", "", "Publish ", "x" * 101):
        with pytest.raises(NotFound) as caught:
            slow().transition(key)
        text = f"There is no transition {key[:100]!r} in the release cycle slow; it has Check, Publish, End."
        assert str(caught.value) == text


def test_transitions_that_make_a_release() -> None:
    ways = {"Hasten": way("draft", "valid"), "Back": way("checked", "draft"), "Effect": way("out", "valid")}
    cycle = compiled(**{WAYS: SLOW["transitions"] | ways}).cycles["Thing"]
    assert {each.key for each in cycle.cycle.transitions if cycle.enters_published(each)} == {"Publish", "Hasten"}


def slow() -> CompiledCycle:
    return compiled().cycles["Thing"]


# Changes.


def changed(**changes: Any) -> Blueprint:
    return read_template(small_template(**changes))


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({f"{STATES}.valid.displayNames": {"1033": "In force"}}, ["~ cycles.slow.states.valid.display_names: {1033: 'Valid'} -> {1033: 'In force'}"]),
        ({f"{STATES}.checked.category": "draft"}, ["~ cycles.slow.states.checked.category: review -> draft"]),
        ({f"{STATES}.late": SLOW["states"]["gone"]}, ["+ cycles.slow.states.late"]),
        ({f"{WAYS}.End": None}, ["- cycles.slow.transitions.End"]),
        ({f"{WAYS}.Publish.from": "draft"}, ["~ cycles.slow.transitions.Publish.source: checked -> draft"]),
        ({f"{WAYS}.Publish.to": "valid"}, ["~ cycles.slow.transitions.Publish.target: out -> valid"]),
        ({f"{WAYS}.End.task": "Approve"}, ["~ cycles.slow.transitions.End.task: Approve end -> Approve"]),
        ({f"{WAYS}.End.task": None, f"{WAYS}.End.endsVersion": False}, [
            "~ cycles.slow.transitions.End.task: Approve end -> nothing",
            "~ cycles.slow.transitions.End.ends_version: True -> False",
        ]),
        ({f"{WAYS}.End.endsVersion": None}, ["~ cycles.slow.transitions.End.ends_version: True -> False"]),
        ({WAYS: dict(reversed(SLOW["transitions"].items()))}, ["~ cycles.slow.transitions: different order"]),
        ({f"{CYCLE}.takesEffect": None}, ["~ cycles.slow.takes_effect: valid -> nothing"]),
        ({"types.Thing.releaseCycle": "quick"}, ["~ types.Thing.release_cycle: slow -> quick"]),
        ({"releaseCycles.third": SLOW}, ["+ cycles.third"]),
        ({"validationRules.named": None}, ["- rules.named"]),
        ({"validationRules.named.severity": "warning"}, ["~ rules.named.severity: error -> warning"]),
        ({"validationRules.named.states": ["out"]}, ["~ rules.named.states: [checked, out] -> [out]"]),
        ({"validationRules.held.transitions": None, "validationRules.held.states": ["valid"]}, ["~ rules.held.states: nothing -> [valid]", "~ rules.held.transitions: [Publish, Go] -> nothing"]),
        ({"validationRules.named.perCulture": False}, ["~ rules.named.per_culture: True -> False"]),
    ],
)  # fmt: skip
def test_differences_as_lines(changes: dict[str, Any], lines: list[str]) -> None:
    assert describe_differences(OLD, changed(**changes)) == lines


REMOVED, RECATEGORISED = "the state is removed from its release cycle", "the category of the state changes"


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({f"{STATES}.late": SLOW["states"]["gone"]}, []),
        ({f"{STATES}.valid.displayNames": {"1033": "In force"}, f"{WAYS}.End": None, "validationRules": None}, []),
        (
            {f"{STATES}.checked": None, f"{WAYS}.Check": None, f"{WAYS}.Publish.from": "draft", "validationRules.named": None},
            [Hazard(REMOVED, "Thing", state="checked")],
        ),
        ({f"{STATES}.checked.category": "draft"}, [Hazard(RECATEGORISED, "Thing", state="checked")]),
        # The states out and gone are the same in both cycles.
        (
            {"types.Thing.releaseCycle": "quick"},
            [Hazard(REMOVED, "Thing", state=each) for each in ("draft", "checked", "valid")],
        ),
        (
            {"types.Thing.releaseCycle": "quick", "releaseCycles.quick.states.valid": SLOW["states"]["gone"]},
            [
                Hazard(REMOVED, "Thing", state="draft"),
                Hazard(REMOVED, "Thing", state="checked"),
                Hazard(RECATEGORISED, "Thing", state="valid"),
            ],
        ),
        # No type uses this cycle.
        ({"releaseCycles.quick": None, "validationRules.held": None}, []),
        # A cycle under another name with the same states orphans nothing.
        ({"releaseCycles.slow": None, "releaseCycles.tardy": SLOW, "types.Thing.releaseCycle": "tardy"}, []),
    ],
)  # fmt: skip
def test_hazards(changes: dict[str, Any], found: list[Hazard]) -> None:
    assert hazards(OLD, changed(**changes)) == found


def test_each_type_of_a_cycle_is_a_separate_hazard() -> None:
    twin = {"types.twin": SMALL["types"]["Thing"]}
    found = hazards(changed(**twin), changed(**twin, **{f"{STATES}.checked.category": "draft"}))
    assert found == [Hazard(RECATEGORISED, type, state="checked") for type in ("Thing", "twin")]


def test_a_type_that_starts_or_stops_having_versions_is_one_hazard() -> None:
    plain = changed(**{"types.Thing.isVersioned": None, "types.Thing.releaseCycle": None, "validationRules": None})
    hazard = Hazard("the type starts or stops having versions", "Thing")
    assert hazards(OLD, plain) == hazards(plain, OLD) == [hazard]
