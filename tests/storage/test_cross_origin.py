"""Cross-origin requests (D576): allowed origins, preflight requests, and headers that pages need to read responses."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from repository_site.core.fairness import admission
from repository_site.core.problems import Invalid, TooManyRequests
from repository_site.core.recent_values import RecentValues
from storage.api import cross_origin
from storage.models import Storage
from storage.options import Role
from storage.provisioning.provision import StorageRequest, provision_storage, set_origins
from tests.factories import PLAIN_TEMPLATE, token_for
from tests.storage.office import site_administrator

pytestmark = pytest.mark.django_db
APP, OTHER = "https://app.example.org", "https://app.example.org:8443"
API = "/acme/handbook/_api"
INFO, FACETS = f"{API}/rest/info", f"{API}/rest/facets"


@pytest.fixture(autouse=True)
def _nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_origin, "_known", RecentValues(10))


@pytest.fixture
def opened(storage: Storage) -> Storage:
    set_origins(storage, ["http://localhost:3000", APP])
    return storage


def preflight(address: str, origin: str = APP, method: str = "GET") -> Any:
    return Client().options(address, headers={"Origin": origin, "Access-Control-Request-Method": method})


def cors(response: Any) -> dict[str, str]:
    """Return the headers of a response that are about origins."""
    return {name: value for name, value in response.items() if name.startswith("Access-Control-")}


READABLE = {"Access-Control-Allow-Origin": APP, "Access-Control-Expose-Headers": cross_origin.EXPOSED}


def test_no_origin_is_allowed_by_default(storage: Storage, other_storage: Storage) -> None:
    """Responses do not differ from those without an origin."""
    set_origins(other_storage, [APP])
    headers = {"Authorization": f"Bearer {token_for(storage)}"}
    for sent in (headers, {}):
        plain = Client().get(FACETS, headers=sent)
        other = Client().get(FACETS, headers={**sent, "Origin": APP})
        same = {"X-Request-ID": ""}
        assert (plain.content, {**plain.headers, **same}) == (other.content, {**other.headers, **same})
    assert (preflight(FACETS).status_code, cors(preflight(FACETS))) == (405, {})


def test_preflight_requests_need_no_credential(opened: Storage) -> None:
    response = preflight(FACETS, method="POST")
    assert (response.status_code, response.content, response["Vary"]) == (204, b"", "Origin")
    assert cors(response) == {
        **READABLE,
        "Access-Control-Allow-Methods": "GET, HEAD, POST",
        "Access-Control-Allow-Headers": cross_origin.HEADERS,
        "Access-Control-Max-Age": "600",
    }
    agents = cors(preflight(f"{API}/mcp", method="POST"))["Access-Control-Allow-Headers"]
    assert {"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"} <= {*agents.split(", ")}
    assert cors(preflight(f"{API}/rest/webhooks/{opened.pk}"))["Access-Control-Allow-Methods"] == (
        "DELETE, GET, HEAD, PATCH, POST"
    )
    # The origin is compared exactly.
    for origin in (
        OTHER,
        APP.upper(),
        f"{APP}/",
        "http://app.example.org",
        "null",
        "*",
        "",
        "https://evil.app.example.org",
    ):
        refused = preflight(FACETS, origin)
        assert (refused.status_code, cors(refused)) == (405, {}), origin
    # An OPTIONS request that is not a preflight request, and one to another storage.
    assert Client().options(FACETS, headers={"Origin": APP}).status_code == 405
    assert preflight("/acme/nothing/_api/rest/facets").status_code == 404


def test_pages_can_read_responses_and_errors(opened: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    token = {"Authorization": f"Bearer {token_for(opened)}"}
    for headers, address, status in (
        (token, FACETS, 200),
        ({}, FACETS, 401),
        ({"Authorization": "Bearer wrong"}, FACETS, 401),
        (token, f"{FACETS}/none/views", 404),
        (token, f"{API}/rest/webhooks", 403),
        ({**token, "Accept": "image/png"}, FACETS, 406),
    ):
        response = Client().get(address, headers={**headers, "Origin": APP})
        assert (response.status_code, cors(response)) == (status, READABLE)
        assert "Origin" in response["Vary"]
        foreign = Client().get(address, headers={**headers, "Origin": OTHER})
        assert (foreign.status_code, cors(foreign), "Origin" in foreign["Vary"]) == (status, {}, True)
        without = Client().get(address, headers=headers)
        # A cache must not give this response to a page.
        assert (cors(without), "Origin" in without["Vary"]) == ({}, True)

    def refuse(*who: Any, **more: Any) -> Any:
        raise TooManyRequests("Later.", retry_after=3)

    # A request that is refused before its storage is looked up.
    monkeypatch.setattr(admission.gate, "enter", refuse)
    busy = Client().get(FACETS, headers={**token, "Origin": APP})
    assert (busy.status_code, busy["Retry-After"], cors(busy)) == (429, "3", READABLE)


def test_an_origin_costs_no_statement(opened: Storage) -> None:
    headers = {"Authorization": f"Bearer {token_for(opened)}"}
    counts = []
    Client().get(INFO, headers=headers)
    for origin in ({}, {"Origin": APP}, {"Origin": OTHER}):
        with CaptureQueriesContext(connection) as captured:
            Client().get(INFO, headers={**headers, **origin})
        counts.append(len(captured))
    assert len(set(counts)) == 1


def test_sessions_do_not_work_across_origins(opened: Storage) -> None:
    """Browsers send no cookies without Allow-Credentials; a forged request with a cookie lacks the CSRF token."""
    browser = site_administrator()
    response = browser.post(f"{API}/rest/webhooks", "{}", content_type="application/json", headers={"Origin": APP})
    assert "Access-Control-Allow-Credentials" not in response
    pages = browser.get("/admin/", headers={"Origin": APP})
    assert cors(pages) == {}


def test_origins_are_set_by_command_and_in_the_back_office(storage: Storage, other_storage: Storage) -> None:
    out = StringIO()
    call_command("set_origins", "acme", "handbook", APP, "http://[::1]:3000", stdout=out)
    call_command("set_origins", "acme", "handbook", stdout=out)
    assert out.getvalue() == (
        f"acme/handbook: allowed origins: {APP}, http://[::1]:3000.\nacme/handbook: allowed origins: none.\n"
    )
    for wrong in (
        "*",
        "null",
        "app.example.org",
        f"{APP}/",
        f"{APP}:443",
        "https://App.example.org",
        "ftp://a.example",
    ):
        with pytest.raises(CommandError, match=r"allowed origins: .*is not an origin as browsers send it"):
            call_command("set_origins", "acme", "handbook", wrong, stdout=out)
    with pytest.raises(CommandError, match="more than 50 origins"):
        call_command("set_origins", "acme", "handbook", *[f"https://a{number}.example" for number in range(51)])
    page, browser = f"/admin/storage/storage/{storage.pk}/change/", site_administrator()
    form = {"title": storage.title, "is_valid": "on", "anonymous_access": "none", "stuck_after_days": "14"}
    form |= {"event_days": "90", "past_days": "365"}
    refused = browser.post(page, {**form, "allowed_origins": "https://*.example.org"})
    assert (refused.status_code, "is not an origin" in refused.content.decode()) == (200, True)
    assert browser.post(page, {**form, "allowed_origins": f"{APP}\r\n{OTHER}\r\n"}).status_code == 302
    assert [Storage.objects.get(pk=each.pk).origins for each in (storage, other_storage)] == [[APP, OTHER], []]
    given: dict[str, Any] = {"collection": "acme", "template": str(PLAIN_TEMPLATE)}
    assert provision_storage(StorageRequest(key="open", allowed_origins=[APP], **given)).origins == [APP]
    with pytest.raises(Invalid):
        provision_storage(StorageRequest(key="wrong", allowed_origins=["*"], **given))


def test_a_page_writes_with_a_token(opened: Storage) -> None:
    headers = {"Authorization": f"Bearer {token_for(opened, Role.ADMINISTRATOR)}", "Origin": APP}
    made = Client().post(f"{API}/rest/webhooks", "{}", content_type="application/json", headers=headers)
    assert cors(made) == READABLE
