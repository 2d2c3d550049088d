"""Choosing a culture: by the languages of the client (D5), and for a text that a culture lacks (D40)."""

from __future__ import annotations

import pytest

from storage.localisation.cultures import INVARIANT_CULTURE, CultureSet, fallback_culture, preferred_culture

GERMAN, AUSTRIAN, SWISS, US, BRITISH, FRENCH, JAPANESE = 1031, 3079, 2055, 1033, 2057, 1036, 1041


@pytest.mark.parametrize(
    ("header", "cultures", "chosen"),
    [
        ("", [GERMAN, US], US),
        ("de", [GERMAN, US], GERMAN),
        ("en-GB", [US, BRITISH], BRITISH),
        ("en-GB", [GERMAN, US], US),
        ("de-AT, en;q=0.9", [GERMAN, AUSTRIAN, US], AUSTRIAN),
        ("de-CH, de-AT;q=0.9", [GERMAN, AUSTRIAN], GERMAN),
        ("fr, en;q=0.5, de;q=0.8", [US, GERMAN], GERMAN),
        ("de;q=0, en", [GERMAN, US], US),
        ("*", [GERMAN, US], US),
        ("x" * 10_000, [GERMAN, US], US),
    ],
)
def test_the_language_decides(header: str, cultures: list[int], chosen: int) -> None:
    assert preferred_culture(header, cultures, US) == chosen


@pytest.mark.parametrize(
    ("wanted", "known", "data", "chosen"),
    [
        (FRENCH, [GERMAN, US, FRENCH], [US, FRENCH, GERMAN], FRENCH),
        # Its language, also in a culture that the storage lacks; of several the lowest id, the main one as a rule.
        (AUSTRIAN, [US, GERMAN], [US, AUSTRIAN], GERMAN),
        (AUSTRIAN, [SWISS, GERMAN, US], [US, AUSTRIAN, SWISS], GERMAN),
        # The default culture, which is the first here, or its language.
        (FRENCH, [GERMAN, US], [US, FRENCH, GERMAN], US),
        (FRENCH, [GERMAN, US], [GERMAN, FRENCH, US], GERMAN),
        (FRENCH, [GERMAN, US], [AUSTRIAN, FRENCH, US], GERMAN),
        # The other cultures in the order of the storage.
        (FRENCH, [GERMAN, US], [FRENCH, JAPANESE, US, GERMAN], US),
        (FRENCH, [GERMAN, US], [FRENCH, JAPANESE, GERMAN, US], GERMAN),
        (FRENCH, [GERMAN, US], [FRENCH, BRITISH], US),
        # English as the last resort, and no other language.
        (FRENCH, [GERMAN, US], [FRENCH], US),
        (FRENCH, [GERMAN, BRITISH], [FRENCH, JAPANESE], BRITISH),
        (FRENCH, [GERMAN, JAPANESE], [FRENCH], None),
        (FRENCH, [], [FRENCH, US], None),
        # An unknown culture has no language that others could share.
        (FRENCH, [INVARIANT_CULTURE, 99], [98, FRENCH], None),
    ],
)
def test_the_fallback_of_a_text(wanted: int, known: list[int], data: list[int], chosen: int | None) -> None:
    assert fallback_culture(wanted, known, CultureSet(tuple(data), data[0], (data[0],))) == chosen
