"""Filter language of the read API (D13): a text becomes a syntax tree, and the tree a bound expression."""

from __future__ import annotations

from elements.filters.binding import BoundExpression, Vocabulary, bind_filter
from elements.filters.parsing import parse_filter


def read_filter(text: str, vocabulary: Vocabulary) -> BoundExpression:
    """Parse and bind a `$filter` for the elements of a vocabulary; raise Unreadable for a mistake."""
    return bind_filter(parse_filter(text), vocabulary, text)
