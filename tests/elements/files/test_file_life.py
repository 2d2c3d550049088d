"""Files after their upload: removal, sizes, quotas, backup and transfer (D454)."""

from __future__ import annotations

import io
import json
import os
import time
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from elements.models import VersionFile
from elements.transfer.importing import import_elements
from repository_site.core.problems import Invalid
from storage.backup.restoring import check_backup, restore_storage
from storage.backup.writing import back_up_storage
from storage.files.cleaning import discard_content, remove_unused_files
from storage.files.contents import INCOMING
from storage.models import Storage, StoredFile
from storage.options import Role
from storage.provisioning.provision import remove_storage
from storage.provisioning.sizes import measure_storage
from storage.quotas import read_use
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.file_desk import PNG, FileDesk, contents, keep_files_in
from tests.elements.handbook import ID, TEMPLATE
from tests.elements.transfer_files import run
from tests.factories import StorageFactory, token_for

pytestmark = pytest.mark.django_db
LATER = timedelta(days=7, minutes=1)


@pytest.fixture
def desk(handbook: Storage, api: ApiClient, settings: Settings, tmp_path: Path) -> FileDesk:
    return FileDesk(handbook, api, keep_files_in(settings, tmp_path / "files"))


def age(storage: Storage, *names: str, by: timedelta = LATER) -> None:
    with tenant_scope(storage):
        before = timezone.now() - by
        StoredFile.objects.filter(name__in=names).update(uploaded_on=before, unused_since=before)


def names_in(storage: Storage) -> list[str]:
    with tenant_scope(storage):
        return sorted(StoredFile.objects.values_list("name", flat=True))


def test_unused_files_are_removed_after_a_week(desk: FileDesk, architect: str, editor: str) -> None:
    used = desk.upload(architect, PNG, "used.png")["id"]
    desk.attach(architect, {"id": used})
    desk.upload(editor, PNG, "same content.png")
    desk.upload(architect, b"old", "old.txt")
    desk.upload(architect, b"young", "young.txt")
    age(desk.handbook, "used.png", "same content.png", "old.txt")
    assert len(contents(desk.folder)) == 3
    assert remove_unused_files(desk.handbook) == 2
    assert names_in(desk.handbook) == ["used.png", "young.txt"]
    assert len(contents(desk.folder)) == 2
    assert desk.get(architect, used).content == PNG
    # Removed from the attribute, it stays for another week.
    desk.attach(architect)
    assert remove_unused_files(desk.handbook) == 0
    assert desk.get(architect, used).content == PNG
    age(desk.handbook, "used.png", by=LATER - timedelta(hours=1))
    assert remove_unused_files(desk.handbook) == 0
    age(desk.handbook, "used.png")
    assert remove_unused_files(desk.handbook) == 1
    assert (names_in(desk.handbook), len(contents(desk.folder))) == (["young.txt"], 1)


def test_another_upload_keeps_a_file(desk: FileDesk, architect: str) -> None:
    desk.upload(architect)
    age(desk.handbook, "plan.png")
    desk.upload(architect)
    assert remove_unused_files(desk.handbook) == 0


def test_another_use_keeps_a_file(desk: FileDesk, architect: str) -> None:
    id = desk.upload(architect)["id"]
    age(desk.handbook, "plan.png")
    desk.attach(architect, {"id": id})
    desk.attach(architect)
    assert remove_unused_files(desk.handbook) == 0


def test_leftovers_are_removed(desk: FileDesk, architect: str) -> None:
    desk.upload(architect)
    (content,) = contents(desk.folder)
    orphan = desk.folder / str(desk.handbook.pk) / "ab" / f"ab{'0' * 62}"
    young = desk.folder / str(desk.handbook.pk) / "ab" / f"ab{'1' * 62}"
    abandoned, arriving = desk.folder / INCOMING / "old", desk.folder / INCOMING / "new"
    orphan.parent.mkdir(exist_ok=True)
    for path in (orphan, young, abandoned, arriving):
        path.write_bytes(b"x")
    week, day = time.time() - 8 * 86400, time.time() - 25 * 3600
    os.utime(orphan, (week, week))
    os.utime(desk.folder / content, (week, week))
    os.utime(abandoned, (day, day))
    remove_unused_files(desk.handbook)
    kept = [content, str(young.relative_to(desk.folder)), str(arriving.relative_to(desk.folder))]
    assert contents(desk.folder) == sorted(kept)


