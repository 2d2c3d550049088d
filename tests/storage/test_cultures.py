"""Which culture a client's languages prefer (D5)."""

from __future__ import annotations

import pytest

from storage.localisation.cultures import preferred_culture

GERMAN, AUSTRIAN, US, BRITISH = 1031, 3079, 1033, 2057


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
