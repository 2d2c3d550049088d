"""Random elements for tests of filters and orders."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from elements.filters.binding import KINDS, ValueKind
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import ElementType
from facets.template_format.reading import read_template
from tests.elements.filter_world import KEYS, OPEN, PUBLISHED, STATES, TEMPLATE, FilteredVersion, Thing, identity

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
