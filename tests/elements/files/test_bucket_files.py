"""Contents of files in a bucket, against a server that speaks the protocol of S3 (D455)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import boto3
import pytest
from django.utils import timezone
from moto.server import ThreadedMotoServer
from pytest_django import Settings

from repository_site.core.environment import values
from repository_site.operations.doctor import CHECKS, examine
from repository_site.operations.doctor.findings import Level, Look
from storage.backup.restoring import restore_storage
from storage.backup.writing import back_up_storage
from storage.files import contents
from storage.files.cleaning import remove_unused_files
from storage.models import Storage, StoredFile
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.file_desk import PNG, FileDesk

pytestmark = pytest.mark.django_db
Keys = Callable[[], list[str]]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def keep_files_at(settings: Settings, address: str) -> None:
    settings.FILES_BUCKET = values.bucket(address)
    bucket = {"BACKEND": "storage.files.bucket.BucketStorage", "OPTIONS": settings.FILES_BUCKET}
    settings.STORAGES = {**settings.STORAGES, "files": bucket}


@pytest.fixture
def keys(endpoint: str, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keys]:
    """Keep contents in a bucket, and return a function that lists the keys in it."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    found = boto3.resource("s3", endpoint_url=endpoint, region_name="us-east-1").Bucket("contents")
    found.create()
    settings.FILES_DIR = tmp_path
    keep_files_at(settings, f"s3://contents/own?endpoint={endpoint}&region=us-east-1")
    yield lambda: sorted(each.key for each in found.objects.all())
    found.objects.all().delete()


@pytest.fixture
def desk(handbook: Storage, api: ApiClient, keys: Keys, tmp_path: Path) -> FileDesk:
    return FileDesk(handbook, api, tmp_path)


def test_contents_in_a_bucket(desk: FileDesk, architect: str, editor: str, keys: Keys) -> None:
    file = desk.upload(architect)
    assert desk.upload(editor)["sha256"] == file["sha256"]
    assert keys() == [f"own/{desk.handbook.pk}/{file['sha256'][:2]}/{file['sha256']}"]
    assert desk.get(architect, file["id"]).content == PNG
    empty = desk.upload(architect, b"", "empty.txt")["id"]
    assert desk.get(architect, empty).content == b""
    assert list((desk.folder / "incoming").iterdir()) == []


@pytest.mark.long
def test_parts_of_contents_in_a_bucket(
    desk: FileDesk, architect: str, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing reads more of a content than it needs."""
    monkeypatch.delattr("storages.backends.s3.S3File.file")
    content = os.urandom(600_000)
    id = desk.upload(architect, content, "large.bin")["id"]
    assert desk.get(architect, id).content == content
    for start, end in ((100_000, 499_999), (5, 9), (599_999, 599_999)):
        part = desk.get(architect, id, Range=f"bytes={start}-{end}")
        assert (part.status_code, part.content) == (206, content[start : end + 1])


@pytest.mark.long
def test_life_of_contents_in_a_bucket(desk: FileDesk, architect: str, keys: Keys, tmp_path: Path) -> None:
    desk.upload(architect)
    back_up_storage(desk.handbook, tmp_path / "backup")
    copy = restore_storage(tmp_path / "backup", ("acme", "copy")).storage
    assert len(keys()) == 2
    long_ago = timezone.now() - timedelta(days=8)
    with tenant_scope(desk.handbook):
        StoredFile.objects.update(uploaded_on=long_ago, unused_since=long_ago)
    assert remove_unused_files(desk.handbook) == 1
    assert [key.split("/")[1] for key in keys()] == [str(copy.pk)]
    contents.remove_contents(copy.pk)
    assert keys() == []


@pytest.mark.long
def test_bucket_that_answers(keys: Keys) -> None:
    (finding,) = examine(Look(), [each for each in CHECKS if each.name == "files"])
    assert (finding.level, finding.text) == (Level.OK, "the bucket contents answers")


@pytest.mark.long
def test_lost_content(desk: FileDesk, architect: str, keys: Keys) -> None:
    file = desk.upload(architect)
    contents.delete_content(desk.handbook.pk, file["sha256"])
    response = desk.get(architect, file["id"])
    assert (response.status_code, response.json()["message"]) == (404, contents.LOST)


@pytest.mark.long
@pytest.mark.parametrize(
    "bucket", ["s3://missing?endpoint={}&region=us-east-1", "s3://contents?endpoint=http://127.0.0.1:1"]
)
def test_unavailable_bucket(desk: FileDesk, architect: str, settings: Settings, endpoint: str, bucket: str) -> None:
    id = desk.upload(architect)["id"]
    keep_files_at(settings, bucket.format(endpoint))
    response = desk.post(architect, PNG, "plan.png")
    assert (response.status_code, response.json()["message"]) == (503, contents.UNAVAILABLE)
    (finding,) = examine(Look(), [each for each in CHECKS if each.name == "files"])
    assert (finding.level, "cannot be used" in finding.text) == (Level.ERROR, True)
    # A missing bucket has no contents; one that does not answer may have them.
    assert desk.get(architect, id).status_code == (404 if "missing" in bucket else 503)


@pytest.mark.parametrize("text", ["contents", "s3://", "https://contents", "s3://contents?secret=x", "s3://contents#x"])
def test_wrong_addresses_of_buckets(text: str) -> None:
    with pytest.raises(ValueError, match="expected s3://bucket/folder"):
        values.bucket(text)


def test_bucket_without_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert values.bucket("") == {}
    monkeypatch.setattr("repository_site.core.environment.values.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"install them"):
        values.bucket("s3://contents")
