"""Random filters over random elements: the database finds the same elements as the evaluation in Python (D13)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elements.filters.binding import KINDS, ValueKind, Vocabulary
from elements.filters.syntax import Operator, TextFunction
from elements.reading.lists.narrowing import narrowed
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import ElementType
from facets.template_format.reading import read_template
from storage.tenancy.scope import tenant_scope
from tests.elements.filter_world import (
    ADDRESS,
    KEYS,
    OPEN,
    PUBLISHED,
    STATES,
    TEMPLATE,
    ZONES,
    FilteredVersion,
    FilterWorld,
    Thing,
    filter_world,
    identity,
    quoted,
)
from tests.scale import scaled

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.on_cluster]
TEXTS = [
    "", " ", "\u3000\t", "a", "A", "ab", "Straße", "STRAẞE", "İstanbul", "istanbul", "K", "k", "ǅ", "ΟΔΟΣ", "z", "Z", "ä",
    "Ä", "100 %", "it's", 'say "hi"', "a_b\\c", "2026-01-02", "1.0", "true", "x\ny", "𐐀𐐨", "released", "s", "m",
]  # fmt: skip
NUMBERS = [0, 1, -1, 12, 2**63 - 1, -(2**63), Decimal("0.1"), Decimal("0.10"), Decimal("1E+20"), Decimal("-0.0"), Decimal("1.00000000000000000000000000001")]  # fmt: skip
DAYS = ["2026-01-02", "2026-03-29", "0001-01-01", "9999-12-31"]
MOMENTS = ["2026-01-02T00:00:00", "2026-03-29T02:30:00", "2026-01-02T03:04:05.5", "2026-01-02T03:04:05.1234567", "2026-01-02T03:04:05.123456", "9999-12-31T23:59:59.9999999"]  # fmt: skip
# Around the clock changes of all zones, and far away.
INSTANTS = [
    *(datetime(2026, month, day, hour, minute, tzinfo=UTC) for month, day, hours in [(3, 29, (0, 1, 2)), (10, 25, (0, 1)), (11, 1, (5, 6)), (3, 8, (6, 7)), (4, 4, (14, 15))] for hour in hours for minute in (0, 30)),
    *(datetime(2026, 10, 25, 0, 59, 59, 999999, tzinfo=UTC), datetime(2026, 1, 2, 3, 4, 5, 1, tzinfo=UTC), datetime(2011, 12, 30, 9, 59, tzinfo=UTC), datetime(2011, 12, 30, 10, 0, tzinfo=UTC)),
    *(datetime(9999, 12, 30, 23, tzinfo=UTC), datetime(9999, 12, 31, 5, tzinfo=UTC), datetime(1, 1, 2, tzinfo=UTC)),
]  # fmt: skip
FILES = [{"address": "a/B.png"}, {"title": "Ä", "address": ""}, {"title": "s", "address": "x", "mimeType": "z"}]
VALUES: dict[DataType, list[Any]] = {
    **dict.fromkeys((each for each, kind in KINDS.items() if kind is ValueKind.TEXT), TEXTS),
    DataType.SELECTION_VALUE: list(KEYS),
    DataType.MULTI_SELECTION_VALUE: [[], ["s"], ["m", "Größe L"], list(KEYS)],
    DataType.BOOLEAN: [True, False],
    DataType.INTEGER: NUMBERS[:6],
    DataType.DECIMAL: NUMBERS,
    DataType.DATE: DAYS,
    DataType.DATE_TIME: MOMENTS,
    DataType.FILES: [[], FILES[:1], FILES],
}
# Values that no current configuration allows, but an earlier one may have.
LEFT_OVER: list[Any] = [None, 5, "x", [], ["s", 3], {}, True, "2026-01-02T00:00:00"]


class Maker:
    """Return random elements; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self.types = {each.key: each for each in read_template(TEMPLATE).types}
        self.random = random.Random(seed)
        self.ids = [identity(("thing", number)) for number in range(80)]

    def things(self) -> dict[str, Thing]:
        return {str(number): self.thing(number) for number in range(len(self.ids))}

    def thing(self, number: int) -> Thing:
        pick, id = self.random, self.ids[number]
        type = self.types[pick.choice(["box", "box", "box", "bag", "bag", "dot", "person"])]
        if not type.is_versioned:
            # A state from a time when the type had versions.
            [state] = self.states(1) if pick.random() < 0.2 else [""]
            own = self.version(id, type, state)
            return Thing(id, type.key, [own], published=0, creation_id=pick.choice(self.ids))
        states = self.states(pick.randint(1, 3))
        versions = [
            self.version(identity(("version", number, place)), type, state, place) for place, state in enumerate(states)
        ]
        published = pick.choice([None, *range(len(versions))])
        return Thing(id, type.key, versions, pick.randrange(len(versions)), published)

    def states(self, number: int) -> list[str]:
        """Return states of the versions of one element: at most one is open, and one published."""
        found: list[str] = []
        free = ["", *STATES]
        while len(found) < number:
            state = self.random.choice(free)
            found.append(state)
            free = [each for each in free if not any({each, state} <= alone for alone in (OPEN, PUBLISHED))]
        return found

    def version(self, id: UUID, type: ElementType, state: str, place: int = 0) -> FilteredVersion:
        pick = self.random
        major = pick.choice([None, 0, 1, 2, 10])
        return FilteredVersion(
            id,
            state=state,
            major=major,
            minor=None if major is None else 4 * pick.randint(0, 2) + place,  # no number twice in an element
            stereotype=pick.choice(["", "", " ", "Crate", "s"]),
            attributes=self.attributes(type),
            stamps={key: pick.choice(INSTANTS) for key in ("changedOn", "createdOn", "relOn", "validFrom", "validUntil") if key in ("changedOn", "createdOn") or pick.random() < 0.6},
            callers={key: pick.choice(self.ids) for key in ("changedBy", "createdBy", "relBy") if pick.random() < 0.5},
            references={key: pick.sample(self.ids[:8], pick.randint(1, 3)) for key in ("owner", "author", "secondaryAuthors", "held", "changedBy", "releaseHistory") if pick.random() < 0.4},
        )  # fmt: skip

    def attributes(self, type: ElementType) -> dict[str, dict[str, Any]]:
        pick = self.random
        found: dict[str, dict[str, Any]] = {"gone": {"127": pick.choice(TEXTS)}} if pick.random() < 0.2 else {}
        for each in type.properties:
            if each.attribute and pick.random() < 0.6:
                lcids = (
                    ["127"]
                    if each.attribute.is_invariant_culture
                    else pick.sample(["1031", "1033"], pick.randint(1, 2))
                )
                found[each.key] = {lcid: self.value(each.attribute.data_type) for lcid in lcids}
        for key in ("size", "note", "held", "name"):
            if pick.random() < 0.05:
                found[key] = {pick.choice(["127", "1031"]): self.value(pick.choice(list(DataType)))}
        return found

    def value(self, data_type: DataType) -> Any:
        return self.random.choice(LEFT_OVER if self.random.random() < 0.04 else VALUES[data_type])


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
# All cultures, one, and one with others that stand in for it (D482).
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
