"""Random filters over random elements: the database finds the same elements as the evaluation in Python (D13)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elements.filters.binding import KINDS, ValueKind, Vocabulary
from elements.filters.syntax import Operator, TextFunction
from elements.reading.lists.narrowing import narrowed
from storage.tenancy.scope import tenant_scope
from tests.elements.filter_world import (
    ADDRESS,
    KEYS,
    STATES,
    ZONES,
    FilterWorld,
    filter_world,
    identity,
    quoted,
)
from tests.elements.random_things import DAYS, INSTANTS, MOMENTS, NUMBERS, TEXTS, Maker
from tests.scale import scaled

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.on_cluster]
IDS = [str(identity(("thing", number))) for number in range(12)] + [str(identity(("version", 3, 0)))]
LOCAL_TIMES = sorted({(each.astimezone(zone).replace(tzinfo=None) + timedelta(microseconds=more)).isoformat() for each in INSTANTS for zone in ZONES for more in (0, 1)})  # fmt: skip
ADDRESSES = [f"{ADDRESS}/1031/people/", "/1033/things%2C%20%C3%A9TC./", IDS[0], "nur der Autor, weitere", "Element."]
LITERALS: dict[ValueKind, st.SearchStrategy[str]] = {
    ValueKind.TEXT: st.sampled_from([*map(quoted, [*TEXTS, *KEYS, *STATES, *ADDRESSES, "show", "box", "people", "Crate", "1.1"]), "null"]),
    ValueKind.KEYS: st.sampled_from([*map(quoted, [*KEYS, "n"]), "null"]),
    ValueKind.NUMBER: st.sampled_from([*map(str, NUMBERS), "2", "10", "-1e999", "1e-999", "null"]),
    ValueKind.TRUTH: st.sampled_from(["true", "false", "null"]),
    ValueKind.MOMENT: st.sampled_from([*DAYS, *MOMENTS, *map(quoted, LOCAL_TIMES), "9999-12-31T23:59:59.999999", "null"]),
    ValueKind.FILES: st.sampled_from(["'x'"]),
    ValueKind.ID: st.sampled_from([*IDS, "null"]),
}  # fmt: skip
# All cultures, one, and one with fallbacks (D482).
CULTURES = [(), (), (1031,), (1033,), (1031, 1033), (1033, 1031)]
CASES: list[Callable[[str], str]] = [str, str.upper, str.lower, str.swapcase]
ORDERS = [each for each in Operator if each is not Operator.IN]


def operands(vocabulary: Vocabulary) -> list[tuple[str, ValueKind]]:
    """Return all possible operands, with the kind of literal that fits."""
    found = [("id", ValueKind.ID), ("versionId", ValueKind.ID), ("creationId", ValueKind.ID)]
    found += [(name, ValueKind.TEXT) for name in ("type", "state", "stereotype", "facetName")]
    found += [("attributes", kind) for kind in ValueKind if kind is not ValueKind.ID]
    for name, definitions in vocabulary.attributes.items():
        for each in definitions:
            kind = KINDS[each.data_type]
            cultures = ["127"] if each.is_invariant_culture else ["1031", "1033"]
            found += [(f"{name}[{lcid}]", kind) for lcid in cultures]
            if name not in ("id", "stereotype"):
                found += [(name, kind)] * 2
    return found + [(name, ValueKind.ID) for name in vocabulary.contexts for _ in range(3)]


@st.composite
def predicates(draw: st.DrawFn, known: list[tuple[str, ValueKind]]) -> str:
    operand, kind = draw(st.sampled_from(known))
    shape = draw(st.integers(0, 9))
    if shape < 2:
        return f"IsNull({operand})"
    if kind is ValueKind.FILES or (kind in (ValueKind.TEXT, ValueKind.KEYS) and shape < 6):
        text = draw(st.sampled_from([*TEXTS, *KEYS, *ADDRESSES, "b.P", "str", "E"]))
        changed = draw(st.sampled_from(CASES))(text)
        return f"{draw(st.sampled_from(list(TextFunction)))}({operand}, {quoted(changed)})"
    if shape == 9:
        return f"{operand} -in ({', '.join(draw(st.lists(LITERALS[kind], min_size=1, max_size=3)))})"
    operators = [Operator.EQ, Operator.NE] if kind in (ValueKind.ID, ValueKind.TRUTH) else ORDERS
    literal = draw(LITERALS[kind])
    return f"{operand} {draw(st.sampled_from(operators[:2] if literal == 'null' else operators))} {literal}"


def expressions(known: list[tuple[str, ValueKind]]) -> st.SearchStrategy[str]:
    return st.recursive(
        predicates(known),
        lambda inner: st.one_of(
            inner.map(lambda each: f"NOT ({each})"),
            st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda each: f"({' '.join(each)})"),
        ),
        max_leaves=4,
    )


@pytest.fixture(scope="module")
def random_world(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FilterWorld]:
    with (
        django_db_blocker.unblock(),
        filter_world("random", Maker(1).things(), tmp_path_factory.mktemp("random")) as world,
    ):
        yield world


def test_random_filters_agree_with_the_evaluation(random_world: FilterWorld) -> None:
    matched = 0

    @settings(max_examples=scaled(2000), deadline=None, database=None)
    @given(
        expressions(operands(random_world.vocabulary)), st.sampled_from(ZONES), st.booleans(), st.sampled_from(CULTURES)
    )
    def check(filter: str, zone: ZoneInfo, sees_drafts: bool, cultures: tuple[int, ...]) -> None:
        nonlocal matched
        expression = random_world.read(filter, cultures)
        condition = random_world.compiled(expression, zone, sees_drafts)
        found = random_world.selected(condition)
        assert found == random_world.expected(expression, zone, sees_drafts)
        if condition.ways:
            assert random_world.selected(narrowed(condition) or condition) == found
        matched += 0 < len(found) < len(random_world.wires[zone, sees_drafts])

    found = {own.state for each in random_world.things.values() if each.type == "box" for own in each.versions}
    assert found == {"", *STATES}
    with tenant_scope(random_world.storage):
        check()
    assert matched > scaled(800)  # otherwise the filters are too easy
