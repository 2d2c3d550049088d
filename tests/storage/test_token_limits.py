"""Tokens limited to networks (D488) and operations (D489); `tests/elements/access/test_token_scope.py` has facets."""

from __future__ import annotations

from io import StringIO
from zoneinfo import ZoneInfo

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from repository_site.core.environment.values import Rate
from repository_site.core.problems import Conflict, Invalid
from repository_site.core.rest.throttling import Throttle
from storage.access.token_changes import change_limits
from storage.access.token_limits import MOST_NETWORKS, TokenLimits, is_within, operation_ids
from storage.access.tokens import issue_token, revoke_token
from storage.api import throttling
from storage.models import ApiToken, Event, Storage
from storage.options import Role
from storage.tenancy.contexts import Context, ContextType
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.factories import issued_token, storage_context
from tests.storage.office import errors, member, ticket

pytestmark = pytest.mark.django_db
INFO = "/acme/handbook/_api/rest/info"
TOKENS = "/acme/handbook/admin/storage/apitoken/"
LIMITS = TokenLimits(["192.0.2.0/24", "2001:db8::/32"])


@pytest.mark.parametrize(
    ("address", "is_inside"),
    [
        ("192.0.2.200", True), ("::ffff:192.0.2.200", True), ("2001:db8:7::1", True), ("192.0.3.1", False),
        ("2001:db9::1", False), ("", False), ("unix:", False),
    ],
)  # fmt: skip
def test_addresses_of_networks(address: str, is_inside: bool) -> None:
    assert is_within(address, LIMITS.networks) is is_inside


def test_requests_from_elsewhere_are_refused_and_counted_for_their_network(
    api: ApiClient, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttling, "anonymous_throttle", Throttle(Rate(0.001, 2)))
    value = issued_token(storage, limits=LIMITS)
    assert api.get(INFO, token=value, REMOTE_ADDR="192.0.2.7").status_code == 200
    message = "The token is limited to certain networks, and the address 203.0.113.9 does not belong to them."
    refused = api.get(INFO, token=value, REMOTE_ADDR="203.0.113.9")
    assert (refused.status_code, refused.json()) == (
        403,
        {"message": message, "output": "volatile", "type": "unauthorized", "data": [{"error": message}]},
    )
    statuses = [api.get(INFO, token=value, REMOTE_ADDR="203.0.113.9").status_code for _ in range(2)]
    assert statuses == [403, 429]
    assert api.get(INFO, token=value, REMOTE_ADDR="2001:db8::7").status_code == 200


def test_only_the_operations_of_the_scope(api: ApiClient, storage: Storage) -> None:
    # The document has another id for the same operation by POST.
    limits = TokenLimits(operations=["listfacets", "listFacetsByPost", "listTransitionsUnderRestByPost"])
    value = issued_token(storage, Role.ADMINISTRATOR, limits=limits)
    assert ApiToken.objects.get().operations == ["listFacets", "listTransitions"]
    assert api.get("/acme/handbook/_api/rest/facets", token=value).status_code == 200
    assert api.post("/acme/handbook/_api/rest/facets", "", "application/json", token=value).status_code == 200
    refused = api.get(INFO, token=value)
    message = "The scope of the token does not include the operation getStorageInfo."
    assert (refused.status_code, refused.json()["message"]) == (403, message)
    reading = issued_token(storage, Role.ADMINISTRATOR, limits=TokenLimits(is_read_only=True))
    assert api.get("/acme/handbook/_api/rest/webhooks", token=reading).status_code == 200
    # An empty body reads, as a GET does.
    assert api.post("/acme/handbook/_api/rest/webhooks", "", "application/json", token=reading).status_code == 200
    body = {"url": "https://example.org/hook"}
    refused = api.post("/acme/handbook/_api/rest/webhooks", body, "application/json", token=reading)
    assert (refused.status_code, refused.json()["message"]) == (403, "The token can only read.")


def test_tokens_of_the_site_can_be_limited(api: ApiClient, storage: Storage) -> None:
    site = Context(ContextType.SITE)
    limits = TokenLimits(["192.0.2.0/24"], operations=["getStorageInfo"])
    value = issue_token(site, "ops", [Role.ADMINISTRATOR], limits=limits).value
    address = "/_sysadmin/_admin/_api/rest"
    assert api.get(f"{address}/info", token=value).status_code == 403
    assert api.get(f"{address}/info", token=value, REMOTE_ADDR="192.0.2.1").status_code == 200
    assert api.get(f"{address}/facets", token=value, REMOTE_ADDR="192.0.2.1").status_code == 403
    with pytest.raises(Invalid):
        issue_token(site, "ops", [Role.ADMINISTRATOR], limits=TokenLimits(facets=["processes"]))


