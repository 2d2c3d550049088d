"""Order of a list by `$orderBy` (D470): names and cultures are resolved here, and PostgreSQL sorts by the expressions.

Every key puts missing values last, in both directions, and the id of the element decides about equal ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from elements import derived
from elements.filters.binding import KINDS, AttributeDefinition, ElementField, ValueKind, Vocabulary
from elements.filters.conditions import Condition
from elements.filters.derived_values import DERIVED_ATTRIBUTES, NUMBERS, TRUTHS
from elements.filters.probes import moment_of
from elements.filters.syntax import BLANKS
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import SelectableValue
from facets.configuration import Configuration
from repository_site.core.problems import Unreadable
from repository_site.core.wording import listed, printable, similar_hint
from storage.localisation.cultures import INVARIANT_CULTURE, language_of

MAX_KEYS, MAX_LENGTH = 5, 1_000
# Characters of a text that are compared.
COMPARED = 500
KEY = re.compile(
    r"\s*(?P<name>[^\W\d][\w.-]*)(?:\s*\[\s*(?P<culture>[0-9]{1,9})\s*\])?(?:\s+(?P<direction>asc|desc))?\s*"
)
# Keys of selectable values with their labels.
Labels = tuple[tuple[str, str], ...]
FIELDS = (ElementField.ID, ElementField.TYPE, ElementField.STATE, ElementField.STEREOTYPE)
UNSORTED = frozenset({derived.PAGE_ADDRESS, derived.AUTHOR_NOTE})
# An order of markup, lists and files would mean nothing to people.
UNSORTED_TYPES = frozenset({DataType.HTML, DataType.MULTI_SELECTION_VALUE, DataType.FILES})
# Columns that are never null: their order can use an index in both directions.
FILLED = frozenset({"v.created_on", "v.changed_on", "e.id"})
# Sorts after every letter.
END = "\uffff"
LETTERS = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ı": "i"}
_NORDIC = {"z": "æøå"}
# Letters that follow another letter of the alphabet, by language. Elsewhere accents count only between equal texts.
ALPHABETS: dict[str, dict[str, str]] = {
    "cs": {"c": "č", "r": "ř", "s": "š", "z": "ž"},
    "da": _NORDIC,
    "es": {"n": "ñ"},
    "fi": {"z": "åäö"},
    "hr": {"c": "čć", "d": "đ", "s": "š", "z": "ž"},
    "hu": {"o": "öő", "u": "üű"},
    "nb": _NORDIC,
    "nn": _NORDIC,
    "no": _NORDIC,
    "pl": {"a": "ą", "c": "ć", "e": "ę", "l": "ł", "n": "ń", "o": "ó", "s": "ś", "z": "źż"},
    "ro": {"a": "ăâ", "i": "î", "s": "ș", "t": "ț"},
    "ru": {"и": "й"},
    "sk": {"a": "ä", "c": "č", "o": "ô", "s": "š", "z": "ž"},
    "sl": {"c": "č", "s": "š", "z": "ž"},
    "sv": {"z": "åäö"},
    "tr": {"c": "ç", "g": "ğ", "h": "ı", "o": "ö", "s": "ş", "u": "ü"},
    "uk": {"и": "й"},
}


def read_order(configuration: Configuration, vocabulary: Vocabulary, text: str) -> Condition:
    """Return the expressions of `$orderBy` with their parameters; raise Unreadable with all mistakes in it."""
    if len(text) > MAX_LENGTH:
        raise Unreadable(f"$orderBy: at most {MAX_LENGTH:,} characters are allowed.")
    return _OrderReader(configuration, vocabulary).read(text)


def attribute_key(
    configuration: Configuration, name: str, cultures: Sequence[int], label: Callable[[SelectableValue], str]
) -> SortExpression:
    """Return the key of an attribute in the first of these cultures that has a value, for elements of all types.

    If types define the attribute with different kinds of values, those of the first kind count. Selected values are
    sorted by their labels in the first culture (D458); types may offer different ones.
    """
    types: dict[ValueKind, dict[Labels, list[str]]] = {}
    for type in configuration.types.values():
        for each in type.properties:
            attribute = each.attribute if each.key == name else None
            if attribute and attribute.data_type not in UNSORTED_TYPES:
                labels = tuple((one.key or "", label(one)) for one in attribute.selectable_values)
                same = types.setdefault(KINDS[attribute.data_type], {}).setdefault(labels, [])
                same.append(str(configuration.type_ids[type.key]))
    kind, found = next(iter(types.items()))
    return _first_of(
        _first_of(
            _labelled(name, culture, labels, cultures[0]) if labels else _stored(kind, name, culture)
            for culture in (INVARIANT_CULTURE, *cultures)
        ).on(some)
        for labels, some in found.items()
    )


def _first_of(keys: Iterable[SortExpression]) -> SortExpression:
    """Return the first of some keys that has a value."""
    every = list(keys)
    sql, parameters = ", ".join(each.sql for each in every), [one for each in every for one in each.parameters]
    return SortExpression(f"coalesce({sql})", tuple(parameters))


def collation_pairs(language: str) -> list[tuple[str, str]]:
    """Return the letters of a language to replace before accents are dropped, each with its replacement."""
    own = {
        letter: base + END * (place + 1)
        for base, letters in ALPHABETS.get(language, {}).items()
        for place, letter in enumerate(letters)
    }
    return [*own.items(), *((letter, plain) for letter, plain in LETTERS.items() if letter not in own)]


@dataclass(frozen=True, slots=True)
class SortExpression:
    sql: str
    parameters: tuple[Any, ...] = ()

    def on(self, types: Sequence[str]) -> SortExpression:
        """Return the same for elements of some types; others have no value."""
        return SortExpression(
            f"CASE WHEN e.type_id = ANY(%s::uuid[]) THEN {self.sql} END", (list(types), *self.parameters)
        )

    def ordered(self, *, descending: bool) -> str:
        direction = " DESC" if descending else ""
        return f"{self.sql}{direction}" if self.sql in FILLED else f"{self.sql}{direction} NULLS LAST"


class _OrderReader:
    def __init__(self, configuration: Configuration, vocabulary: Vocabulary) -> None:
        self.configuration = configuration
        self.vocabulary = vocabulary
        every = [*vocabulary.attributes.values()]
        self.types = {key for definitions in every for each in definitions for key in each.types}

    def read(self, text: str) -> Condition:
        parts, problems = text.split(","), list[str]()
        if len(parts) > MAX_KEYS:
            raise Unreadable(f"$orderBy: {len(parts)} keys; at most {MAX_KEYS} are allowed.")
        keys, parameters = list[str](), list[Any]()
        for part in parts:
            try:
                for descending, each in self._key(part):
                    keys.append(each.ordered(descending=descending))
                    parameters += each.parameters
            except Unreadable as problem:
                problems += problem.details or [problem.message]
        if problems:
            raise Unreadable(problems[0], problems)
        return Condition(", ".join([*keys, "e.id"]), tuple(parameters))

    def _key(self, part: str) -> Iterator[tuple[bool, SortExpression]]:
        found = KEY.fullmatch(part)
        if found is None:
            raise _wrong(f"expected keys such as name[1033] desc,createdOn, not {printable(part, 40)!r}")
        name, culture = found["name"], int(found["culture"]) if found["culture"] else None
        descending = found["direction"] == "desc"
        if culture is None and name in FIELDS:
            yield descending, self._field(ElementField(name))
            return
        for expression in self._attribute(name, culture):
            yield descending, expression

    def _field(self, field: ElementField) -> SortExpression:
        match field:
            case ElementField.ID:
                return SortExpression("e.id")
            case ElementField.TYPE:
                keys = sorted(self.configuration.type_ids, key=lambda key: (key.casefold(), key))
                return SortExpression("array_position(%s::uuid[], e.type_id)", (self._ids(keys),))
            case ElementField.STATE:
                versioned = [key for key, type in self.configuration.types.items() if type.is_versioned]
                return _text("v.state").on(self._ids(versioned))
            case _:
                return _text("v.stereotype")

    def _attribute(self, name: str, culture: int | None) -> Iterator[SortExpression]:
        """Return the expression of each meaning of a name; several if types define it differently."""
        definitions = self._definitions(name, culture)
        by_kind: dict[ValueKind, list[AttributeDefinition]] = {}
        for each in definitions:
            if each.data_type not in UNSORTED_TYPES and name not in UNSORTED:
                by_kind.setdefault(KINDS[each.data_type], []).append(each)
        if not by_kind:
            kinds = listed(sorted({each.data_type.value for each in definitions}))
            raise _wrong(f"a list cannot be sorted by {name}, which has the type {kinds}")
        for kind, same in by_kind.items():
            types = sorted({key for each in same for key in each.types})
            if name in DERIVED_ATTRIBUTES:
                yield self._derived(name, types)
                return
            yield _stored(kind, name, INVARIANT_CULTURE if culture is None else culture).on(self._ids(types))

    def _definitions(self, name: str, culture: int | None) -> Sequence[AttributeDefinition]:
        every, cultures = self.vocabulary.attributes.get(name), self.vocabulary.cultures
        if every is None and name in self.vocabulary.contexts:
            raise _wrong(f"{name} is a related context; sort by attributes, {listed(FIELDS, 'or')}")
        if every is None and name in FIELDS:
            raise _wrong(f"only attributes have cultures; there is no attribute {name}")
        if every is None:
            known = {*FIELDS, *self.vocabulary.attributes}
            hint = similar_hint(name, known) or f"; known: the attributes of the types, {listed(FIELDS)}"
            raise _wrong(f"there is no attribute {printable(name, 40)!r} here{hint}")
        if culture not in (None, INVARIANT_CULTURE, *cultures):
            raise _wrong(f"the storage has no culture {culture}; it has {listed(cultures)}")
        is_invariant = culture in (None, INVARIANT_CULTURE)
        fitting = [each for each in every if each.is_invariant_culture == is_invariant]
        if is_invariant and (not fitting or (culture is None and len(fitting) < len(every))):
            possible = listed([f"{name}[{each}]" for each in cultures], "or")
            raise _wrong(f"{name} depends on the culture; write {possible}")
        if not fitting:
            raise _wrong(f"{name} does not depend on the culture; leave the culture out")
        return fitting

    def _derived(self, name: str, types: Sequence[str]) -> SortExpression:
        every = self.configuration.types
        versioned = [key for key in types if every[key].is_versioned]
        if name == derived.STATE:
            fixed = {key: every[key].static_state for key in types if not every[key].is_versioned}
            constant = [key for key, state in fixed.items() if state]
            state = _text(
                "CASE WHEN e.type_id = ANY(%s::uuid[]) THEN v.state"
                " ELSE (%s::text[])[array_position(%s::uuid[], e.type_id)] END",
                (self._ids(versioned), [fixed[key] for key in constant], self._ids(constant)),
            )
            return state.on(self._ids(types))
        if name in TRUTHS:
            condition = TRUTHS[name]
            return SortExpression(f"({condition.sql})", condition.parameters).on(self._ids(versioned))
        if name in NUMBERS:
            return SortExpression(NUMBERS[name]).on(self._ids(types))
        if name == derived.VERSION:
            return SortExpression("CASE WHEN v.major IS NOT NULL THEN ARRAY[v.major, v.minor] END").on(self._ids(types))
        if name == derived.STEREOTYPE:
            return _text("v.stereotype").on(self._ids(types))
        column = SortExpression(f"v.{derived.STAMPS[name]}")
        # All types have it in most views; without a condition the index on the column serves.
        return column if self.types.issubset(types) else column.on(self._ids(types))

    def _ids(self, keys: Sequence[str]) -> list[str]:
        return [str(self.configuration.type_ids[key]) for key in keys]


def _wrong(text: str) -> Unreadable:
    return Unreadable(f"$orderBy: {text}.")


def _text(sql: str, parameters: tuple[Any, ...] = (), language: str = "") -> SortExpression:
    """Return the key of a text: its letters first, then the text itself, so that one comparison has both levels.

    The texts of most storages are plain ASCII, which needs no folding.
    """
    folded = "elements_fold_case(normalize(t.text))"
    pairs = collation_pairs(language)
    folded = "replace(" * len(pairs) + folded + "".join(f", '{letter}', '{plain}')" for letter, plain in pairs)
    folded = f"""regexp_replace(normalize({folded}, NFKD) COLLATE "C", '[\\u0300-\\u036f]+', '', 'g')"""
    key = f"""(SELECT (CASE WHEN octet_length(t.text) = length(t.text) THEN lower(t.text COLLATE "C")
            ELSE elements_fold_case({folded}) END || chr(1) || t.text) COLLATE "C"
        FROM (SELECT left(btrim({sql}, %s::text), {COMPARED}) AS text OFFSET 0) t WHERE t.text <> '')"""  # noqa: S608  constants
    return SortExpression(key, (*parameters, BLANKS))


# Key of a stored value `x.value`, by its kind. A value of another kind, left over from an earlier configuration, counts
# as missing: a cast that fails would fail the whole list.
_OF_JSON: dict[ValueKind, Callable[[], str]] = {
    ValueKind.NUMBER: lambda: "CASE jsonb_typeof(x.value) WHEN 'number' THEN x.value::numeric END",
    ValueKind.TRUTH: lambda: "CASE jsonb_typeof(x.value) WHEN 'boolean' THEN x.value::boolean END",
    ValueKind.MOMENT: lambda: moment_of("(CASE jsonb_typeof(x.value) WHEN 'string' THEN x.value #>> '{}' END)"),
}


# OFFSET 0 prevents PostgreSQL from unpacking the attributes several times.
_SOURCE = "FROM (SELECT v.attributes -> %s::text -> %s::text AS value OFFSET 0) x"


def _stored(kind: ValueKind, name: str, culture: int) -> SortExpression:
    if kind is ValueKind.TEXT:
        text = f"(SELECT CASE jsonb_typeof(x.value) WHEN 'string' THEN x.value #>> '{{}}' END {_SOURCE})"
        return _text(text, (name, str(culture)), "" if culture == INVARIANT_CULTURE else language_of(culture))
    return SortExpression(f"(SELECT {_OF_JSON[kind]()} {_SOURCE})", (name, str(culture)))


def _labelled(name: str, culture: int, labels: Labels, reader: int) -> SortExpression:
    """Return the key of a selected value: its label in the culture of the reader; the value itself without one."""
    value = "x.value #>> '{}'"
    label = f"coalesce((%s::text[])[array_position(%s::text[], {value})], {value})"
    text = f"(SELECT CASE jsonb_typeof(x.value) WHEN 'string' THEN {label} END {_SOURCE})"
    keys, texts = ([each[place] for each in labels] for place in (0, 1))
    return _text(text, (texts, keys, name, str(culture)), language_of(reader))
