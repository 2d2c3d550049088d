"""Rotating a token with overlap (D147): in the domain, over the API, by command and in the back offices."""

from __future__ import annotations

import hmac
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client, override_settings
from django.utils import timezone

from repository_site.core.environment.values import Rate
from repository_site.core.problems import Conflict, Invalid, Unauthenticated
from repository_site.core.rest.throttling import Throttle
from storage.access.rotation import end_old_value, rotate_token
from storage.access.tokens import issue_token, recognise_token, revoke_token, token_digest
from storage.api import throttling
from storage.models import ApiToken, Storage
from storage.options import Role
from storage.tenancy.contexts import Context, ContextType
from tests.api_client import ApiClient
from tests.factories import StorageFactory, storage_context
from tests.storage.office import member, site_administrator

pytestmark = pytest.mark.django_db
INFO = "/acme/handbook/_api/rest/info"
TOKENS = "/acme/handbook/admin/storage/apitoken/"


@pytest.fixture
def issued(storage: Storage) -> tuple[ApiToken, str]:
    made = issue_token(storage_context(storage), "Importer", [Role.EDITOR])
    return made.token, made.value


def statuses(api: ApiClient, *values: str) -> list[int]:
    return [api.get(INFO, token=value).status_code for value in values]


def kept(token: ApiToken) -> ApiToken:
    return ApiToken.objects.get(pk=token.pk)


def test_both_values_are_the_same_caller_until_the_old_one_ends(
    api: ApiClient, storage: Storage, issued: tuple[ApiToken, str]
) -> None:
    token, old = issued
    before = ApiToken.objects.filter(pk=token.pk).values("id", "name", "roles", "user_id", "created_on").get()
    rotated = rotate_token(token)
    assert before == ApiToken.objects.filter(pk=token.pk).values(*before).get()
    context = storage_context(storage)
    assert recognise_token(old, context) == recognise_token(rotated.value, context)
    assert statuses(api, old, rotated.value) == [200, 200]
    now = timezone.now()
    end = kept(token).old_valid_until
    assert end is not None
    assert timedelta(hours=23, minutes=59) < end - now <= timedelta(days=1)
    ApiToken.objects.update(old_valid_until=now)
    assert statuses(api, old, rotated.value) == [401, 200]


@pytest.mark.long
def test_the_old_value_can_be_ended_at_once(api: ApiClient, issued: tuple[ApiToken, str]) -> None:
    token, old = issued
    new = rotate_token(token).value
    assert (end_old_value(token), end_old_value(token)) == (True, False)
    assert statuses(api, old, new) == [401, 200]


@pytest.mark.long
def test_without_overlap_there_is_no_old_value(api: ApiClient, issued: tuple[ApiToken, str]) -> None:
    token, old = issued
    new = rotate_token(token, timedelta(0)).value
    assert statuses(api, old, new) == [401, 200]
    assert (kept(token).old_digest, kept(token).old_valid_until) == (None, None)


@pytest.mark.long
def test_revoking_and_the_end_of_the_token_end_both(api: ApiClient, issued: tuple[ApiToken, str]) -> None:
    token, old = issued
    new = rotate_token(token).value
    ApiToken.objects.update(valid_until=timezone.now())
    assert statuses(api, old, new) == [401, 401]
    ApiToken.objects.update(valid_until=None)
    revoke_token(token)
    assert statuses(api, old, new) == [401, 401]


@pytest.mark.long
def test_the_old_value_is_invalid_in_other_contexts(
    api: ApiClient, issued: tuple[ApiToken, str], other_storage: Storage
) -> None:
    rotate_token(issued[0])
    assert api.get("/rival/handbook/_api/rest/info", token=issued[1]).status_code == 401


@pytest.mark.long
def test_uses_are_recorded_separately(storage: Storage, issued: tuple[ApiToken, str]) -> None:
    token, old = issued
    context = storage_context(storage)
    recognise_token(old, context)
    first = kept(token).last_used_on
    new = rotate_token(kept(token)).value
    assert (kept(token).last_used_on, kept(token).old_last_used_on) == (None, first)
    recognise_token(new, context)
    used = kept(token).last_used_on
    assert used is not None
    assert kept(token).old_last_used_on == first
    ApiToken.objects.update(old_last_used_on=used - timedelta(hours=1))
    recognise_token(old, context)
    assert kept(token).last_used_on == used
    assert kept(token).old_last_used_on > used  # type: ignore[operator]  # set above


@pytest.mark.long
def test_a_use_that_overlaps_with_the_rotation_does_not_bring_the_old_value_back(
    storage: Storage, issued: tuple[ApiToken, str]
) -> None:
    """A request reads an unused token, the token is rotated, then the request records its use."""
    read_before = Context(ContextType.STORAGE, storage.collection, storage, kept(issued[0]))
    new = rotate_token(issued[0]).value
    recognise_token(issued[1], read_before)
    assert bytes(kept(issued[0]).digest) == token_digest(new, settings.SECRET_KEY)