def test_wrong_limits_are_reported_at_once(storage: Storage) -> None:
    limits = TokenLimits(["192.0.2.7/24", "here"], facets=["proceses"], operations=["listElement"])
    with pytest.raises(Invalid) as caught:
        issue_token(storage_context(storage), "robot", [Role.EDITOR], limits=limits)
    assert caught.value.details == (
        "networks: “192.0.2.7/24” names a host and a network; use 192.0.2.0/24.",
        "networks: “here” is not a network; expected one such as 192.0.2.0/24 or 2001:db8::/32.",
        "facets: “proceses” is unknown",
        "operations: “listElement” is unknown; similar: listElements, listDataElements, getElement",
    )
    many = TokenLimits([f"10.0.0.{number}" for number in range(MOST_NETWORKS + 1)])
    with pytest.raises(Invalid) as caught:
        issue_token(storage_context(storage), "robot", [Role.EDITOR], limits=many)
    assert caught.value.details == (f"networks: more than {MOST_NETWORKS} networks.",)
    assert {"listElements", "followChanges", "getOpenApiDocument", "listNodes"} <= operation_ids()


def test_limits_of_a_token_are_changed(api: ApiClient, storage: Storage) -> None:
    """From the next request on, with an event, once; the exact end stays unless somebody changes it."""
    issued = issue_token(storage_context(storage), "robot", [Role.VIEWER])
    ApiToken.objects.update(facets=["gone"], reminded_days=14)
    client, address = member(storage, Role.ADMINISTRATOR), f"{TOKENS}{issued.token.pk}/limits/"
    page = client.get(address).content.decode()
    assert 'value="gone"' in page
    end = timezone.localtime(issued.token.valid_until, ZoneInfo(storage.time_zone))
    form = {"valid_until": f"{end:%Y-%m-%dT%H:%M}", "facets": ["gone"], "networks": "192.0.2.0/24", "seen": ""}
    refused = client.post(address, {**form, "networks": "here", "operations": "fly"}).content.decode()
    assert [each.partition(";")[0] for each in errors(refused)] == ["“here” is not a network", "“fly” is unknown"]
    assert client.post(address, form).status_code == 302
    token = ApiToken.objects.get()
    stored = (token.networks, token.facets, token.valid_until, token.reminded_days)
    assert stored == (["192.0.2.0/24"], ["gone"], issued.token.valid_until, 14)
    assert api.get(INFO, token=issued.value, REMOTE_ADDR="203.0.113.9").status_code == 403
    assert "Somebody else has changed the token" in client.post(address, {**form, "networks": ""}).content.decode()
    form["seen"] = token.limited_on.isoformat() if token.limited_on else ""
    assert client.post(address, form).status_code == 302
    assert client.post(address, {"never_expires": "on", "seen": form["seen"], "valid_until": ""}).status_code == 302
    token.refresh_from_db()
    assert (token.networks, token.facets, token.valid_until, token.reminded_days) == ([], [], None, None)
    with tenant_scope(storage):
        events = [each.data for each in Event.objects.filter(type="token.changed").order_by("time")]
    limits = [(each["networks"], each["facets"], "validUntil" in each) for each in events]
    assert limits == [(["192.0.2.0/24"], ["gone"], True), ([], [], False)]
    with pytest.raises(Conflict):
        change_limits(issued.token, TokenLimits(is_read_only=True))
    revoke_token(token)
    assert client.post(address, form).status_code == 403
    assert member(storage, Role.ARCHITECT).get(address).status_code == 403


def test_command_and_back_office_set_and_show_limits(storage: Storage) -> None:
    command = ["issue_token", "acme", "handbook", "--name", "robot", "--role", "viewer"]
    limits = ["--read-only", "--network", "192.0.2.0/24", "2001:db8::1", "--operation", "listElements"]
    call_command(*command, *limits, stdout=StringIO(), stderr=StringIO())
    stored = {"networks": ["192.0.2.0/24", "2001:db8::1/128"], "is_read_only": True, "operations": ["listElements"]}
    token = ApiToken.objects.get()
    assert {name: getattr(token, name) for name in stored} == stored
    with pytest.raises(CommandError, match="names a host and a network"):
        call_command(*command, "--network", "192.0.2.1/24", stdout=StringIO(), stderr=StringIO())
    listed = StringIO()
    call_command("list_tokens", "acme", "handbook", stdout=listed)
    assert "read-only operations=listElements" in listed.getvalue()
    client = member(storage, Role.ADMINISTRATOR)
    page = client.get(f"{TOKENS}add/?like={token.pk}").content.decode()
    form = {"name": "like it", "roles": ["viewer"], "is_read_only": "on", "ticket": ticket(page)}
    refused = client.post(f"{TOKENS}add/", {**form, "networks": "here", "operations": "fly"}).content.decode()
    assert errors(refused)[0].startswith("“here” is not a network")
    assert "192.0.2.0/24\n2001:db8::1/128</textarea>" in page
    form |= {"networks": "192.0.2.0/24\r\n2001:db8::1", "operations": "listElements"}
    assert client.post(f"{TOKENS}add/", form).status_code == 200
    token = ApiToken.objects.get(name="like it")
    assert {name: getattr(token, name) for name in stored} == stored
    shown = client.get(f"{TOKENS}{token.pk}/change/").content.decode()
    assert "Read only" in shown
    assert "2001:db8::1/128" in shown