def test_removed_storage_has_no_contents(
    desk: FileDesk, architect: str, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    desk.upload(architect)
    before = contents(desk.folder)
    gone = StorageFactory.create(key="gone")
    token = token_for(gone, Role.ARCHITECT)
    address = "/acme/gone/_api/rest/files?name=plan.png"
    assert desk.api.post(address, PNG, content_type="image/png", token=token).status_code == 200
    folder = desk.folder / str(gone.pk)
    assert folder.exists()
    with django_capture_on_commit_callbacks(execute=True):
        remove_storage(gone)
    assert contents(desk.folder) == before
    assert not folder.exists()


def test_storage_that_is_removed_during_an_upload(desk: FileDesk, architect: str) -> None:
    """Its folder was removed before the content came, and no job looks into it again."""
    digest = desk.upload(architect)["sha256"]
    remove_storage(Storage.objects.get(pk=desk.handbook.pk))
    discard_content(desk.handbook, digest)
    assert contents(desk.folder) == []


def test_contents_count_once_in_the_size_of_a_storage(desk: FileDesk, architect: str, editor: str) -> None:
    before = measure_storage(desk.handbook).bytes
    desk.upload(architect, bytes(100_000), "a")
    desk.upload(editor, bytes(100_000), "a")
    after = measure_storage(desk.handbook).bytes
    assert 100_000 < after - before < 102_000


def test_quota(desk: FileDesk, architect: str) -> None:
    size = measure_storage(desk.handbook)
    Storage.objects.filter(pk=desk.handbook.pk).update(quota_bytes=size.bytes + 1000)
    desk.upload(architect, bytes(600), "a")
    desk.upload(architect, bytes(600), "same content")
    refused = desk.post(architect, bytes(601), "b")
    assert refused.status_code == 422
    assert refused.json()["message"] == "The quota of the storage is used up; nothing was changed."
    assert names_in(desk.handbook) == ["a", "same content"]
    # The refused content does not stay on the disk; one that a file has does, whatever fails.
    assert len(contents(desk.folder)) == 1
    discard_content(desk.handbook, desk.upload(architect, bytes(600), "a")["sha256"])
    assert len(contents(desk.folder)) == 1
    desk.handbook.refresh_from_db()
    age(desk.handbook, "a", "same content")
    remove_unused_files(desk.handbook)
    assert read_use([desk.handbook])[desk.handbook.pk]["bytes"] == size.bytes
    assert desk.post(architect, bytes(601), "b").status_code == 200


def test_backup_has_the_contents(desk: FileDesk, architect: str, tmp_path: Path) -> None:
    id = desk.upload(architect)["id"]
    desk.attach(architect, {"id": id})
    path = tmp_path / "handbook.backup"
    assert back_up_storage(desk.handbook, path).missing_files == []
    before = contents(desk.folder)
    check_backup(path)
    assert contents(desk.folder) == before
    copy = restore_storage(path, ("acme", "copy")).storage
    assert contents(desk.folder) == sorted([*before, before[0].replace(str(desk.handbook.pk), str(copy.pk))])
    with tenant_scope(copy):
        assert VersionFile.objects.filter(file=id).count() == 1


@pytest.mark.long
@pytest.mark.on_cluster
def test_damaged_contents_are_not_restored(desk: FileDesk, architect: str, tmp_path: Path) -> None:
    digest = desk.upload(architect)["sha256"]
    path, forged = tmp_path / "handbook.backup", tmp_path / "forged.backup"
    back_up_storage(desk.handbook, path)
    before = contents(desk.folder)
    for content in (PNG[:-1], PNG + b"x", b"y" * len(PNG)):
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(forged, "w") as new:
            for entry in old.namelist():
                new.writestr(entry, content if entry == f"files/{digest}" else old.read(entry))
        with pytest.raises(Invalid, match="is damaged: its size or its digest differs"):
            restore_storage(forged, ("acme", "copy"))
        assert contents(desk.folder) == before


@pytest.mark.long
@pytest.mark.on_cluster
def test_failed_restore_keeps_contents_that_were_there(desk: FileDesk, architect: str, tmp_path: Path) -> None:
    """The database was lost, the folder was not, and the backup is damaged."""
    damaged = sorted(desk.upload(architect, text, "a.txt")["sha256"] for text in (b"one", b"two", b"three"))[-1]
    path, forged = tmp_path / "handbook.backup", tmp_path / "forged.backup"
    back_up_storage(desk.handbook, path)
    before = contents(desk.folder)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(forged, "w") as new:
        for entry in old.namelist():
            new.writestr(entry, b"x" if entry == f"files/{damaged}" else old.read(entry))
    # The first one is new in the folder, the second one was there.
    (desk.folder / before[0]).unlink()
    remove_storage(Storage.objects.get(pk=desk.handbook.pk))
    with pytest.raises(Invalid, match="is damaged"):
        restore_storage(forged)
    assert contents(desk.folder) == before[1:]


@pytest.mark.long
@pytest.mark.on_cluster
def test_forged_digest_leads_nowhere(desk: FileDesk, architect: str, tmp_path: Path) -> None:
    digest = desk.upload(architect)["sha256"]
    path, forged = tmp_path / "handbook.backup", tmp_path / "forged.backup"
    back_up_storage(desk.handbook, path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(forged, "w") as new:
        for entry in old.namelist():
            name = entry.replace(digest, "../../../x")
            new.writestr(name, old.read(entry).replace(digest.encode(), b"../../../x"))
    with pytest.raises(Invalid):
        restore_storage(forged, ("acme", "copy"))


@pytest.mark.long
@pytest.mark.on_cluster
def test_missing_contents_are_reported(desk: FileDesk, architect: str, tmp_path: Path) -> None:
    desk.upload(architect)
    (desk.folder / contents(desk.folder)[0]).unlink()
    path = tmp_path / "handbook.backup"
    _, said = run("backup_storage", "acme", "handbook", str(path))
    assert "The contents of 1 files are missing" in said
    restored = restore_storage(path, ("acme", "copy"))
    assert restored.left_out == ["The backup does not have the contents of 1 files; upload them again."]


@pytest.fixture
def copy(tmp_path: Path) -> Storage:
    template = tmp_path / "template.json"
    template.write_text(json.dumps(TEMPLATE), encoding="utf-8")
    return StorageFactory.create(key="copy", template=str(template), time_zone="Europe/Berlin")


def test_transfer_with_files(desk: FileDesk, architect: str, copy: Storage, tmp_path: Path) -> None:
    id = desk.upload(architect)["id"]
    desk.upload(architect, b"unused", "unused.txt")
    desk.attach(architect, {"id": id})
    lines, archive, again = tmp_path / "lines.ndjson", tmp_path / "files.zip", tmp_path / "again.ndjson"
    _, said = run("export_storage", "acme", "handbook", str(lines))
    assert "Their 1 files are not exported. To export them, use --files ZIP." in said
    _, said = run("export_storage", "acme", "handbook", str(lines), "--files", str(archive))
    assert f"1 files exported to {archive}." in said
    with pytest.raises(Exception, match="1 problem"):
        run("import_storage", "acme", "copy", str(lines))
    run("import_storage", "acme", "copy", str(lines), "--files", str(archive), "--dry-run")
    assert names_in(copy) == []
    run("import_storage", "acme", "copy", str(lines), "--files", str(archive))
    assert names_in(copy) == ["plan.png"]
    with tenant_scope(copy):
        assert VersionFile.objects.filter(file=id, attribute="images").count() == 1
    run("export_storage", "acme", "copy", str(again))
    assert again.read_bytes() == lines.read_bytes()


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ({"id": "x"}, "a file of this storage needs its id"),
        ({"protocol": "repository"}, "a file of this storage needs its id"),
        ({"protocol": "repository", "address": "x"}, "a file of this storage needs its id"),
        ({"id": ID["order"]}, "needs mimeType and size, as export_storage writes them"),
        ({"id": ID["order"], "size": 1, "mimeType": ""}, "there is no file"),
    ],
)
def test_bad_files_in_lines(
    desk: FileDesk, architect: str, copy: Storage, tmp_path: Path, item: dict[str, Any], text: str
) -> None:
    desk.attach(architect, {"id": desk.upload(architect)["id"]})
    lines = tmp_path / "lines.ndjson"
    run("export_storage", "acme", "handbook", str(lines))
    documents = [json.loads(each) for each in lines.read_text(encoding="utf-8").splitlines()]
    for document in documents:
        images = document["attributes"].get("images", {}).get("127", [])
        images[:] = [item if each.get("protocol") == "repository" else each for each in images]
    lines.write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    with pytest.raises(Invalid) as found:
        import_elements(copy, str(lines))
    assert any(text in each for each in found.value.details), found.value.details


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (b"{}", "expected an object with id, name, mimeType, size, sha256"),
        (b'{"id":"x","name":"a","mimeType":"","size":1,"sha256":"x"}', "id must be a GUID"),
        (
            b'{"id":"00000000-0000-4000-8000-000000000001","name":"a","mimeType":"","size":1,"sha256":"%s"}'
            % (b"0" * 64),
            "the archive does not have the content",
        ),
        (
            b'{"id":"00000000-0000-4000-8000-000000000001","name":"a","mimeType":"","size":-1,"sha256":"%s"}'
            % (b"0" * 64),
            "size must be a number of bytes",
        ),
        (b"\n{", "files.zip, files.ndjson, line 2: The line is not JSON"),
    ],
)
def test_bad_archives(desk: FileDesk, copy: Storage, tmp_path: Path, index: bytes, text: str) -> None:
    archive, lines = tmp_path / "files.zip", tmp_path / "lines.ndjson"
    lines.write_bytes(b"")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        made.writestr("files.ndjson", index)
    archive.write_bytes(packed.getvalue())
    with pytest.raises(Exception, match=text):
        run("import_storage", "acme", "copy", str(lines), "--files", str(archive))
    archive.write_bytes(b"not a zip")
    with pytest.raises(Exception, match="is not an archive of files"):
        run("import_storage", "acme", "copy", str(lines), "--files", str(archive))
