"""Binding of a filter's syntax tree (D13): names are resolved and literals converted.

A bound expression needs no further look-up or check; the SQL compiler works on it. There is no
third truth value: every predicate is true or false for an element, and `-ne` is the negation of `-eq`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum, StrEnum
from types import MappingProxyType
from uuid import UUID

from django.utils.functional import cached_property

from elements.filters import syntax
from elements.filters.syntax import Operator, TextFunction, fold_case, read_id, read_moment, refusal, shown
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import ElementType
from repository_site.core.problems import Unreadable
from repository_site.core.wording import listed, printable, similar_names
from storage.localisation.cultures import INVARIANT_CULTURE

ANY_ATTRIBUTE = "attributes"


class ElementField(StrEnum):
    ID = "id"
    VERSION_ID = "versionId"
    CREATION_ID = "creationId"
    TYPE = "type"
    STATE = "state"
    STEREOTYPE = "stereotype"
    FACET_NAME = "facetName"


ID_FIELDS = frozenset({ElementField.ID, ElementField.VERSION_ID, ElementField.CREATION_ID})
TEXT_FIELDS = frozenset(ElementField) - ID_FIELDS
FIELDS = (*ElementField, ANY_ATTRIBUTE)


class ValueKind(Enum):
    """Kinds of values by comparison. The text describes them in error messages."""

    TEXT = "texts"
    KEYS = "keys of selectable values"
    NUMBER = "numbers"
    TRUTH = "true or false"
    MOMENT = "date-times"
    FILES = "files"
    ID = "GUIDs"


KINDS = {
    DataType.SINGLE_LINE_TEXT: ValueKind.TEXT,
    DataType.MULTI_LINE_TEXT: ValueKind.TEXT,
    DataType.HTML: ValueKind.TEXT,
    DataType.SELECTION_VALUE: ValueKind.TEXT,
    DataType.URL: ValueKind.TEXT,
    DataType.MULTI_SELECTION_VALUE: ValueKind.KEYS,
    DataType.BOOLEAN: ValueKind.TRUTH,
    DataType.INTEGER: ValueKind.NUMBER,
    DataType.DECIMAL: ValueKind.NUMBER,
    DataType.DATE: ValueKind.MOMENT,
    DataType.DATE_TIME: ValueKind.MOMENT,
    DataType.FILES: ValueKind.FILES,
}
EQUALITY = (Operator.EQ, Operator.NE, Operator.IN)
# Operators and functions for each kind of values. IsNull works for all.
TESTS: Mapping[ValueKind, tuple[Operator | TextFunction, ...]] = {
    ValueKind.TEXT: (*Operator, *TextFunction),
    ValueKind.KEYS: (*Operator, *TextFunction),
    ValueKind.NUMBER: tuple(Operator),
    ValueKind.TRUTH: EQUALITY,
    ValueKind.MOMENT: tuple(Operator),
    ValueKind.FILES: tuple(TextFunction),
    ValueKind.ID: EQUALITY,
}
# Literals that can be compared with each kind of values.
LITERALS = {
    ValueKind.TEXT: "a text such as 'abc'",
    ValueKind.KEYS: "a text such as 'abc'",
    ValueKind.NUMBER: "a number such as 12 or -0.5",
    ValueKind.TRUTH: "true or false",
    ValueKind.MOMENT: "a date-time without zone such as 2026-03-02 or 2026-03-02T09:15:20",
    ValueKind.FILES: "a text such as 'abc'",
    ValueKind.ID: "a GUID such as 3f2504e0-4f89-41d3-9a0c-0305e82c3301",
}

Value = str | Decimal | bool | datetime | UUID


@dataclass(frozen=True, slots=True)
class AttributeDefinition:
    """Meaning that types give to the key of an attribute."""

    data_type: DataType
    is_invariant_culture: bool
    types: frozenset[str]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Names that a filter may use: those of the types that a view or a related context can show."""

    attributes: Mapping[str, tuple[AttributeDefinition, ...]]
    """Definitions by name; several if types define one key differently."""
    contexts: Mapping[str, frozenset[str]]
    """Types that have a related context, by its name."""
    cultures: tuple[int, ...]

    @classmethod
    def of(cls, types: Iterable[ElementType], cultures: Iterable[int]) -> Vocabulary:
        attributes: dict[str, dict[tuple[DataType, bool], set[str]]] = {}
        contexts: dict[str, set[str]] = {}
        for type in types:
            for each in type.properties:
                if each.attribute is not None:
                    meaning = (each.attribute.data_type, each.attribute.is_invariant_culture)
                    attributes.setdefault(each.key, {}).setdefault(meaning, set()).add(type.key)
                else:
                    contexts.setdefault(each.key, set()).add(type.key)
        definitions = {
            name: tuple(AttributeDefinition(*meaning, frozenset(keys)) for meaning, keys in sorted(meanings.items()))
            for name, meanings in sorted(attributes.items())
        }
        return cls(
            MappingProxyType(definitions),
            MappingProxyType({name: frozenset(keys) for name, keys in sorted(contexts.items())}),
            tuple(cultures),
        )


