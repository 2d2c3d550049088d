"""The cost of a filter, which is known before the database is queried (D202)."""

from __future__ import annotations

from elements.filters import syntax
from elements.filters.binding import ANY_ATTRIBUTE, Vocabulary
from repository_site.core.problems import Invalid

# A text function unpacks and folds each value; a comparison with a value stops at the first difference.
OF_TEXT_FUNCTION = 4


def cost_of(expression: syntax.Expression, vocabulary: Vocabulary) -> int:
    """Return the values that the conditions test in one element; a text function counts four times."""
    return sum(_cost(each, vocabulary) for each in syntax.predicates(expression))


def check_cost(expression: syntax.Expression, vocabulary: Vocabulary, limit: int) -> None:
    """Raise Invalid for a filter above the limit, with the conditions that are worth changing."""
    found = cost_of(expression, vocabulary)
    if found <= limit:
        return
    conditions = [*syntax.predicates(expression)]
    functions = sum(isinstance(each, syntax.TextTest) for each in conditions)
    everywhere = sum(_searches_all(each) for each in conditions)
    advice = "Use fewer conditions, or split the filter into several requests."
    if everywhere:
        advice = (
            f"{everywhere} of them search {ANY_ATTRIBUTE}, which is {len(vocabulary.attributes)} attributes here: name"
            " the attribute, such as Contains(name, 'text'), or use fewer conditions."
        )
    raise Invalid(
        f"The filter costs {found:,}; at most {limit:,} is allowed. It has {len(conditions)} conditions, {functions} of"
        f" them with Contains, StartsWith or EndsWith. {advice}"
    )


def _cost(condition: syntax.Predicate, vocabulary: Vocabulary) -> int:
    searched = max(1, len(vocabulary.attributes)) if _searches_all(condition) else 1
    return searched * (OF_TEXT_FUNCTION if isinstance(condition, syntax.TextTest) else 1)


def _searches_all(condition: syntax.Predicate) -> bool:
    return condition.operand.name == ANY_ATTRIBUTE and condition.operand.culture is None
