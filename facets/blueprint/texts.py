"""Texts by culture, as immutable values."""

from __future__ import annotations

from collections.abc import Mapping

# By culture id, ascending. Pairs and not a dictionary, so that a blueprint is immutable through and through.
Texts = tuple[tuple[int, str], ...]


def texts(by_culture: Mapping[int, str] | Mapping[str, str]) -> Texts:
    return tuple(sorted((int(lcid), text) for lcid, text in by_culture.items()))