@dataclass(frozen=True, slots=True)
class AttributeValues:
    """Values of one attribute in some cultures, on elements of the types that have these definitions."""

    name: str
    cultures: tuple[int, ...]
    definitions: tuple[AttributeDefinition, ...]
    first_only: bool = False
    """Whether only the value of the first culture that has one counts (D482)."""

    @property
    def types(self) -> frozenset[str]:
        return frozenset().union(*(each.types for each in self.definitions))


@dataclass(frozen=True, slots=True)
class AnyAttributeValues:
    attributes: tuple[AttributeValues, ...]


@dataclass(frozen=True, slots=True)
class FieldValue:
    field: ElementField


@dataclass(frozen=True, slots=True)
class TargetIds:
    """Ids of the targets of a related context, on elements of the types that have it."""

    context: str
    types: frozenset[str]


Values = AttributeValues | AnyAttributeValues | FieldValue | TargetIds


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison by one of EQ, GT, GE, LT, LE; texts compare by code point."""

    operator: Operator
    value: Value


@dataclass(frozen=True, slots=True)
class OneOf:
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A test on text. `text` is already folded by `fold_case`; values must be folded, too."""

    function: TextFunction
    text: str


Test = Compare | OneOf | TextMatch


@dataclass(frozen=True, slots=True)
class ValueTest:
    """True if one of the values, which are all of one kind, passes the test. Missing values do not pass."""

    values: Values
    kind: ValueKind
    test: Test


@dataclass(frozen=True, slots=True)
class IsNull:
    """True if each of the values is missing, null, an empty list, or an empty or blank text.

    Types do not matter here: an element whose type does not have the attribute has no value of it.
    """

    values: Values


@dataclass(frozen=True, slots=True)
class BoundNot:
    operand: BoundExpression


@dataclass(frozen=True, slots=True)
class BoundAnd:
    operands: tuple[BoundExpression, ...]


@dataclass(frozen=True, slots=True)
class BoundOr:
    operands: tuple[BoundExpression, ...]


BoundExpression = ValueTest | IsNull | BoundNot | BoundAnd | BoundOr


def bind_filter(
    expression: syntax.Expression, vocabulary: Vocabulary, source: str, cultures: tuple[int, ...] = ()
) -> BoundExpression:
    """Bind an expression to the names of a vocabulary. Raise Unreadable, which shows the place in `source`, the
    text."""
    return _Binder(vocabulary, source, cultures).bind(expression)


# Values that an operand may mean. A name has several meanings if types define it differently.
_Meaning = tuple[ValueKind, Values]


