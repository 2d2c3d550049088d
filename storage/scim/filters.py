"""Filters of SCIM as conditions of the database (D542). scim2-models parses them and knows the attributes.

A few attributes are columns. All others are looked up in the JSON of a person, by SQL/JSON paths that contain texts of
the filter only as quoted literals.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q, Value
from scim2_models import Extension, InvalidFilterException, Resource, ScimFilter
from scim2_models.path import (
    AttributeBinding,
    AttrPath,
    CompareOperator,
    Comparison,
    FilterNode,
    FilterVisitor,
    LogicalExpr,
    LogicalOperator,
    Not,
    Present,
    ValuePath,
    coerce_value,
)

from storage.models import DirectoryMember
from storage.scim.resources import Person, ScimGroup

LONGEST_FILTER = 2000
MOST_COMPARISONS = 50
Op = CompareOperator
LOOKUPS = {
    Op.eq: "exact",
    Op.ne: "exact",
    Op.co: "contains",
    Op.sw: "startswith",
    Op.ew: "endswith",
    Op.gt: "gt",
    Op.ge: "gte",
    Op.lt: "lt",
    Op.le: "lte",
}
SYMBOLS = {Op.gt: ">", Op.ge: ">=", Op.lt: "<", Op.le: "<="}


@dataclass(frozen=True, slots=True)
class FilterColumn:
    name: str
    is_folded: bool = False
    is_text: bool = True


META = {
    "meta.created": FilterColumn("created_on", is_text=False),
    "meta.lastModified": FilterColumn("changed_on", is_text=False),
}
COLUMNS: Mapping[type[Resource[Any]], Mapping[str, FilterColumn]] = {
    Person: {
        **META,
        "userName": FilterColumn("user_key", is_folded=True),
        "externalId": FilterColumn("external_id"),
        "active": FilterColumn("is_active", is_text=False),
    },
    ScimGroup: {
        **META,
        "displayName": FilterColumn("name_key", is_folded=True),
        "externalId": FilterColumn("external_id"),
    },
}
# The ids of the other side, and the columns of `DirectoryMember`.
RELATIONS = {"groups": ("person", "group"), "members": ("group", "person")}


def condition(model: type[Resource[Any]], text: str) -> Q:
    """Return the condition of a filter; raise InvalidFilterException for a wrong, long or deep one."""
    if len(text) > LONGEST_FILTER:
        raise InvalidFilterException(detail=f"The filter is longer than {LONGEST_FILTER} characters.")
    if "\0" in text or "\\u0000" in text:
        raise InvalidFilterException(detail="The filter contains a character that no text contains.")
    bound: Any = ScimFilter[model](text)  # type: ignore[valid-type]  # bound when it runs
    if (number := _comparisons(bound.ast)) > MOST_COMPARISONS:
        raise InvalidFilterException(detail=f"The filter has {number} comparisons, more than {MOST_COMPARISONS}.")
    return _Conditions(model, bound).visit(bound.ast)


def _comparisons(node: FilterNode) -> int:
    if isinstance(node, LogicalExpr):
        return sum(map(_comparisons, node.terms))
    if isinstance(node, Not):
        return _comparisons(node.expr)
    return _comparisons(node.val_filter) if isinstance(node, ValuePath) else 1


class _Conditions(FilterVisitor[Q]):
    def __init__(self, model: type[Resource[Any]], bound: Any) -> None:
        self.columns = COLUMNS[model]
        self.bound = bound

    def visit_logical_expr(self, node: LogicalExpr) -> Q:
        found = self.visit(node.terms[0])
        for term in node.terms[1:]:
            found = found & self.visit(term) if node.op == LogicalOperator.and_ else found | self.visit(term)
        return found

    def visit_not(self, node: Not) -> Q:
        return ~self.visit(node.expr)

    def visit_comparison(self, node: Comparison) -> Q:
        binding = self.bound.resolve_comparison(node.attr_path)
        place = _place(binding)
        value = coerce_value(binding, node.value, node.op)
        if place[0] in RELATIONS:
            return _related(place, node.op, value)
        if place == ["id"]:
            found = Q(pk=identifier) if (identifier := _uuid(_only_equal(node.op, value))) else Q(pk=None)
            return ~found if node.op is Op.ne else found
        if column := self.columns.get(".".join(place)):
            return _compared(column, node.op, value)
        if place[0] in ("meta", "schemas"):
            raise InvalidFilterException(detail=f"{'.'.join(place)} cannot be compared.")
        return _in_json(_predicate(_path(place, binding), node.op, value))

    def visit_present(self, node: Present) -> Q:
        binding = self.bound.resolve(node.attr_path)
        place = _place(binding)
        if place[0] in RELATIONS:
            here, _there = RELATIONS[place[0]]
            return Q(Exists(DirectoryMember.objects.filter(**{here: OuterRef("pk")})))
        if place[0] in ("id", "meta", "schemas"):
            return ~Q(pk=None)
        if column := self.columns.get(".".join(place)):
            return ~Q(**{column.name: ""}) if column.is_text else ~Q(pk=None)
        return _in_json(f"exists({_path(place, binding)})")

    def visit_value_path(self, node: ValuePath) -> Q:
        binding = self.bound.resolve(node.attr_path)
        place = _place(binding)
        if place[0] in RELATIONS:
            inner = node.val_filter
            if not isinstance(inner, Comparison) or inner.attr_path.attr.lower() != "value":
                raise InvalidFilterException(detail=f"{place[0]}: only {place[0]}[value eq ...] is supported.")
            return _related([place[0], "value"], inner.op, inner.value)
        return _in_json(f"exists({_path(place, binding)} ? ({self._inside(node.attr_path, node.val_filter)}))")

    def _inside(self, head: AttrPath, node: FilterNode) -> str:
        """Return the predicate of a value filter, about one value of a list."""
        if isinstance(node, LogicalExpr):
            joined = " && " if node.op == LogicalOperator.and_ else " || "
            return joined.join(f"({self._inside(head, term)})" for term in node.terms)
        if isinstance(node, Not):
            return f"!({self._inside(head, node.expr)})"
        assert isinstance(node, Comparison | Present)  # noqa: S101  the grammar allows no others
        binding = self.bound.resolve(AttrPath(head.attr, node.attr_path.attr, head.uri))
        path = f"@.{_quoted(_place(binding)[1])}"
        if isinstance(node, Present):
            return f"exists({path})"
        return _predicate(path, node.op, coerce_value(binding, node.value, node.op))


def _place(binding: AttributeBinding) -> list[str]:
    """Return the names that lead to an attribute, as the schema spells them."""
    schema = str(getattr(binding.model, "__schema__", "") or "")
    names = binding.urn.removeprefix(f"{schema}:").split(".")
    return [schema, *names] if issubclass(binding.model, Extension) else names


def _path(place: list[str], binding: AttributeBinding) -> str:
    names = [_quoted(name) for name in place]
    if binding.is_multivalued:
        names[0] += "[*]"
    return "@." + ".".join(names)


def _quoted(text: str) -> str:
    return json.dumps(text)


def _predicate(path: str, op: CompareOperator, value: Any) -> str:
    if value is None:
        return f"!exists({path})" if op is Op.eq else f"exists({path})"
    if op in SYMBOLS:
        return f"{path} {SYMBOLS[op]} {json.dumps(value)}"
    if op is Op.ne:
        return f"!({_predicate(path, Op.eq, value)})"
    if not isinstance(value, str):
        if op is not Op.eq:
            raise InvalidFilterException(detail="co, sw and ew compare texts.")
        return f"{path} == {json.dumps(value)}"
    begin, end = "^" if op in (Op.eq, Op.sw) else "", "$" if op in (Op.eq, Op.ew) else ""
    return f'{path} like_regex {_quoted(begin + _literally(value) + end)} flag "i"'


def _literally(text: str) -> str:
    """Return a regular expression that matches a text and nothing else."""
    return "".join(each if each.isalnum() or each == "_" else f"\\{each}" for each in text)


def _in_json(predicate: str) -> Q:
    path = Func(Value(f"$ ? ({predicate})"), template="%(expressions)s::jsonpath")
    return Q(Func(F("attributes"), path, function="jsonb_path_exists", output_field=BooleanField()))


def _compared(column: FilterColumn, op: CompareOperator, value: Any) -> Q:
    if value is None and not column.is_text:
        return ~Q(pk=None) if op is Op.ne else Q(pk=None)
    if value is None:
        value = ""
    if op in (Op.co, Op.sw, Op.ew) and not isinstance(value, str):
        raise InvalidFilterException(detail="co, sw and ew compare texts.")
    if column.is_folded:
        value = str(value).casefold()
    found = Q(**{f"{column.name}__{LOOKUPS[op]}": value})
    return ~found if op is Op.ne else found


def _related(place: list[str], op: CompareOperator, value: Any) -> Q:
    here, there = RELATIONS[place[0]]
    if place[1:] not in ([], ["value"]):
        raise InvalidFilterException(detail=f"{'.'.join(place)}: only {place[0]}.value is supported.")
    other = _uuid(_only_equal(op, value))
    rows: Any = DirectoryMember.objects.filter(**{here: OuterRef("pk"), there: other})
    found = Q(Exists(rows)) if other else Q(pk=None)
    return ~found if op is Op.ne else found


def _only_equal(op: CompareOperator, value: Any) -> str:
    if op not in (Op.eq, Op.ne):
        raise InvalidFilterException(detail="Ids can be compared with eq and ne only.")
    return str(value)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
