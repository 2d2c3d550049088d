"""Security headers, as a table with one row for each kind of response (D148, D149)."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client, override_settings

from storage.models import Storage
from storage.options import Role
from tests.storage.office import member

pytestmark = pytest.mark.django_db
COMMON = "img-src 'self' data: https:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
PAGE = f"default-src 'self'; script-src 'self'; style-src 'self'; {COMMON}"
OFFICE = f"default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; {COMMON}"
API = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Strict-Transport-Security": None,
}
HANDBOOK = "/acme/handbook"
ANSWERS = [
    # who, address, status, policy, framing
    ("anonymous", "/admin/login/", 200, OFFICE, "DENY"),
    ("anonymous", f"{HANDBOOK}/admin/login/", 200, OFFICE, "DENY"),
    ("anonymous", f"{HANDBOOK}/admin/", 302, OFFICE, "DENY"),
    ("anonymous", "/acme/open/1033/", 200, PAGE, "DENY"),
    ("anonymous", "/acme/open/1033/nothing/", 404, PAGE, "DENY"),
    ("anonymous", "/nothing/", 404, PAGE, "DENY"),
    ("anonymous", "/acme/open/_api/rest/info", 200, API, "DENY"),
    ("anonymous", f"{HANDBOOK}/_api/rest/info", 401, API, "DENY"),
    ("anonymous", f"{HANDBOOK}/_api/nothing", 404, API, "DENY"),
    ("anonymous", "/acme/open/_api/schema", 200, API, "DENY"),
    ("staff", f"{HANDBOOK}/admin/", 200, OFFICE, "DENY"),
    ("staff", f"{HANDBOOK}/admin/storage/apitoken/", 200, OFFICE, "DENY"),
    ("staff", f"{HANDBOOK}/1033/", 200, PAGE, "DENY"),
]


@pytest.fixture
def people(storage: Storage, open_storage: Storage) -> dict[str, Client]:
    return {"anonymous": Client(), "staff": member(storage, Role.ADMINISTRATOR)}


def test_every_kind_of_answer_has_its_headers(people: dict[str, Client]) -> None:
    found, expected = [], []
    for who, address, status, policy, framed in ANSWERS:
        response = people[who].get(address)
        row = {"Content-Security-Policy": policy, "X-Frame-Options": framed, **ALWAYS}
        expected.append((who, address, status, row))
        found.append((who, address, response.status_code, {name: response.get(name) for name in row}))
    assert found == expected


def test_responses_over_https_have_hsts(people: dict[str, Client]) -> None:
    secure = {"SECURE_HSTS_SECONDS": 31536000, "SECURE_HSTS_INCLUDE_SUBDOMAINS": True, "SECURE_HSTS_PRELOAD": True}
    with override_settings(**secure):
        for address in ("/admin/login/", "/acme/open/_api/rest/info", "/acme/open/1033/", "/nothing/"):
            response = Client().get(address, secure=True)
            assert response["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains; preload", address


def test_a_view_may_have_a_policy_of_its_own(settings: Any) -> None:
    """Pictures of diagrams have one, because they contain their style."""
    settings.MIDDLEWARE = ["repository_site.core.policies.PolicyMiddleware", "tests.repository_site.test_policies.own"]
    assert Client().get("/").headers["Content-Security-Policy"] == "sandbox"


def own(get_response: Any) -> Any:
    def answer(request: Any) -> Any:
        return HttpResponse(headers={"Content-Security-Policy": "sandbox"})

    return answer
