"""Webhooks by `manage.py`, after a restore, with other keys, and when their storage is removed (D360 to D363)."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from repository_site.core.problems import Conflict
from repository_site.core.sealing import Unsealable, seal, unseal
from storage.backup.restoring import restore_storage
from storage.backup.writing import back_up_storage
from storage.models import Storage, Webhook, WebhookAttempt, WebhookDelivery
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_scope
from storage.webhooks.changing import change_webhook, create_webhook, rotate_secret
from storage.webhooks.credentials import active_secrets, sent_headers
from storage.webhooks.deliveries import send_test
from storage.webhooks.disabling import COPIED, UNREADABLE
from tests.jobs import waiting_jobs

pytestmark = pytest.mark.django_db
URL = "https://93.184.216.34/hook"
AUTHORIZED = {"url": URL, "headers": {"X-Key": "one"}, "basicAuthentication": {"username": "me", "password": "pass"}}


def run(command: str, *arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command(command, *arguments, stdout=out, stderr=err)
    return out.getvalue().strip(), err.getvalue().strip()


@pytest.fixture
def webhook(storage: Storage) -> Webhook:
    """A webhook with a message and an attempt."""
    with tenant_scope(storage):
        made = create_webhook(storage, "setup", AUTHORIZED).webhook
        delivery = send_test(storage, made.pk)
        WebhookAttempt.objects.create(delivery=delivery, time=timezone.now(), status=500, milliseconds=1)
    return made


def read(storage: Storage) -> Webhook:
    with tenant_scope(storage):
        return Webhook.objects.get()


def test_sealed_texts_open_with_the_same_key_and_purpose_only(settings: Any) -> None:
    sealed = seal("secret", "one")
    assert "secret" not in sealed
    assert unseal(sealed, "one") == "secret"
    with pytest.raises(Unsealable):
        unseal(sealed, "two")
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another" * 10, [settings.SECRET_KEY]
    assert unseal(sealed, "one") == "secret"
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(Unsealable):
        unseal(sealed, "one")


def test_a_webhook_by_commands(storage: Storage, tmp_path: Path) -> None:
    file, headers = tmp_path / "password", tmp_path / "headers"
    file.write_text("pass\n", encoding="utf-8")
    headers.write_text("X-Token: a:b\n\nX-Team: docs\n", encoding="utf-8")
    secret, told = run(
        "add_webhook", "acme", "handbook", URL, "--event", "version.released", "--event", "element.created",
        "--header", "X-Key: one", "--header-file", str(headers), "--user", "me", "--password-file", str(file), "--payload", "element",
    )  # fmt: skip
    made = read(storage)
    assert told == f"Webhook {made.pk} for acme/handbook; its secret is not shown again:"
    assert active_secrets(made, timezone.now()) == [secret]
    assert sent_headers(made) == {
        "X-Key": "one", "X-Token": "a:b", "X-Team": "docs", "Authorization": "Basic bWU6cGFzcw=="
    }  # fmt: skip
    listed, _ = run("list_webhooks", "acme", "handbook")
    assert listed.splitlines()[1].split() == [
        str(made.pk), URL, "element.created,version.released", "enabled", "0", "0"
    ]  # fmt: skip
    [document] = json.loads(run("list_webhooks", "acme", "handbook", "--json")[0])
    assert document == {
        "id": str(made.pk),
        "url": URL,
        "events": ["element.created", "version.released"],
        "payload": "element",
        "headers": {"X-Key": None, "X-Token": None, "X-Team": None},
        "basicAuthentication": {"username": "me"},
        "isEnabled": True,
        "createdOn": document["createdOn"],
        "createdBy": "command",
        "changedOn": document["createdOn"],
        "changedBy": "command",
        "waiting": 0,
        "deadLetters": 0,
    }
    assert run("remove_webhook", "acme", "handbook", str(made.pk)) == (
        "", f"The webhook {made.pk} of acme/handbook is deleted."
    )  # fmt: skip
    assert run("list_webhooks", "acme", "handbook") == (
        "", "There are no webhooks. Add one: manage.py add_webhook acme handbook https://example.org/hook"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("add_webhook", "acme", "handbook", "ftp://x", "--event", "a"), "The webhook is not valid. url: "),
        (("add_webhook", "acme", "handbook", URL, "--header", "X"), "Error: argument --header: 'X': expected a name"),
        (("add_webhook", "acme", "handbook", URL, "--password-file", "none"), "none cannot be read: No such file"),
        (("remove_webhook", "acme", "handbook", "5"), "There is no webhook 5."),
    ],
)
def test_problems_of_commands(storage: Storage, arguments: tuple[str, ...], problem: str) -> None:
    with pytest.raises(CommandError) as raised:
        run(*arguments)
    assert str(raised.value).startswith(problem)


def test_problems_of_a_file_do_not_show_its_lines(storage: Storage, tmp_path: Path) -> None:
    headers = tmp_path / "headers"
    headers.write_text("X-Team: docs\ns3cret\n", encoding="utf-8")
    with pytest.raises(CommandError) as raised:
        run("add_webhook", "acme", "handbook", URL, "--header-file", str(headers))
    assert str(raised.value) == f"{headers}, line 2: expected a name, a colon and a value."


def restored(storage: Storage, path: Path, **options: Any) -> Storage:
    back_up_storage(storage, path)
    if "address" not in options:
        remove_storage(storage)
    return restore_storage(path, **options).storage


def test_a_restored_webhook_goes_on(storage: Storage, webhook: Webhook, tmp_path: Path) -> None:
    again = restored(storage, tmp_path / "backup")
    assert vars(read(again)) | {"_state": None} == vars(webhook) | {"_state": None, "position": webhook.position}
    with tenant_scope(again):
        assert (WebhookDelivery.objects.count(), WebhookAttempt.objects.count()) == (1, 1)
    assert sorted(name for name, _ in waiting_jobs()) == ["webhooks.deliver", "webhooks.fan_out"]


def test_a_webhook_is_disabled_where_its_secrets_cannot_be_read(
    storage: Storage, webhook: Webhook, tmp_path: Path, settings: Any
) -> None:
    back_up_storage(storage, tmp_path / "backup")
    remove_storage(storage)
    settings.SECRET_KEY = "another" * 10
    again = restore_storage(tmp_path / "backup").storage
    assert (read(again).is_enabled, read(again).disabled_reason) == (False, UNREADABLE)
    assert waiting_jobs() == []
    with tenant_scope(again):
        issued = rotate_secret(again, "me", webhook.pk)
        with pytest.raises(Conflict, match="cannot read the secrets"):
            change_webhook(again, "me", webhook.pk, {"isEnabled": True})
        change_webhook(again, "me", webhook.pk, {**AUTHORIZED, "isEnabled": True})
    assert active_secrets(read(again), timezone.now()) == [issued.secret]
    assert (read(again).is_enabled, read(again).disabled_reason) == (True, "")


def test_a_copy_sends_nothing(storage: Storage, webhook: Webhook, tmp_path: Path) -> None:
    copy = restored(storage, tmp_path / "backup", address=("acme", "copy"))
    assert (read(copy).is_enabled, read(copy).disabled_reason) == (False, COPIED)
    assert (read(storage).is_enabled, read(storage).disabled_reason) == (True, "")


def test_webhooks_are_removed_with_their_storage(storage: Storage, other_storage: Storage, webhook: Webhook) -> None:
    with tenant_scope(other_storage):
        create_webhook(other_storage, "setup", {"url": URL})
    remove_storage(storage)
    assert read(other_storage).url == URL
    assert {args["storage"] for _, args in waiting_jobs()} == {str(other_storage.pk)}
