"""Tokens in the back office of a storage: issuing, lists and revoking."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core import signing
from django.test import Client
from django.utils import timezone

from storage.access.tokens import issue_token, revoke_token
from storage.models import ApiToken, Storage, TokenState
from storage.options import Role
from tests.api_client import ApiClient
from tests.factories import issued_token, storage_context
from tests.scale import first_quick
from tests.storage.office import checked_roles, errors, member, ticket

pytestmark = pytest.mark.django_db
TOKENS = "/acme/handbook/admin/storage/apitoken/"
ADD = f"{TOKENS}add/"


@pytest.fixture
def browser(storage: Storage) -> Client:
    return member(storage, Role.ADMINISTRATOR)


def form(browser: Client, **given: Any) -> dict[str, Any]:
    page = browser.get(ADD).content.decode()
    return {"name": "Importer", "roles": ["editor", "viewer"], "ticket": ticket(page), **given}


def value_in(page: str) -> str:
    found = re.search(r'id="copy-secret"[^>]*>([^<]+)<', page)
    assert found
    return html.unescape(found[1])


def test_the_value_is_shown_once_and_works(browser: Client, storage: Storage, api: ApiClient) -> None:
    given = form(browser)
    response = browser.post(ADD, given)
    page = response.content.decode()
    value = value_in(page)
    token = ApiToken.objects.get()
    assert (token.name, token.storage, token.roles, token.user_id) == ("Importer", storage, ["viewer", "editor"], None)
    assert "no-store" in response["Cache-Control"]
    calls = re.findall(r"curl -H &#x27;Authorization: Bearer (\S+)&#x27; (\S+?)<", page)
    assert calls == [(value, f"http://testserver/acme/handbook/_api/rest/{name}") for name in ("info", "facets")]
    assert api.get("/acme/handbook/_api/rest/info", headers={"Authorization": f"Bearer {value}"}).status_code == 200
    for address in (TOKENS, ADD, f"{TOKENS}{token.pk}/change/"):
        assert value not in browser.get(address).content.decode()
    assert value not in str(dict(browser.session.items()))


def test_sending_the_form_again_issues_and_shows_nothing(browser: Client) -> None:
    given = form(browser)
    value = value_in(browser.post(ADD, given).content.decode())
    again = browser.post(ADD, given, follow=True)
    token = ApiToken.objects.get()
    assert again.redirect_chain == [(f"{TOKENS}{token.pk}/change/", 302)]
    assert "has already been issued" in again.content.decode()
    assert value not in again.content.decode()


def test_nobody_chooses_the_id_of_a_token(browser: Client, storage: Storage) -> None:
    for made_up in ("", str(storage.pk), signing.dumps(str(storage.pk), salt="another")):
        page = browser.post(ADD, form(browser, ticket=made_up)).content.decode()
        assert 'id="copy-secret"' not in page
    assert not ApiToken.objects.exists()


PROBLEMS: list[tuple[dict[str, Any], str]] = [
    ({"name": " "}, "This field is required."),
    ({"roles": []}, "Choose at least one role."),
    ({"roles": ["emperor"]}, "Select a valid choice. emperor is not one of the available choices."),
    ({"name": "x" * 201}, "Longer than 200 characters."),
    ({"valid_until": "2020-01-01T00:00"}, "The end is before the start or in the past."),
    ({"valid_until": "soon"}, "Enter a valid date/time."),
    (
        {"user_id": "00000000-0000-4000-8000-000000000001"},
        "There is no user 00000000-0000-4000-8000-000000000001 in acme/handbook.",
    ),
]


def test_problems_are_shown_at_their_fields(browser: Client) -> None:
    blank, found = form(browser, valid_from="2031-05-06T07:08"), []
    for given, _ in PROBLEMS:
        page = browser.post(ADD, {**blank, **given}).content.decode()
        found.append((given, *errors(page)))
        assert 'value="2031-05-06T07:08"' in page
    assert found == PROBLEMS
    assert not ApiToken.objects.exists()


def test_validity_is_in_the_storages_time_zone(browser: Client, storage: Storage) -> None:
    Storage.objects.filter(pk=storage.pk).update(time_zone="America/New_York")
    assert "America/New_York" in browser.get(ADD).content.decode()
    browser.post(ADD, form(browser, valid_from="2031-01-01T08:00", valid_until="2031-07-01T08:00"))
    token = ApiToken.objects.get()
    assert (token.valid_from, token.valid_until) == (
        datetime(2031, 1, 1, 13, tzinfo=UTC),
        datetime(2031, 7, 1, 12, tzinfo=UTC),
    )


def test_a_replacement_starts_with_the_values_of_the_token(browser: Client, storage: Storage) -> None:
    token = issue_token(storage_context(storage), "Importer", [Role.EDITOR]).token
    response = browser.get(f"{TOKENS}{token.pk}/replace/")
    assert response["Location"] == f"{ADD}?like={token.pk}"
    page = browser.get(response["Location"]).content.decode()
    assert 'value="Importer"' in page
    assert checked_roles(page) == ["editor"]


def states(storage: Storage) -> dict[TokenState, ApiToken]:
    """One token in each state."""
    context, now = storage_context(storage), timezone.now()
    made = {state: issue_token(context, state.value, [Role.VIEWER]).token for state in TokenState}
    ApiToken.objects.filter(pk=made[TokenState.NOT_YET_VALID].pk).update(valid_from=now + timedelta(days=1))
    ApiToken.objects.filter(pk=made[TokenState.EXPIRED].pk).update(valid_until=now - timedelta(days=1))
    revoke_token(made[TokenState.REVOKED])
    return {state: ApiToken.objects.get(pk=token.pk) for state, token in made.items()}


def test_state_and_query_agree(storage: Storage) -> None:
    made, now = states(storage), timezone.now()
    for state, token in made.items():
        assert token.state(now) is state
        assert list(ApiToken.objects.in_state(state, now)) == [token]


def test_the_list_shows_and_filters_states_and_roles(browser: Client, storage: Storage) -> None:
    made = states(storage)
    page = browser.get(TOKENS).content.decode()
    for word in ("Active", "Not yet valid", "Expired", "Revoked", "never", "just now"):
        assert word in page
    for state, token in made.items():
        found = browser.get(f"{TOKENS}?state={state.value}").content.decode()
        assert [str(each.pk) in found for each in made.values()] == [each is token for each in made.values()]
    assert str(made[TokenState.ACTIVE].pk) not in browser.get(f"{TOKENS}?role=editor").content.decode()
    assert str(made[TokenState.ACTIVE].pk) in browser.get(f"{TOKENS}?role=viewer").content.decode()


def test_revoking_asks_first(browser: Client, storage: Storage) -> None:
    token = issue_token(storage_context(storage), "Importer", [Role.EDITOR]).token
    address = f"{TOKENS}{token.pk}/revoke/"
    assert "Revoke the token?" in browser.get(address).content.decode()
    assert ApiToken.objects.get().revoked_on is None
    assert browser.post(address)["Location"] == f"{TOKENS}{token.pk}/change/"
    assert ApiToken.objects.get().revoked_on is not None
    assert f"{token.pk}/revoke/" not in browser.get(f"{TOKENS}{token.pk}/change/").content.decode()


def test_revoking_many_asks_first(browser: Client, storage: Storage) -> None:
    made = [issue_token(storage_context(storage), name, [Role.EDITOR]).token for name in ("one", "two", "three")]
    action = {"action": "revoke_selected", "_selected_action": [str(token.pk) for token in made[:2]]}
    page = browser.post(TOKENS, action).content.decode()
    assert ("one" in page, "two" in page, "three" in page) == (True, True, False)
    assert not ApiToken.objects.filter(revoked_on__isnull=False).exists()
    browser.post(TOKENS, {**action, "confirmed": "yes"})
    assert set(ApiToken.objects.filter(revoked_on__isnull=False)) == set(made[:2])


def test_a_token_cannot_be_changed_or_deleted(browser: Client, storage: Storage) -> None:
    token = issue_token(storage_context(storage), "Importer", [Role.EDITOR]).token
    assert browser.post(f"{TOKENS}{token.pk}/change/", {"name": "Other", "roles": "administrator"}).status_code == 403
    assert browser.post(f"{TOKENS}{token.pk}/delete/", {"post": "yes"}).status_code == 403
    assert ApiToken.objects.get().name == "Importer"


def test_tokens_of_another_storage_are_not_found(browser: Client, storage: Storage, other_storage: Storage) -> None:
    theirs = issue_token(storage_context(other_storage), "Theirs", [Role.ADMINISTRATOR]).token
    site_wide = ApiToken.objects.create(
        digest=b"1" * 32, name="Site", roles=["administrator"], valid_from=timezone.now(), created_on=timezone.now()
    )
    assert "Theirs" not in browser.get(TOKENS).content.decode()
    assert str(theirs.pk) not in browser.get(f"{TOKENS}?q=Theirs").content.decode()
    assert "Theirs" not in browser.get(f"{ADD}?like={theirs.pk}").content.decode()
    for token in (theirs, site_wide):
        for page in ("change", "revoke", "replace", "history"):
            assert browser.get(f"{TOKENS}{token.pk}/{page}/").status_code == 404, page
        assert browser.post(f"{TOKENS}{token.pk}/revoke/").status_code == 404
        selected = {"action": "revoke_selected", "_selected_action": [str(token.pk)], "confirmed": "yes"}
        browser.post(TOKENS, selected)
        browser.post(TOKENS, {**selected, "select_across": "1"})
    assert not ApiToken.objects.filter(revoked_on__isnull=False).exists()


@pytest.mark.parametrize(
    "role", first_quick([Role.ARCHITECT, *(each for each in Role if each not in (Role.ARCHITECT, Role.ADMINISTRATOR))])
)
def test_only_administrators_see_tokens(storage: Storage, role: Role) -> None:
    token = issue_token(storage_context(storage), "Importer", [Role.EDITOR]).token
    browser = member(storage, role)
    for page in ("", "add/", "issue/", f"{token.pk}/change/", f"{token.pk}/revoke/", f"{token.pk}/replace/"):
        assert browser.get(f"{TOKENS}{page}").status_code == 403, page
        assert browser.post(f"{TOKENS}{page}").status_code == 403, page
    assert "apitoken" not in browser.get("/acme/handbook/admin/password_change/").content.decode()
    assert ApiToken.objects.get().revoked_on is None


def test_a_foreign_page_cannot_issue_or_revoke(storage: Storage) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = member(storage, Role.ADMINISTRATOR).cookies
    token = issue_token(storage_context(storage), "Importer", [Role.EDITOR]).token
    assert strict.post(ADD, {"name": "x", "roles": ["viewer"]}).status_code == 403
    assert strict.post(f"{TOKENS}{token.pk}/revoke/").status_code == 403
    assert ApiToken.objects.get().revoked_on is None


def test_the_number_of_statements_does_not_grow(
    browser: Client, storage: Storage, django_assert_max_num_queries: Any
) -> None:
    for _ in range(30):
        issued_token(storage)
    with django_assert_max_num_queries(16):
        assert browser.get(TOKENS).status_code == 200