def test_both_values_share_one_rate_limit(
    api: ApiClient, issued: tuple[ApiToken, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    token, old = issued
    new = rotate_token(token).value
    monkeypatch.setattr(throttling, "token_throttle", Throttle(Rate(0.001, 4)))
    assert statuses(api, old, new, old, new, old, new) == [200] * 4 + [429] * 2


@pytest.mark.long
def test_only_digests_are_stored_and_both_move_to_a_new_key(storage: Storage, issued: tuple[ApiToken, str]) -> None:
    token, old = issued
    new = rotate_token(token).value
    row = repr(ApiToken.objects.filter(pk=token.pk).values().get())
    assert old not in row
    assert new not in row
    context, key = storage_context(storage), "new" * 20
    with override_settings(SECRET_KEY=key, SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        recognise_token(old, context)
        recognise_token(new, context)
    assert bytes(kept(token).digest) == token_digest(new, key)
    assert bytes(kept(token).old_digest or b"") == token_digest(old, key)


@pytest.mark.long
@pytest.mark.parametrize("which", ["present", "old"])
def test_digests_are_compared_in_constant_time(
    storage: Storage, issued: tuple[ApiToken, str], monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    """If the constant-time comparison fails, a valid value is refused."""
    value = issued[1]
    if which == "old":
        rotate_token(issued[0])
    recognise_token(value, storage_context(storage))
    monkeypatch.setattr(hmac, "compare_digest", lambda one, other: False)
    with pytest.raises(Unauthenticated):
        recognise_token(value, storage_context(storage))


@pytest.mark.long
def test_a_second_rotation_needs_the_end_of_the_old_value(issued: tuple[ApiToken, str]) -> None:
    rotated = rotate_token(issued[0]).token
    with pytest.raises(Conflict, match="still valid"):
        rotate_token(rotated)
    assert rotate_token(rotated, timedelta(0)).token.old_digest is None


@pytest.mark.long
@pytest.mark.parametrize("changes", [{"revoked_on": "now"}, {"valid_until": "now"}])
def test_an_ended_token_cannot_be_rotated(issued: tuple[ApiToken, str], changes: dict[str, str]) -> None:
    ApiToken.objects.update(**dict.fromkeys(changes, timezone.now()))
    with pytest.raises(Conflict, match=r"has expired or is revoked\. Issue a new one"):
        rotate_token(issued[0])


@pytest.mark.long
@pytest.mark.parametrize("overlap", [timedelta(seconds=-1), timedelta(days=30, seconds=1)])
def test_the_overlap_is_bounded(issued: tuple[ApiToken, str], overlap: timedelta) -> None:
    with pytest.raises(Invalid) as caught:
        rotate_token(issued[0], overlap)
    assert caught.value.details == ("overlap: expected 0 to 30 days.",)


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_the_second_of_two_concurrent_rotations_is_refused() -> None:
    token = issue_token(storage_context(StorageFactory.create(key="apart")), "t", [Role.VIEWER]).token
    start = threading.Barrier(2)

    def rotate(number: int) -> bool:
        start.wait()
        try:
            rotate_token(token)
        except Conflict:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(rotate, range(2))) == [False, True]


# The command


def run(*words: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("rotate_token", "acme", "handbook", *words, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.mark.long
def test_the_command(api: ApiClient, issued: tuple[ApiToken, str]) -> None:
    token, old = issued
    out, err = run("Importer", "--overlap", "12h")
    end = kept(token).old_valid_until
    assert end is not None
    assert timedelta(hours=11) < end - timezone.now() <= timedelta(hours=12)
    until = end.isoformat(timespec="seconds").replace("+00:00", "Z")
    named = f"Importer ({token.id})"
    assert err == f"{named} has a new value, which is not shown again; the old value is valid until {until}:\n"
    assert statuses(api, old, out.strip()) == [200, 200]
    assert run("Importer", "--end-old") == ("", f"The old value of {named} has ended.\n")
    assert run(str(token.id), "--end-old") == ("", f"The old value of {named} had already ended.\n")
    assert statuses(api, old, out.strip()) == [401, 200]
    assert (
        run("Importer", "--overlap", "0")[1]
        == f"{named} has a new value, which is not shown again; the old value has ended:\n"
    )


@pytest.mark.long
@pytest.mark.parametrize("text", ["1", "soon", "-1d", "1w"])
def test_an_invalid_overlap(issued: tuple[ApiToken, str], text: str) -> None:
    with pytest.raises(CommandError, match="overlap"):
        run("Importer", f"--overlap={text}")


# The back offices


def value_in(page: str) -> str:
    found = re.search(r"crt_[\w-]{20,}", page)
    assert found
    return found[0]


def seen(page: str) -> str:
    found = re.search(r'name="seen"(?: value="([^"]*)")?', page)
    assert found
    return found[1] or ""


@pytest.mark.long
def test_the_new_value_is_shown_once(api: ApiClient, storage: Storage, issued: tuple[ApiToken, str]) -> None:
    token, old = issued
    browser = member(storage, Role.ADMINISTRATOR)
    detail = browser.get(f"{TOKENS}{token.pk}/change/").content.decode()
    assert f"{token.pk}/rotate/" in detail
    assert f"{token.pk}/replace/" not in detail
    assert f"{token.pk}/end-old-value/" not in detail
    form = {"overlap": "3600", "seen": seen(browser.get(f"{TOKENS}{token.pk}/rotate/").content.decode())}
    done = browser.post(f"{TOKENS}{token.pk}/rotate/", form)
    assert (done.status_code, done["Cache-Control"].partition(",")[0]) == (200, "no-store")
    page = done.content.decode()
    assert "The old value is valid until" in page
    assert statuses(api, old, value_in(page)) == [200, 200]
    again = browser.post(f"{TOKENS}{token.pk}/rotate/", form)
    assert again["Location"] == f"{TOKENS}{token.pk}/change/"
    detail = browser.get(again["Location"]).content.decode()
    assert "has already been rotated" in detail
    assert "crt_" not in detail
    assert "Valid until" in detail
    assert "Rotating" in browser.get(TOKENS).content.decode()
    # The problem is shown above the form.
    other = browser.post(f"{TOKENS}{token.pk}/rotate/", {**form, "seen": seen_of(token)}).content.decode()
    assert "The value before the last rotation is still valid." in other


def seen_of(token: ApiToken) -> str:
    moment = kept(token).rotated_on
    return moment.isoformat() if moment else ""


@pytest.mark.long
def test_ending_the_old_value_asks_first(api: ApiClient, storage: Storage, issued: tuple[ApiToken, str]) -> None:
    token, old = issued
    new = rotate_token(token).value
    browser = member(storage, Role.ADMINISTRATOR)
    address = f"{TOKENS}{token.pk}/end-old-value/"
    assert address in browser.get(f"{TOKENS}{token.pk}/change/").content.decode()
    assert "End the old value?" in browser.get(address).content.decode()
    assert statuses(api, old, new) == [200, 200]
    assert browser.post(address)["Location"] == f"{TOKENS}{token.pk}/change/"
    assert statuses(api, old, new) == [401, 200]
    assert "The old value had already ended." in browser.post(address, follow=True).content.decode()


@pytest.mark.long
@pytest.mark.parametrize("role", [Role.EDITOR, Role.ARCHITECT])
def test_only_administrators_rotate_tokens(storage: Storage, issued: tuple[ApiToken, str], role: Role) -> None:
    browser = member(storage, role)
    for page in ("rotate", "end-old-value"):
        for send in (browser.get, browser.post):
            assert send(f"{TOKENS}{issued[0].pk}/{page}/").status_code == 403
    assert kept(issued[0]).rotated_on is None


@pytest.mark.long
def test_tokens_of_another_storage_are_not_found(storage: Storage, other_storage: Storage) -> None:
    theirs = issue_token(storage_context(other_storage), "Theirs", [Role.VIEWER]).token
    browser = member(storage, Role.ADMINISTRATOR)
    for page in ("rotate", "end-old-value"):
        for send in (browser.get, browser.post):
            assert send(f"{TOKENS}{theirs.pk}/{page}/").status_code == 404
    assert kept(theirs).rotated_on is None


@pytest.mark.long
def test_a_foreign_page_cannot_rotate(storage: Storage, issued: tuple[ApiToken, str]) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = member(storage, Role.ADMINISTRATOR).cookies
    for page in ("rotate", "end-old-value"):
        assert strict.post(f"{TOKENS}{issued[0].pk}/{page}/", {"overlap": "0"}).status_code == 403
    assert kept(issued[0]).rotated_on is None


@pytest.mark.long
def test_the_token_of_a_storage_is_rotated_in_its_storage(issued: tuple[ApiToken, str]) -> None:
    browser = site_administrator()
    address = f"/admin/storage/apitoken/{issued[0].pk}/"
    page = browser.get(f"{address}change/").content.decode()
    assert "/rotate/" not in page
    assert browser.post(f"{address}rotate/", {"overlap": "0", "seen": ""}).status_code == 403
    assert kept(issued[0]).rotated_on is None
