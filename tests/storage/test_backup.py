"""Backup and restore of one storage: every row, the same responses, and nothing of other storages."""

from __future__ import annotations

import json
import stat
import zipfile
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import CharField
from django.utils import timezone
from psycopg.errors import AdminShutdown, DiskFull

from elements.models import Appearance, ElementChange
from elements.models.appearance import ONLY
from repository_site.core.problems import Conflict, Invalid
from storage.backup.account_labels import label_fields
from storage.backup.contents import kept_models
from storage.backup.restoring import check_backup, restore_storage
from storage.backup.writing import back_up_storage
from storage.models import (
    ApiToken,
    MailTime,
    Message,
    OutgoingMail,
    Recipient,
    StaffAccount,
    Storage,
    StorageCollection,
    StorageMembership,
    Subscription,
)
from storage.options import Role
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_models, tenant_scope
from tests.api_client import ApiClient
from tests.factories import StaffAccountFactory, StorageFactory, issued_token

pytestmark = [pytest.mark.django_db, pytest.mark.long]
# Triggers write these tables: new marks with every change, words by statement, and names and documents with new ids.
NEVER_THE_SAME = {
    "elements_contentmark", "elements_searchposting", "elements_searchword", "elements_structuremark",
}  # fmt: skip
LEFT_OUT = {"elements_versionname": ["storage_id", "id"], "elements_searchdocument": ["storage_id", "id"]}


def rows(storage: Storage) -> dict[str, list[Any]]:
    """Return all rows of a storage, without the id of the storage."""
    found = {}
    with tenant_scope(storage), connection.cursor() as cursor:
        for model in tenant_models():
            table = model._meta.db_table
            if table not in NEVER_THE_SAME:
                cursor.execute(
                    f'SELECT to_jsonb(t) - %s::text[] FROM "{table}" t ORDER BY 1',
                    [LEFT_OUT.get(table, ["storage_id"])],
                )
                found[table] = cursor.fetchall()
    return found


@pytest.fixture
def handbook(other_storage: Storage) -> Storage:
    storage = StorageFactory.create(
        collection="acme", key="manual", template="standard", title="Manual", description="Of ours", region="CH",
        time_zone="Europe/Zurich", anonymous="read", stuck_after_days=9,
    )  # fmt: skip
    storage.collection.title = "ACME"
    storage.collection.save()
    return storage


@pytest.fixture
def backup(handbook: Storage, tmp_path: Path) -> Path:
    issued_token(handbook, Role.EDITOR)
    path = tmp_path / "manual.backup"
    back_up_storage(handbook, path)
    return path


def described(storage: Storage) -> dict[str, Any]:
    fields: dict[str, Any] = {**Storage.objects.filter(pk=storage.pk).values().get()}
    del fields["collection_id"]  # removed with its last storage and created again
    cultures = list(storage.cultures.values_list("lcid", "position", "is_default", "is_mandatory"))
    return {**fields, "cultures": cultures, "collection": (storage.collection.key, storage.collection.title)}


