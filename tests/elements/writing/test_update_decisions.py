"""Decisions of an update, made without a database: pytest-django refuses every connection in these tests."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5
from zoneinfo import ZoneInfo

import pytest

from elements.reading.rows import VersionRow
from elements.writing.authors import Author
from elements.writing.deciding.updates import UpdatePlan, decide_update
from elements.writing.findings import Findings
from elements.writing.inputs import InputReader
from elements.writing.stored import Ancestry, CurrentState, Diagram, ReferenceTarget, Stored, StoredElement
from elements.writing.writers import Writer
from facets.configuration import compile_configuration
from facets.template_format.reading import read_template
from repository_site.core.problems import Conflict, Forbidden, Invalid, NotFound, Problem
from storage.access.callers import Caller, CallerKind
from storage.localisation.cultures import CultureSet
from storage.options import Role
from tests.elements.handbook import ID, TEMPLATE

BLUEPRINT = read_template(TEMPLATE)
TYPE_IDS = {each.key: uuid5(UUID(int=0), each.key) for each in BLUEPRINT.types}
CULTURES = CultureSet(data=(1031, 1033), default=1033, mandatory=(1033,))
CONFIGURATION = compile_configuration(1, CULTURES, BLUEPRINT, TYPE_IDS)
VIEW = CONFIGURATION.facets["processes"].views["detail"]
MORNING = datetime(2026, 3, 1, 8, tzinfo=UTC)
ANNA = UUID(ID["anna"])


def draft(key: str, type: str, parent: str | None = None, state: str = "inProcess", **attributes: Any) -> VersionRow:
    element, version = ID[key], ID[f"{key}-1"]
    category = CONFIGURATION.category(CONFIGURATION.types[type], state).value
    return VersionRow(
        element, element, str(TYPE_IDS[type]), version, state, "", parent and ID[parent], 0, 1, MORNING, MORNING, None,
        None, None, None, None, None, version, None, 1, category, "", json.dumps(attributes),
    )  # fmt: skip


INVOICE = draft("invoice", "subProcess", "sales", name={"1033": "Invoice"}, scope={"1033": "All"})
SHIP = draft("ship", "subProcess", "sales", "released", name={"1033": "Ship"})
ROWS = (INVOICE, SHIP)
TARGETS = {"crm": "system", "sales": "mainProcess", "invoice": "subProcess", "house": "processHouse"}


def current(authors: tuple[str, ...] = (), drawn: dict[str, list[Diagram]] | None = None) -> CurrentState:
    return CurrentState(
        Stored(
            {each.element: StoredElement(each.element, each.type, each.parent, each.version, None) for each in ROWS},
            {each.version: each for each in ROWS},
            {INVOICE.version: {"author": list(authors)}},
            drawn or {},
        ),
        {ID[name]: ReferenceTarget(ID[name], str(TYPE_IDS[type]), None) for name, type in TARGETS.items()},
        Ancestry({ID["invoice"]: ID["sales"], ID["sales"]: None}, {ID["sales"]: str(TYPE_IDS["mainProcess"])}),
    )


def decide(*elements: Any, role: Role = Role.EDITOR, state: CurrentState | None = None) -> UpdatePlan:
    findings = Findings()
    given = InputReader(findings).elements({"elements": list(elements)})
    caller = Caller(CallerKind.TOKEN, "token:1", frozenset({role}), ANNA)
    writer = Writer(CONFIGURATION, caller, ZoneInfo("Europe/Berlin"), Author(ANNA, "token:1", "r-1"))
    plan = decide_update(writer, VIEW, given, state or current(), findings)
    findings.raise_any()
    return plan


def test_a_change_has_new_and_old_values() -> None:
    named = {"name": {"1033": "Bill", "1031": "Rechnung"}, "scope": {"1033": None}}
    plan = decide({"id": ID["invoice"], "attributes": named, "related": {"systems": [{"id": ID["crm"]}]}})
    [change] = plan.changes
    assert plan.versions == [INVOICE.version]
    assert (change.row, change.changed) == (INVOICE, {"name", "scope", "systems"})
    assert change.attributes == {"name": {"1033": "Bill", "1031": "Rechnung"}}
    assert change.related == {"systems": [ID["crm"]]}
    assert change.before == {
        "attributes": {"name[1033]": "Invoice", "name[1031]": None, "scope[1033]": "All"},
        "related": {"systems": []},
    }
    assert change.after == {
        "attributes": {"name[1033]": "Bill", "name[1031]": "Rechnung", "scope[1033]": None},
        "related": {"systems": [ID["crm"]]},
    }


def test_a_change_to_the_stored_values_changes_nothing() -> None:
    [change] = decide({"id": ID["invoice"], "attributes": {"name": {"1033": "Invoice"}}, "state": "inProcess"}).changes
    assert (change.changed, change.related, change.is_moved, change.before, change.after) == (set(), {}, False, {}, {})


def test_a_new_element_has_the_caller_as_its_author() -> None:
    plan = decide({"type": "subProcess", "attributes": {}, "rootPath": [{"id": ID["sales"]}]})
    [change] = plan.changes
    assert plan.versions == [change.version]
    assert (change.row, change.parent, change.is_moved) == (None, ID["sales"], True)
    assert change.related == {"author": [ID["anna"]]}


@pytest.mark.parametrize(
    ("problem", "element", "text"),
    [
        (NotFound, {"id": ID["old"]}, "there is no such element in the view detail of the facet processes"),
        (Invalid, {"id": ID["invoice"], "attributes": {"nmae": {}}}, "nmae: the type subProcess has no such attribute;"),
        (Invalid, {"id": ID["invoice"], "related": {"systems": [{"id": ID["sales"]}]}}, "has the type mainProcess; expected"),
        (Invalid, {"id": ID["invoice"], "rootPath": [{"id": ID["house"]}]}, "possible parents: mainProcess or subProcess"),
        (Invalid, {"id": ID["invoice"], "rootPath": [{"id": ID["invoice"]}]}, "is the element itself or below it"),
        (Conflict, {"id": ID["ship"], "attributes": {"scope": {"1033": "x"}}}, "scope cannot be changed in the state released"),
        (Conflict, {"id": ID["invoice"], "state": "released"}, "apply a transition to change its state"),
        (Invalid, {"attributes": {}}, "a new element needs a type; the view detail has"),
        (Invalid, {"type": "task"}, "elements of type task are created by drawing them"),
        (Forbidden, {"type": "processHouse", "attributes": {}}, "creating an element of type processHouse requires the permission NewElement"),
    ],
)  # fmt: skip
def test_a_wrong_change_is_refused(problem: type[Problem], element: Any, text: str) -> None:
    with pytest.raises(problem) as raised:
        decide(element)
    assert text in raised.value.message


def test_only_authors_and_architects_change_an_element_with_authors() -> None:
    others, change = current(authors=(ID["ben"],)), {"id": ID["invoice"], "attributes": {"scope": {"1033": "x"}}}
    with pytest.raises(Forbidden) as raised:
        decide(change, state=others)
    assert "only its authors and architects can change it" in raised.value.message
    assert decide(change, role=Role.ARCHITECT, state=others).versions == [INVOICE.version]


def test_all_problems_of_a_request_are_reported_together() -> None:
    with pytest.raises(NotFound) as raised:
        decide(
            {"id": ID["old"]},
            {"id": ID["ship"], "attributes": {"scope": {"1033": "x"}, "count": {"127": "many"}}},
            {"id": ID["invoice"]},
            {"id": ID["invoice"]},
        )
    assert raised.value.message == "The request has 4 problems; nothing was changed."
    assert [each.split(": ")[-1].split(";")[0] for each in raised.value.details] == [
        "there is no such element in the view detail of the facet processes.",
        "must be a whole number of up to 64 bits.",
        "scope cannot be changed in the state released",
        "the request contains this version twice",
    ]


def test_deciding_leaves_the_current_state_alone() -> None:
    state = current()
    decide({"id": ID["invoice"], "rootPath": []}, state=state)
    assert state == current()
