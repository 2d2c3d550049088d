"""Random orders over random elements: the database sorts as Python does (D470)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elements.filters.binding import KINDS, ValueKind
from elements.filters.conditions import ALWAYS
from elements.filters.syntax import fold_case, read_moment
from elements.reading.lists import selection as selecting
from elements.reading.lists.ordering import MAX_KEYS, UNSORTED, UNSORTED_TYPES, read_order
from elements.reading.lists.selection import Selection
from elements.reading.rows import VERSION_AND_ELEMENT
from storage.tenancy.scope import tenant_scope
from tests.elements.filter_world import BERLIN, STAMPS, FilterWorld, filter_world
from tests.elements.random_things import Maker
from tests.scale import scaled

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.on_cluster]
FIELDS = ("id", "type", "state", "stereotype")
PLAIN = {"ß": "ss", "æ": "ae", "ø": "o", "ł": "l"}
DERIVED = ("version", "state1", "stereotype", "isReleased", "majorVersion", "minorVersion")


def letters(text: str) -> str:
    """Return a text without letter case and accents; neither German nor English has letters of its own."""
    folded = fold_case(unicodedata.normalize("NFC", text))
    for letter, plain in PLAIN.items():
        folded = folded.replace(letter, plain)
    decomposed = unicodedata.normalize("NFKD", folded)
    return fold_case("".join(each for each in decomposed if not 0x300 <= ord(each) <= 0x36F))


def text_key(value: Any) -> Any:
    text = value.strip() if isinstance(value, str) else ""
    return (letters(text) + "\x01" + text) if text else None


class World:
    def __init__(self, filtered: FilterWorld) -> None:
        self.filtered = filtered
        self.wires = filtered.wires[BERLIN, True]
        self.versions = {str(own.id): own for each in filtered.things.values() for own in each.versions}
        self.keys = [*FIELDS, *self._attributes()]

    def _attributes(self) -> Iterator[str]:
        for name, definitions in self.filtered.vocabulary.attributes.items():
            sortable = [each for each in definitions if each.data_type not in UNSORTED_TYPES]
            if not sortable or name in UNSORTED:
                continue
            cultures = {each.is_invariant_culture for each in definitions}
            if cultures == {True}:
                yield name
            for each in sortable:
                yield from [f"{name}[127]"] if each.is_invariant_culture else [f"{name}[1031]", f"{name}[1033]"]

    def expected(self, keys: list[tuple[str, bool]]) -> list[str]:
        found = sorted(self.wires, key=lambda version: (self.wires[version]["id"], version))
        for key, descending in reversed(keys):
            for values in reversed([*self._values(key)]):
                present = [each for each in found if values[each] is not None]
                missing = [each for each in found if values[each] is None]
                present.sort(key=lambda each: values[each], reverse=descending)
                found = present + missing
        return found

    def _values(self, key: str) -> Iterator[dict[str, Any]]:
        """Return the values of a key by version; of each meaning if types define an attribute differently."""
        name, _, culture = key.removesuffix("]").partition("[")
        if not culture and name in FIELDS:
            yield {version: self._field(name, wire) for version, wire in self.wires.items()}
            return
        definitions = self.filtered.vocabulary.attributes[name]
        is_invariant = culture in ("", "127")
        kinds = dict.fromkeys(
            KINDS[each.data_type]
            for each in definitions
            if each.is_invariant_culture == is_invariant and each.data_type not in UNSORTED_TYPES
        )
        for kind in kinds:
            types = {
                each_type
                for each in definitions
                if KINDS[each.data_type] is kind and each.is_invariant_culture == is_invariant
                if each.data_type not in UNSORTED_TYPES
                for each_type in each.types
            }
            yield {
                version: self._attribute(name, culture or "127", kind, version, wire) if wire["type"] in types else None
                for version, wire in self.wires.items()
            }

    def _field(self, name: str, wire: Any) -> Any:
        if name == "id":
            return wire["id"]
        return wire["type"] if name == "type" else text_key(wire.get(name))

    def _attribute(self, name: str, culture: str, kind: ValueKind, version: str, wire: Any) -> Any:
        if name in STAMPS:
            return self.versions[version].times.get(name)
        value = wire["attributes"].get(name, {}).get(culture) if "attributes" in wire else None
        if name == "version" and value is not None:
            return [int(each) for each in value.split(".")]
        if kind is ValueKind.TEXT:
            return text_key(value)
        if kind is ValueKind.TRUTH:
            return value if isinstance(value, bool) else None
        if kind is ValueKind.NUMBER:
            return value if isinstance(value, int | Decimal) and not isinstance(value, bool) else None
        return read_moment(value) if isinstance(value, str) else None


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    things = Maker(2).things()
    with django_db_blocker.unblock(), filter_world("ordered", things, tmp_path_factory.mktemp("ordered")) as filtered:
        yield World(filtered)


def test_random_orders_agree_with_sorting_in_python(world: World) -> None:
    filtered = world.filtered
    keys = st.tuples(st.sampled_from(world.keys), st.booleans())
    every = Selection(VERSION_AND_ELEMENT, (ALWAYS,), "e.id")

    @settings(max_examples=scaled(600), deadline=None, database=None)
    @given(st.lists(keys, min_size=1, max_size=MAX_KEYS), st.integers(0, 60))
    def check(keys: list[tuple[str, bool]], offset: int) -> None:
        text = " , ".join(f"{key} desc" if descending else key for key, descending in keys)
        order = read_order(filtered.configuration, filtered.vocabulary, text)
        # A list has one version of an element; here several may have the same id.
        order = type(order)(f"{order.sql}, v.id", order.parameters)
        ordered, expected = every.ordered_by(order), world.expected(keys)
        assert selecting.find_page(ordered, None) == expected, text
        assert selecting.find_page(ordered, 7, offset) == expected[offset : offset + 7]

    with tenant_scope(filtered.storage):
        check()
