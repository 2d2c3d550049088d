"""Tokens after a restore (D205): disabled unless asked for, and never valid again after they were revoked here."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from storage.access.rotation import end_old_value, rotate_token
from storage.access.token_changes import change_limits
from storage.access.token_limits import TokenLimits
from storage.access.tokens import issue_token, revoke_token
from storage.backup.restoring import Restored, restore_storage
from storage.backup.writing import back_up_storage
from storage.models import ApiToken, Storage, TokenAddress, TokenRevocation
from storage.options import Role
from storage.provisioning.provision import remove_storage
from tests.api_client import ApiClient
from tests.factories import StorageFactory, storage_context

pytestmark = [pytest.mark.django_db, pytest.mark.long]
WEEK = timedelta(days=7)
NOW = datetime(2026, 7, 1, tzinfo=UTC)


@pytest.fixture
def manual(other_storage: Storage) -> Storage:
    return StorageFactory.create(collection="acme", key="manual")


def issued(storage: Storage, name: str) -> Any:
    return issue_token(storage_context(storage), name, [Role.VIEWER])


def status(api: ApiClient, value: str) -> int:
    return int(api.get("/acme/manual/_api/rest/info", token=value).status_code)


def restored_after(storage: Storage, path: Path, **options: Any) -> Restored:
    remove_storage(storage)
    return restore_storage(path, **options)


def test_restored_tokens_are_disabled_unless_asked_for(api: ApiClient, manual: Storage, tmp_path: Path) -> None:
    path, value = tmp_path / "manual.backup", issued(manual, "reader").value
    back_up_storage(manual, path)
    restored = restored_after(manual, path)
    assert (restored.tokens, restored.disabled, status(api, value)) == (1, 1, 401)
    assert ApiToken.objects.get(name="reader").revoked_on is not None
    # Nobody revoked it: restoring once more with the option makes it valid.
    again = restored_after(restored.storage, path, with_tokens=True)
    assert (again.tokens, again.disabled, status(api, value)) == (1, 0, 200)


def test_a_revoked_token_is_not_revived(api: ApiClient, manual: Storage, tmp_path: Path) -> None:
    path, leaked, kept = tmp_path / "manual.backup", issued(manual, "leaked"), issued(manual, "kept")
    back_up_storage(manual, path)
    revoke_token(leaked.token)
    revoked_on = ApiToken.objects.get(name="leaked").revoked_on
    restored = restored_after(manual, path, with_tokens=True)
    assert (restored.tokens, restored.disabled) == (2, 1)
    assert (status(api, leaked.value), status(api, kept.value)) == (401, 200)
    assert ApiToken.objects.get(name="leaked").revoked_on == revoked_on
    assert status(api, leaked.value) == 401


def test_a_replaced_value_is_not_revived(api: ApiClient, manual: Storage, tmp_path: Path) -> None:
    path, token = tmp_path / "manual.backup", issued(manual, "leaked")
    back_up_storage(manual, path)
    new = rotate_token(token.token, timedelta(0))
    restored = restored_after(manual, path, with_tokens=True)
    assert (restored.tokens, restored.disabled) == (1, 1)
    assert (status(api, token.value), status(api, new.value)) == (401, 401)


def test_an_old_value_that_was_ended_is_not_revived(api: ApiClient, manual: Storage, tmp_path: Path) -> None:
    path, token = tmp_path / "manual.backup", issued(manual, "rotated")
    new = rotate_token(token.token, WEEK)
    back_up_storage(manual, path)
    assert (status(api, token.value), status(api, new.value)) == (200, 200)
    end_old_value(new.token)
    restored = restored_after(manual, path, with_tokens=True)
    assert (restored.tokens, restored.disabled) == (1, 0)
    assert (status(api, token.value), status(api, new.value)) == (401, 200)


def test_limits_that_were_changed_are_not_widened_again(api: ApiClient, manual: Storage, tmp_path: Path) -> None:
    path, token, other = tmp_path / "manual.backup", issued(manual, "wide"), issued(manual, "changed before")
    change_limits(other.token, TokenLimits(is_read_only=True), never_expires=True)
    back_up_storage(manual, path)
    change_limits(token.token, TokenLimits(["192.0.2.0/24"]), never_expires=True)
    assert restored_after(manual, path, with_tokens=True).disabled == 1
    assert [status(api, each.value) for each in (token, other)] == [401, 200]


def test_a_rotation_before_the_backup_changes_nothing(api: ApiClient, manual: Storage, tmp_path: Path) -> None:
    path, token = tmp_path / "manual.backup", issued(manual, "rotated")
    first = rotate_token(token.token, WEEK)
    end_old_value(first.token)
    second = rotate_token(first.token, WEEK)
    back_up_storage(manual, path)
    assert restored_after(manual, path, with_tokens=True).disabled == 0
    assert [status(api, each.value) for each in (token, first, second)] == [401, 200, 200]


def test_revoking_a_disabled_token_is_remembered(api: ApiClient, manual: Storage, tmp_path: Path) -> None:
    path, token = tmp_path / "manual.backup", issued(manual, "reader")
    back_up_storage(manual, path)
    restored = restored_after(manual, path)
    assert not revoke_token(ApiToken.objects.get(name="reader"))
    assert restored_after(restored.storage, path, with_tokens=True).disabled == 1
    assert status(api, token.value) == 401
    assert TokenRevocation.objects.count() == 1


def test_the_command_says_how_many_tokens_are_disabled(manual: Storage, tmp_path: Path) -> None:
    path = tmp_path / "manual.backup"
    first, _ = issued(manual, "one"), issued(manual, "two")
    back_up_storage(manual, path)

    def run(*options: str) -> list[str]:
        remove_storage(Storage.objects.get(key="manual"))
        err = StringIO()
        call_command("restore_storage", str(path), *options, stdout=StringIO(), stderr=err)
        return err.getvalue().splitlines()[-2:]

    told = run()
    assert told[0].endswith(" rows and 2 tokens restored.")
    assert told[1] == (
        "2 tokens are disabled: a restore keeps tokens only with --with-tokens. Issue new ones with manage.py issue_token."
    )
    assert run("--with-tokens")[-1].endswith(" rows and 2 tokens restored.")
    revoke_token(ApiToken.objects.get(pk=first.token.pk))
    assert run("--with-tokens")[1] == (
        "1 token is disabled: revoked, rotated or limited here after the backup. Issue new ones with manage.py issue_token."
    )
    with pytest.raises(CommandError, match="A copy at another address has no tokens"):
        call_command("restore_storage", str(path), "--as", "acme", "copy", "--with-tokens", stderr=StringIO())


def test_restored_tokens_keep_their_limits(api: ApiClient, manual: Storage, tmp_path: Path) -> None:
    limits = TokenLimits(["192.0.2.0/24"], is_read_only=True, operations=["getStorageInfo"])
    token = issue_token(storage_context(manual), "limited", [Role.VIEWER], limits=limits)
    TokenAddress.objects.create(
        token=token.token, network="192.0.2.7", is_refused=False, requests=1, first_on=NOW, last_on=NOW
    )
    path = tmp_path / "manual.backup"
    back_up_storage(manual, path)
    restored_after(manual, path, with_tokens=True)
    found = ApiToken.objects.get(name="limited")
    assert (found.networks, found.is_read_only, found.operations) == (["192.0.2.0/24"], True, ["getStorageInfo"])
    assert status(api, token.value) == 403
    assert not TokenAddress.objects.exists()