class _Binder:
    def __init__(self, vocabulary: Vocabulary, source: str, cultures: tuple[int, ...]) -> None:
        self.vocabulary = vocabulary
        self.source = source
        self.cultures = cultures or vocabulary.cultures
        self.first_only = len(cultures) > 1

    def bind(self, expression: syntax.Expression) -> BoundExpression:
        match expression:
            case syntax.Or():
                return BoundOr(tuple(self.bind(each) for each in expression.operands))
            case syntax.And():
                return BoundAnd(tuple(self.bind(each) for each in expression.operands))
            case syntax.Not():
                return BoundNot(self.bind(expression.operand))
            case syntax.NullTest():
                return self.null_test(expression.operand)
            case syntax.TextTest():
                return self.text_test(expression)
            case syntax.Membership():
                return self.membership(expression)
            case syntax.Comparison():
                return self.comparison(expression)

    def null_test(self, operand: syntax.Operand) -> BoundExpression:
        parts = tuple(IsNull(values) for _, values in self.meanings(operand))
        return parts[0] if len(parts) == 1 else BoundAnd(parts)

    def text_test(self, written: syntax.TextTest) -> BoundExpression:
        meanings = self.meanings_for(written.operand, written.function, written.position)
        return self.value_test(
            written.operand,
            meanings,
            [written.literal],
            lambda values: TextMatch(written.function, fold_case(str(values[0]))),
        )

    def comparison(self, written: syntax.Comparison) -> BoundExpression:
        operand, operator, literal = written.operand, written.operator, written.literal
        if isinstance(literal, syntax.NullLiteral) and operator in EQUALITY:
            positive = self.null_test(operand)
        else:
            meanings = self.meanings_for(operand, operator, written.operator_position)
            order = Operator.EQ if operator is Operator.NE else operator
            positive = self.value_test(operand, meanings, [literal], lambda values: Compare(order, values[0]))
        return BoundNot(positive) if operator is Operator.NE else positive

    def membership(self, written: syntax.Membership) -> BoundExpression:
        """Bind a list as if each literal were compared with -eq, so that it may also contain null."""
        literals = [each for each in written.literals if not isinstance(each, syntax.NullLiteral)]
        parts: list[BoundExpression] = []
        if literals:
            meanings = self.meanings_for(written.operand, Operator.IN, written.operator_position)
            parts.append(self.value_test(written.operand, meanings, literals, OneOf))
        if len(literals) < len(written.literals):
            parts.append(self.null_test(written.operand))
        return parts[0] if len(parts) == 1 else BoundOr(tuple(parts))

    def value_test(
        self,
        operand: syntax.Operand,
        meanings: Sequence[_Meaning],
        literals: Sequence[syntax.Literal],
        test: Callable[[tuple[Value, ...]], Test],
    ) -> BoundExpression:
        """Return a test for each meaning, with the literals that fit it. Each literal must fit at least one meaning."""
        for literal in literals:
            if all(_value(literal, kind) is None for kind, _ in meanings):
                raise self.wrong_literal(operand, meanings, literal)
        parts: list[BoundExpression] = []
        for kind, values in meanings:
            converted = (_value(literal, kind) for literal in literals)
            fitting = tuple(dict.fromkeys(each for each in converted if each is not None))
            if fitting:
                parts.append(ValueTest(values, kind, test(fitting)))
        return parts[0] if len(parts) == 1 else BoundOr(tuple(parts))

    def meanings_for(
        self, operand: syntax.Operand, asked: Operator | TextFunction, position: int
    ) -> Sequence[_Meaning]:
        every = self.meanings(operand)
        fitting = [(kind, values) for kind, values in every if asked in TESTS[kind]]
        if not fitting:
            allowed = dict.fromkeys(str(each) for kind, _ in every for each in TESTS[kind])
            known = listed([*allowed, "IsNull"])
            raise self.wrong(position, f"{_contains(operand, every)}, which do not support {asked}; allowed: {known}")
        return fitting

    def meanings(self, operand: syntax.Operand) -> Sequence[_Meaning]:
        """Return the meanings of an operand. Fields take precedence over attributes of the same name; with a culture,
        the attribute is meant."""
        name, culture = operand.name, operand.culture
        if culture is not None:
            return self.attribute(name, self.definitions_in(operand, culture), (culture.lcid,))
        if name in ID_FIELDS or name in TEXT_FIELDS:
            return [(ValueKind.ID if name in ID_FIELDS else ValueKind.TEXT, FieldValue(ElementField(name)))]
        if name == ANY_ATTRIBUTE:
            if not self.any_attribute:
                raise self.wrong(operand.position, "the elements here have no attributes")
            return self.any_attribute
        found: list[_Meaning] = [*self.attribute(name, self.vocabulary.attributes.get(name, ()))]
        if name in self.vocabulary.contexts:
            found.append((ValueKind.ID, TargetIds(name, self.vocabulary.contexts[name])))
        if not found:
            raise self.unknown_name(operand)
        return found

    def attribute(
        self, name: str, definitions: Iterable[AttributeDefinition], cultures: tuple[int, ...] = ()
    ) -> Sequence[tuple[ValueKind, AttributeValues]]:
        """Group definitions whose values compare alike and have the same cultures; they are tested together."""
        groups: dict[tuple[ValueKind, tuple[int, ...]], list[AttributeDefinition]] = {}
        for each in definitions:
            own = (INVARIANT_CULTURE,) if each.is_invariant_culture else self.cultures
            groups.setdefault((KINDS[each.data_type], cultures or own), []).append(each)
        return [
            (kind, AttributeValues(name, under, tuple(same), self.first_only and len(under) > 1))
            for (kind, under), same in groups.items()
        ]

    @cached_property
    def any_attribute(self) -> Sequence[_Meaning]:
        """Computed once for each filter, even if it uses `attributes` several times."""
        by_kind: dict[ValueKind, list[AttributeValues]] = {}
        for name, definitions in self.vocabulary.attributes.items():
            for kind, values in self.attribute(name, definitions):
                by_kind.setdefault(kind, []).append(values)
        return [(kind, AnyAttributeValues(tuple(values))) for kind, values in by_kind.items()]

    def definitions_in(self, operand: syntax.Operand, culture: syntax.CultureLiteral) -> Sequence[AttributeDefinition]:
        name, lcid, cultures = operand.name, culture.lcid, self.vocabulary.cultures
        every = self.vocabulary.attributes.get(name)
        if every is None and (name in self.vocabulary.contexts or name in FIELDS):
            raise self.wrong(operand.position, f"only attributes have cultures; there is no attribute {name}")
        if every is None:
            raise self.unknown_name(operand)
        is_invariant = lcid == INVARIANT_CULTURE
        fitting = [each for each in every if each.is_invariant_culture == is_invariant]
        if not is_invariant and lcid not in cultures:
            problem = f"the storage has no culture {lcid}; it has {listed(cultures)}"
        elif fitting:
            return fitting
        elif is_invariant:
            problem = f"{name} depends on the culture; write {listed(cultures, 'or')}, or no culture to search them all"
        else:
            problem = f"{name} does not depend on the culture; leave the culture out or write {INVARIANT_CULTURE}"
        raise self.wrong(culture.position, problem)

    def unknown_name(self, operand: syntax.Operand) -> Unreadable:
        name = printable(operand.name)
        known = {*FIELDS, *self.vocabulary.attributes, *self.vocabulary.contexts}
        similar = similar_names(name, known)
        hint = f"similar: {', '.join(similar)}" if similar else f"known: the properties of the types, {listed(FIELDS)}"
        return self.wrong(operand.position, f"there is no property {name} here; {hint}")

    def wrong_literal(
        self, operand: syntax.Operand, meanings: Sequence[_Meaning], literal: syntax.Literal
    ) -> Unreadable:
        expected = " or ".join(dict.fromkeys(LITERALS[kind] for kind, _ in meanings))
        problem = f"expected {expected}, not {shown(literal)}, because {_contains(operand, meanings)}"
        if "a text" in expected and not isinstance(literal, syntax.NullLiteral):
            problem += "; put it in quotes to compare it as text"
        return self.wrong(literal.position, problem)

    def wrong(self, position: int, problem: str) -> Unreadable:
        return refusal(self.source, position, problem)


def _value(literal: syntax.Literal, kind: ValueKind) -> Value | None:
    """Return the literal as a value of a kind, or None. Date-times may be in quotes, because they are texts on the
    wire."""
    match kind, literal:
        case ((ValueKind.TEXT | ValueKind.KEYS | ValueKind.FILES), (syntax.TextLiteral() | syntax.WordLiteral())):
            return literal.value
        case ValueKind.ID, (syntax.TextLiteral() | syntax.WordLiteral()):
            return read_id(literal.value)
        case ValueKind.MOMENT, syntax.TextLiteral():
            return read_moment(literal.value)
        case ValueKind.MOMENT, syntax.MomentLiteral():
            return literal.value
        case ValueKind.NUMBER, syntax.NumberLiteral():
            return literal.value
        case ValueKind.TRUTH, syntax.TruthLiteral():
            return literal.value
    return None


def _contains(operand: syntax.Operand, meanings: Iterable[_Meaning]) -> str:
    return f"{operand.name} contains {listed(list(dict.fromkeys(kind.value for kind, _ in meanings)))}"
