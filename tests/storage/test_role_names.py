"""A role has one name in each language: in the back office, and as an attribute of users and tokens."""

from __future__ import annotations

import json

import pytest
from django.utils import translation

from repository_site.core.environment import PROJECT_DIR
from storage.back_office.role_texts import ROLE_NAMES
from storage.options import Role

TEMPLATE = PROJECT_DIR / "storage/template_files/standard.json"


@pytest.mark.parametrize(("culture", "language"), [("1031", "de"), ("1033", "en")])
@pytest.mark.parametrize("role", list(Role))
def test_template_and_back_office_agree(role: Role, culture: str, language: str) -> None:
    names = json.loads(TEMPLATE.read_text())["properties"][f"role{role.capitalize()}"]["displayNames"]
    with translation.override(language):
        assert str(ROLE_NAMES[role]) == names[culture]
