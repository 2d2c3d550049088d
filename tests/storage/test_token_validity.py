"""Validity of new tokens (D485), and reminders before they end (D486)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings
from django.utils import timezone

from repository_site.core.problems import Invalid
from storage.access.rotation import rotate_token
from storage.access.token_reminders import remind_of_ends
from storage.access.tokens import issue_token, revoke_token
from storage.models import ApiToken, Event, Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.factories import storage_context
from tests.storage.office import errors, member, ticket

pytestmark = pytest.mark.django_db
TOKENS = "/acme/handbook/admin/storage/apitoken/"
NEAR = timedelta(seconds=10)


def issued(storage: Storage, name: str = "robot", **options: object) -> ApiToken:
    return issue_token(storage_context(storage), name, [Role.EDITOR], **options).token  # type: ignore[arg-type]


def days_left(token: ApiToken) -> float | None:
    token.refresh_from_db()
    return round((token.valid_until - timezone.now()) / timedelta(days=1), 2) if token.valid_until else None


def ordered(storage: Storage, *options: str) -> ApiToken:
    """Return the token that the command issues. It prints the value alone."""
    out, err = StringIO(), StringIO()
    arguments = ["acme", "handbook", "--name", "robot", "--role", "editor"]
    call_command("issue_token", *arguments, *options, stdout=out, stderr=err)
    assert out.getvalue().startswith("crt_")
    assert len(out.getvalue().split()) == 1
    token = ApiToken.objects.latest("created_on")
    assert err.getvalue().startswith(f"Token {token.id} for acme/handbook, ")
    return token


def test_new_tokens_end_unless_their_issuer_says_otherwise(storage: Storage) -> None:
    assert days_left(issued(storage)) == 90
    assert days_left(issued(storage, valid_from=timezone.now() + timedelta(days=5))) == 95
    assert days_left(issued(storage, never_expires=True)) is None
    with pytest.raises(Invalid):
        issued(storage, valid_from=datetime(9999, 12, 31, tzinfo=UTC))
    with override_settings(TOKEN_DAYS=7):
        assert days_left(issued(storage)) == days_left(ordered(storage)) == 7
    assert days_left(ordered(storage, "--valid-until", "30d")) == 30
    assert days_left(ordered(storage, "--valid-until", "never")) is None
    assert days_left(ordered(storage, "--valid-until", "9999-12-31")) is None
    assert ordered(storage, "--valid-until", "2099-12-31").valid_until == datetime(2099, 12, 31, 23, tzinfo=UTC)
    for wrong in ("tomorrow", "9999999d", "0000-00-00"):
        with pytest.raises(CommandError, match="a number of days such as 30d, or never"):
            ordered(storage, "--valid-until", wrong)
    with pytest.raises(Invalid) as caught:
        issued(storage, valid_until=timezone.now() + timedelta(days=1), never_expires=True)
    assert caught.value.details == ("valid until: a token that never expires has no end.",)


def test_rotating_keeps_the_end_or_sets_another_one(storage: Storage) -> None:
    token = issued(storage, valid_until=timezone.now() + timedelta(days=3))
    rotate_token(token)
    assert days_left(token) == 3
    ApiToken.objects.update(reminded_days=14)
    call_command(
        "rotate_token", "acme", "handbook", "robot", "--overlap", "0", "--valid-until", "90d", stderr=StringIO()
    )
    assert (days_left(token), token.reminded_days) == (90, None)
    rotate_token(token, timedelta(0), never_expires=True)
    assert days_left(token) is None
    rotate_token(token, timedelta(0))
    assert days_left(token) is None
    with pytest.raises(Invalid, match="cannot be rotated"):
        rotate_token(token, timedelta(0), valid_until=timezone.now() - timedelta(days=1))


def test_the_back_office_issues_and_rotates_with_an_end(storage: Storage) -> None:
    client = member(storage, Role.ADMINISTRATOR)
    page = client.get(f"{TOKENS}add/").content.decode()
    assert "If empty, the token is valid for 90 days." in page
    form = {"name": "robot", "roles": ["editor"], "never_expires": "on", "valid_until": "2099-12-31T10:00"}
    refused = client.post(f"{TOKENS}add/", {**form, "ticket": ticket(page)}).content.decode()
    assert errors(refused) == ["A token that never expires has no end."]
    assert client.post(f"{TOKENS}add/", {**form, "valid_until": "", "ticket": ticket(page)}).status_code == 200
    token = ApiToken.objects.get()
    assert token.valid_until is None
    rotation = {"overlap": "0", "seen": "", "valid_until": "2099-12-31T10:00"}
    assert "has a new value" in client.post(f"{TOKENS}{token.pk}/rotate/", rotation).content.decode()
    token.refresh_from_db()
    assert token.valid_until == datetime(2099, 12, 31, 9, tzinfo=UTC)


def reminders(storage: Storage, now: datetime) -> list[str]:
    """Return the names of the tokens of the new reminders at a time."""
    with tenant_scope(storage):
        before = set(Event.objects.values_list("id", flat=True))
        remind_of_ends(storage, now)
        found = Event.objects.filter(type="token.expiring").exclude(id__in=before)
        return sorted(found.values_list("data__name", flat=True))


def test_reminders_come_once_for_each_stage(storage: Storage, other_storage: Storage) -> None:
    start = timezone.now()
    token = issued(storage)
    issued(storage, "endless", never_expires=True)
    issued(storage, "short", valid_until=start + timedelta(days=10))
    revoke_token(issued(storage, "revoked"))
    issued(other_storage, "theirs")
    day = timedelta(days=1)
    found = [reminders(storage, start + number * day) for number in (0, 9, 9, 75, 77, 78, 87, 89, 89, 91)]
    assert found == [[], ["short"], [], [], ["robot"], [], [], ["robot"], [], []]
    # With a new end, the reminders start again.
    rotate_token(token, valid_until=start + 60 * day)
    assert [reminders(storage, start + number * day) for number in (45, 47, 48, 59)] == [[], ["robot"], [], ["robot"]]
