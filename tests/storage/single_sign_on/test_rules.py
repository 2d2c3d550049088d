"""Rules that map claims to roles (D503)."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

import pytest

from storage.models import AccessRule
from storage.single_sign_on.rules import Grant, applies, grants_of, matches

HERE, THERE = UUID(int=1), UUID(int=2)
CLAIMS: dict[str, Any] = {
    "sub": "1",
    "email_verified": True,
    "level": 3,
    "groups": ["editors", "acme-de-staff", None, {"name": "nested"}],
    "realm_access": {"roles": ["author", "offline_access"]},
    "https://example.org/roles": ["chief"],
    "empty": [],
}


def a_rule(claim: str, comparison: str, value: str = "", **fields: Any) -> AccessRule:
    return AccessRule(
        **{"storage_id": HERE, "roles": ["viewer"], **fields}, claim=claim, comparison=comparison, value=value
    )


@pytest.mark.parametrize(
    ("claim", "comparison", "value", "expected"),
    [
        ("groups", "equals", "editors", True),
        ("groups", "equals", "Editors", False),
        ("groups", "equals", "editor", False),
        ("groups", "contains", "-de-", True),
        ("groups", "contains", "", False),
        ("groups", "pattern", "acme-*-staff", True),
        ("groups", "pattern", "*", True),
        ("groups", "pattern", "acme-*-staff-*", False),
        ("groups", "pattern", ".*", False),
        ("realm_access.roles", "equals", "author", True),
        ("realm_access.roles.deep", "any", "", False),
        ("https://example.org/roles", "equals", "chief", True),
        ("email_verified", "equals", "true", True),
        ("level", "equals", "3", True),
        ("sub", "any", "", True),
        ("empty", "any", "", False),
        ("missing", "any", "", False),
        ("groups", "unknown", "editors", False),
    ],
)
def test_comparisons(claim: str, comparison: str, value: str, expected: bool) -> None:
    assert applies(a_rule(claim, comparison, value), CLAIMS) is expected


def test_grants_add_up() -> None:
    rules = [
        a_rule("groups", "equals", "editors", roles=["editor"], user_claim="sub", user_attribute="personnelNumber"),
        a_rule("groups", "equals", "nobody", roles=["administrator"]),
        a_rule("sub", "any", roles=["viewer"], user_claim="level", user_attribute="other"),
        a_rule("sub", "any", storage_id=THERE),
    ]
    assert grants_of(rules, CLAIMS) == {
        HERE: Grant(HERE, frozenset({"editor", "viewer"}), (1, 3), "personnelNumber", "1"),  # type: ignore[arg-type]  # equal
        THERE: Grant(THERE, frozenset({"viewer"}), (4,)),  # type: ignore[arg-type]
    }
    assert grants_of(rules, {}) == {}


def test_a_pattern_is_never_expensive() -> None:
    """A regular expression would try every combination."""
    began = time.process_time()
    for _ in range(500):
        assert not matches("*a" * 99 + "*b", "a" * 1000)
    assert time.process_time() - began < 1
