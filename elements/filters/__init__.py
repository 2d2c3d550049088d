"""Filter language of the read API (D13): a text becomes a syntax tree, and the tree a bound expression."""

from __future__ import annotations

from django.conf import settings

from elements.filters.binding import BoundExpression, Vocabulary, bind_filter
from elements.filters.cost import check_cost
from elements.filters.parsing import parse_filter


def read_filter(text: str, vocabulary: Vocabulary, cultures: tuple[int, ...] = ()) -> BoundExpression:
    """Parse and bind a `$filter` for the elements of a vocabulary; raise Unreadable for a mistake, and Invalid for a
    filter that costs too much. With `cultures`, a name means its first filled value in these cultures (D482)."""
    expression = parse_filter(text)
    bound = bind_filter(expression, vocabulary, text, cultures)
    check_cost(expression, vocabulary, settings.MAX_FILTER_COST)
    return bound
