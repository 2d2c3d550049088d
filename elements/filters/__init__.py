"""The filter language of the read API (D13): a text becomes a syntax tree, and that a bound expression.

What a bound expression says of an element is in `evaluation.py`.
"""

from __future__ import annotations

from elements.filters.binding import BoundExpression, Vocabulary, bind_filter
from elements.filters.parsing import parse_filter


def read_filter(text: str, vocabulary: Vocabulary) -> BoundExpression:
    """What a `$filter` means for the elements that a vocabulary is about, or Unreadable."""
    return bind_filter(parse_filter(text), vocabulary, text)
