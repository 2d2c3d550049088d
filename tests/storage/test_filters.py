"""Filters of lists are labelled with their titles."""

from __future__ import annotations

import re

import pytest

from storage.models import Storage
from tests.storage.office import site_administrator

LABEL = re.compile(r'<label[^>]*class="[^"]*font-semibold[^"]*"[^>]*>\s*([^<]*?)\s*</label>')


@pytest.mark.parametrize(
    ("page", "language", "labels"),
    [
        ("storage", "en", ["Collection", "Valid", "Callers without a credential"]),
        ("staffaccount", "en", ["Storage", "Superuser status", "Active"]),
        ("staffaccount", "de", ["Speicher", "Administrator-Status", "Aktiv"]),
    ],
)
def test_labels(storage: Storage, page: str, language: str, labels: list[str]) -> None:
    response = site_administrator().get(f"/admin/storage/{page}/", headers={"accept-language": language})
    assert LABEL.findall(response.content.decode()) == labels
