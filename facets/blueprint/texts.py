"""Texts by culture, as immutable values."""

from __future__ import annotations

from collections.abc import Mapping

Texts = tuple[tuple[int, str], ...]
"""Pairs of culture id and text, ascending. A dictionary would make a blueprint mutable and not hashable."""


def texts(by_culture: Mapping[int, str] | Mapping[str, str]) -> Texts:
    return tuple(sorted((int(lcid), text) for lcid, text in by_culture.items()))


def texts_by_culture(texts: Texts) -> dict[str, str]:
    return {str(lcid): text for lcid, text in texts}