def test_a_removed_storage_is_restored_completely(
    handbook: Storage, other_storage: Storage, tmp_path: Path, api: ApiClient
) -> None:
    value = issued_token(handbook, Role.EDITOR, Role.ADMINISTRATOR)
    account = StaffAccountFactory.create(username="anna")
    StorageMembership.objects.create(account=account, storage=handbook, roles=["editor"])
    ApiToken.objects.filter(storage=handbook).update(
        old_digest=b"\x01" * 32, rotated_on=timezone.now(), old_valid_until=timezone.now() + timedelta(days=7),
        old_last_used_on=timezone.now(), last_used_on=timezone.now(),
    )  # fmt: skip
    headers = {"authorization": f"Bearer {value}"}
    link = {"linkType": "ofOverview", "facetName": "processes"}
    with tenant_scope(handbook):
        Appearance.objects.create(
            id=ONLY, titles={"1033": "Manual"}, logo=b"\x00\\picture\n", changed_on=timezone.now()
        )
    api.post("/acme/manual/_api/v1/permalinks", link, "application/json", headers=headers)
    tokens = list(ApiToken.objects.filter(storage=handbook).values())
    before, words, others = rows(handbook), described(handbook), rows(other_storage)
    assert sum(map(len, before.values())) > 100
    asked = (
        "rest/info",
        "rest/facets",
        "rest/facets/processes/views/list/elements",
        "rest/facets/users/views/list/elements",
        "v1/permalinks",
    )

    def answers() -> list[Any]:
        return [api.get(f"/acme/manual/_api/{address}", headers=headers).json() for address in asked]

    told = answers()
    path = tmp_path / "manual.backup"
    contents = back_up_storage(handbook, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {name: table.rows for name, table in contents.tables.items()} == {
        name: len(found) for name, found in before.items() if name in {each._meta.db_table for each in kept_models()}
    }
    remove_storage(handbook)
    restored = restore_storage(path, with_tokens=True)
    assert (restored.tokens, restored.disabled, restored.left_out) == (1, 0, [])
    assert list(ApiToken.objects.filter(storage=restored.storage).values()) == tokens
    assert described(restored.storage) == words
    assert rows(restored.storage) == before
    assert answers() == told
    assert list(StorageMembership.objects.values_list("account", "storage", "roles")) == [
        (account.pk, restored.storage.pk, ["editor"])
    ]
    assert rows(other_storage) == others


def test_a_copy_beside_the_original_has_neither_its_id_nor_its_tokens(handbook: Storage, backup: Path) -> None:
    before = rows(handbook)
    restored = restore_storage(backup, ("acme", "manual-before"))
    assert str(restored.storage) == "acme/manual-before"
    assert restored.storage.id != handbook.id
    assert rows(restored.storage) == before == rows(handbook)
    assert ApiToken.objects.get().storage_id == handbook.pk


def test_missing_accounts_and_a_missing_base_are_reported(
    open_storage: Storage, storage: Storage, tmp_path: Path
) -> None:
    account = StaffAccountFactory.create(username="anna")
    StorageMembership.objects.create(account=account, storage=open_storage, roles=["editor", "viewer"])
    Storage.objects.filter(pk=open_storage.pk).update(base=storage)
    path = tmp_path / "file"
    back_up_storage(open_storage, path)
    remove_storage(open_storage)
    account.delete()
    base = storage.id
    remove_storage(storage)
    assert restore_storage(path).left_out == [
        f"The base storage {base} does not exist here; the storage is restored without it.",
        "The account 'anna' does not exist here; it had the roles editor, viewer.",
    ]


def test_a_restored_storage_mails_nothing_old(handbook: Storage, tmp_path: Path) -> None:
    """Accounts are found by name: their numbers may be those of others. What belongs to unknown ones is deleted."""
    anna, gone = (StaffAccountFactory.create(username=name) for name in ("anna", "gone"))
    for account in (anna, gone):
        StorageMembership.objects.create(account=account, storage=handbook, roles=["editor"])
    now = timezone.now()
    with tenant_scope(handbook):
        for key in (f"staff:{anna.pk}", f"staff:{gone.pk}", f"user:{uuid4()}"):
            recipient = Recipient.objects.create(key=key, preferences={"task": "never"})
            mail = OutgoingMail.objects.create(recipient=recipient, made_on=now, due_on=now)
            kept = {"recipient": recipient, "kind": "released", "made_on": now}
            Message.objects.create(**kept, cause=uuid4(), mail_time=MailTime.NOW, mail=mail)
            Message.objects.create(**kept, cause=uuid4(), mail_time=MailTime.DAILY)
            Subscription.objects.create(recipient=recipient, element_id=uuid4(), is_subtree=True, created_on=now)
    path = tmp_path / "manual.backup"
    back_up_storage(handbook, path)
    remove_storage(handbook)
    StaffAccount.objects.all().delete()
    # The numbers have changed, and somebody else has the number of anna.
    StaffAccountFactory.create(pk=anna.pk, username="other")
    new = StaffAccountFactory.create(username="anna")
    restored = restore_storage(path).storage
    with tenant_scope(restored):
        keys = sorted(Recipient.objects.values_list("key", flat=True))
        assert [keys[0], keys[1][:5], len(keys)] == [f"staff:{new.pk}", "user:", 2]
        assert (Message.objects.count(), Subscription.objects.count(), OutgoingMail.objects.count()) == (4, 2, 2)
        assert not OutgoingMail.objects.filter(failed_on=None).exists()
        assert not Message.objects.filter(mail=None).exclude(mail_time=MailTime.NEVER).exists()


def test_labels_of_accounts_follow_their_names(handbook: Storage, tmp_path: Path) -> None:
    """Numbers of accounts belong to an installation: elsewhere, a log must not name another person (D357)."""
    anna, gone = (StaffAccountFactory.create(username=name) for name in ("anna", "gone!"))
    deleted, now, comment = anna.pk + 1000, timezone.now(), f'"label": "staff:{anna.pk}"'
    with tenant_scope(handbook):
        recipient = Recipient.objects.create(key=f"user:{uuid4()}")
        for label in (f"staff:{anna.pk}", f"staff:{gone.pk}", f"staff:{deleted}", "token:1"):
            ElementChange.objects.create(
                element_id=uuid4(), version_id=uuid4(), action=ElementChange.Action.values[0], changed_on=now,
                caller_label=label, request_id="labels", before={}, after={"name": f"staff:{anna.pk}"},
            )  # fmt: skip
            Message.objects.create(
                recipient=recipient, kind="decided", cause=uuid4(), made_on=now, mail_time=MailTime.NEVER,
                data={"label": label, "comment": comment},
            )  # fmt: skip
    path = tmp_path / "manual.backup"
    back_up_storage(handbook, path)
    same = restore_storage(path, ("acme", "copy")).storage
    remove_storage(handbook)
    StaffAccount.objects.all().delete()
    StaffAccountFactory.create(pk=anna.pk, username="other")
    new = StaffAccountFactory.create(username="anna")
    expected = [f"staff:{new.pk}", "account:gone_", f"account:{deleted}", "token:1"]
    for storage, labels in (
        (same, [f"staff:{anna.pk}", f"staff:{gone.pk}", f"account:{deleted}", "token:1"]),
        (restore_storage(path).storage, expected),
    ):
        with tenant_scope(storage):
            changes = ElementChange.objects.filter(request_id="labels")
            assert sorted(each.caller_label for each in changes) == sorted(labels)
            assert {each.after["name"] for each in changes} == {f"staff:{anna.pk}"}
            texts = [(each.data["label"], each.data["comment"]) for each in Message.objects.all()]
            assert sorted(texts) == sorted((each, comment) for each in labels)


def test_every_field_with_a_label_is_known() -> None:
    named = {
        (model.__name__, field.name)
        for model in kept_models()
        for field in model._meta.concrete_fields
        if isinstance(field, CharField) and field.name.endswith(("_label", "_by"))
    }
    assert named == {(model.__name__, name) for model in kept_models() for name in label_fields(model)}
    assert ("Task", "requester_label") in named


def test_an_existing_storage_is_never_overwritten(handbook: Storage, backup: Path) -> None:
    before = rows(handbook)
    with pytest.raises(Conflict, match="A storage acme/manual, or one with the id"):
        restore_storage(backup)
    with pytest.raises(Conflict, match="rival/handbook"):
        restore_storage(backup, ("rival", "handbook"))
    with pytest.raises(Conflict, match="differ in more than case"):
        restore_storage(backup, ("ACME", "other"))
    with pytest.raises(Invalid, match=r"^The storage cannot be restored"):
        restore_storage(backup, ("acme", "no/good"))
    assert rows(handbook) == before
    assert Storage.objects.count() == 2


def changed(backup: Path, entry: str, change: Any) -> Path:
    """Return a copy of the backup with one entry changed."""
    path = backup.with_name("changed.backup")
    with zipfile.ZipFile(backup) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            new.writestr(name, change(text) if name == entry else text)
    return path


def contents_with(**changes: Any) -> Any:
    return lambda text: json.dumps({**json.loads(text), **changes}).encode()


def without_an_id(text: bytes) -> bytes:
    first, *others = text.splitlines(keepends=True)
    return b"".join([b"00000000-0000-4000-8000-000000000000" + first[36:], *others])


CASES: list[tuple[str, Any, str]] = [
    ("contents.json", contents_with(format=9), "has format 9; this release reads format 1"),
    (
        "contents.json",
        contents_with(migrations={"storage": ["0001_initial"]}),
        "the migrations storage 0001_initial; this database has elements 00",
    ),
    ("contents.json", contents_with(tables={}), "differ from those of this release"),
    ("contents.json", lambda text: b"[]", "contents cannot be read"),
    ("contents.json", lambda text: b"{", "contents cannot be read"),
    ("contents.json", lambda text: b"[" * 100_000 + b"]" * 100_000, "contents cannot be read"),
    ("facets_facet", lambda text: text.partition(b"\n")[2], "rows of facets_facet; expected"),
    ("facets_facet", without_an_id, "violate a constraint"),
    ("facets_facet", lambda text: b"nonsense\n" + text, "is damaged: "),
    ("contents.json", contents_with(cultures=[{"lcid": 1}]), "violate a constraint|is damaged: "),
    ("contents.json", contents_with(storage={}), "is damaged: 'title'"),
]


def test_a_damaged_or_foreign_file_changes_nothing(handbook: Storage, backup: Path, tmp_path: Path) -> None:
    for entry, change, text in CASES:
        with pytest.raises((Invalid, Conflict), match=text):
            restore_storage(changed(backup, entry, change), ("acme", "copy"))
    content = bytearray(backup.read_bytes())
    (tmp_path / "short").write_bytes(content[:-200])
    for offset in range(2000, 2400):
        content[offset] ^= 0xFF
    (tmp_path / "damaged").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("x", "y")
    for name, text in (
        ("short", "not a backup of a storage, or is incomplete"),
        ("damaged", "damaged: "),
        ("other.zip", "contents.json is missing"),
        ("nowhere", "cannot be read: No such file"),
    ):
        with pytest.raises(Invalid, match=text):
            restore_storage(tmp_path / name, ("acme", "copy"))
    assert Storage.objects.count() == 2


def storage_with(**changes: Any) -> Any:
    return lambda text: json.dumps({**(old := json.loads(text)), "storage": {**old["storage"], **changes}}).encode()


def test_invalid_settings_are_all_reported(handbook: Storage, backup: Path) -> None:
    def change(text: bytes) -> bytes:
        found = json.loads(text)
        found["storage"] |= {
            "key": 5, "title": "x" * 201, "region": "XX", "time_zone": "Mars/Olympus", "is_valid": "perhaps",
            "anonymous_access": "write", "token_in_query": 1, "stuck_after_days": True,
        }  # fmt: skip
        found["collection"] |= {"key": "admin", "title": None}
        found["cultures"][0]["lcid"] = 99
        found["tokens"][0]["roles"] = ["editor", "emperor"]
        found["memberships"] = [{"account": "anna", "roles": ["king"], "user": None}]
        return json.dumps(found).encode()

    with pytest.raises(Invalid) as caught:
        restore_storage(changed(backup, "contents.json", change))
    assert caught.value.details == (
        "collection: 'admin' is reserved",
        "storage: expected a text, not 5",
        "title: longer than 200 characters",
        "region: 'XX' is not a region; use a two-letter ISO 3166-1 code such as 'DE'",
        "time zone: 'Mars/Olympus' is not a time zone; use an IANA name such as 'Europe/Berlin'",
        "is_valid: expected true or false, not 'perhaps'",
        "anonymous access: expected one of none, read, not 'write'",
        "token_in_query: expected true or false, not 1",
        "stuck after: expected a whole number, not True",
        "collection title: expected a text, not None",
        "cultures: 99 is not a culture id; use for example 1031 (German) or 1033 (English)",
        "tokens[0]: unknown roles: emperor",
        "memberships[0]: unknown roles: king",
    )
    assert Storage.objects.count() == 2
    small = changed(backup, "contents.json", storage_with(region="ch"))
    assert restore_storage(small, ("acme", "copy")).storage.region == "CH"
    for wrong in (
        storage_with(base="x"), storage_with(created_on="soon"), storage_with(created_on="2026-01-01T00:00:00"),
    ):  # fmt: skip
        with pytest.raises(Invalid, match="is damaged"):
            restore_storage(changed(backup, "contents.json", wrong), ("acme", "copy-2"))


def test_checking_uses_an_address_that_no_storage_can_have(handbook: Storage, backup: Path) -> None:
    StorageFactory.create(collection="restore-check", key="restore-check", template="standard")
    restored = check_backup(backup)
    assert restored.rows > 100
    assert not Storage.objects.filter(pk=restored.storage.pk).exists()
    assert not StorageCollection.objects.filter(key=restored.storage.collection.key).exists()


@pytest.mark.long
def test_checking_includes_tokens_and_memberships(handbook: Storage, backup: Path) -> None:
    token = json.loads(zipfile.ZipFile(backup).read("contents.json"))["tokens"][0]
    for wrong in (
        {"id": "x"}, {"id": 1}, {"digest": "00"}, {"old_digest": "zz"}, {"name": None}, {"name": "x" * 5000}, {"user_id": "x"},
        {"valid_until": "soon"}, {"valid_from": None}, {"created_on": None},
    ):  # fmt: skip
        with pytest.raises(Invalid, match="is damaged"):
            check_backup(changed(backup, "contents.json", contents_with(tokens=[token | wrong])))
    timeless = token | {"valid_until": "2026-01-01T00:00:00"}
    with pytest.raises(Invalid, match="is damaged: '2026-01-01T00:00:00' has no time zone"):
        check_backup(changed(backup, "contents.json", contents_with(tokens=[timeless])))
    rotated = token | {"old_digest": "00" * 32}
    for twin in (
        token | {"id": str(uuid4())}, token | {"digest": "11" * 32},
        rotated | {"id": str(uuid4()), "digest": "11" * 32},
    ):  # fmt: skip
        with pytest.raises(Invalid, match="is damaged: a token occurs twice"):
            check_backup(changed(backup, "contents.json", contents_with(tokens=[rotated, twin])))
    someone = contents_with(memberships=[{"account": "anna", "roles": ["editor"], "user": "x"}])
    with pytest.raises(Invalid, match="is damaged"):
        check_backup(changed(backup, "contents.json", someone))


def test_a_full_disk_is_not_reported_as_damage(
    handbook: Storage, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(*given: Any) -> None:
        raise DiskFull("could not extend file: No space left on device")

    monkeypatch.setattr("psycopg.Copy.write", fill)
    with pytest.raises(CommandError, match=r"^database: could not extend file: No space left on device$"):
        call_command("restore_storage", str(backup), "--as", "acme", "copy")


def test_a_lost_database_connection_is_reported(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(copy: Any) -> None:
        raise AdminShutdown("terminating connection due to administrator command")

    monkeypatch.setattr("psycopg.Copy.__iter__", end)
    with pytest.raises(CommandError, match=r"^database: terminating connection"):
        call_command("backup_storage", "acme", "handbook", str(tmp_path / "file"))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written(storage: Storage, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="cannot be written: No such file or directory"):
        back_up_storage(storage, tmp_path / "no" / "folder")


def test_the_commands_back_up_and_restore(storage: Storage, tmp_path: Path) -> None:
    path, out, err = tmp_path / "file", StringIO(), StringIO()
    call_command("backup_storage", "acme", "handbook", str(path), stdout=out, stderr=err)
    assert err.getvalue().startswith("acme/handbook: ")
    call_command("restore_storage", str(path), "--check", stdout=out, stderr=err)
    assert "is complete" in err.getvalue().splitlines()[1]
    assert Storage.objects.count() == 2
    call_command("restore_storage", str(path), "--as", "acme", "copy", stdout=out, stderr=err)
    assert out.getvalue() == f"{Storage.objects.get(key='copy').id}\n"
    with pytest.raises(CommandError, match="Remove it first"):
        call_command("restore_storage", str(path), stdout=out, stderr=err)
    assert list(tmp_path.iterdir()) == [path]
