"""Texts of the cells of the back offices."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone, translation

from storage.back_office.cells import ago


@pytest.mark.parametrize(
    ("age", "english", "german"),
    [
        (timedelta(seconds=5), "just now", "gerade eben"),
        (timedelta(minutes=3), "3 minutes ago", "vor 3 Minuten"),
        (timedelta(days=1), "1 day ago", "vor 1 Tag"),
        (timedelta(days=2, hours=1), "2 days ago", "vor 2 Tagen"),
        (timedelta(days=16), "2 weeks ago", "vor 2 Wochen"),
    ],
)
def test_relative_times(age: timedelta, english: str, german: str) -> None:
    for language, text in (("en", english), ("de", german)):
        with translation.override(language):
            assert f">{text}</time>" in ago(timezone.now() - age)
