"""Files of a storage: upload, content, attributes and permissions (D450 to D453)."""

from __future__ import annotations

import errno
import hashlib
import resource
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from elements.models import ElementChange, VersionFile
from storage.files import contents as stored_contents
from storage.models import Storage, StoredFile
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.file_desk import FILES, OCTETS, PNG, FileDesk, contents, keep_files_in
from tests.elements.handbook import BASE, ID
from tests.factories import token_for
from tests.scale import first_quick

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(handbook: Storage, api: ApiClient, settings: Settings, tmp_path: Path) -> FileDesk:
    return FileDesk(handbook, api, keep_files_in(settings, tmp_path / "files"))


def test_upload_returns_the_file(desk: FileDesk, architect: str) -> None:
    response = desk.post(architect, PNG, "C:\\plans\\../Grundriß.png")
    digest = hashlib.sha256(PNG).hexdigest()
    (found,) = response.json()["values"]
    id, uploaded = found.pop("id"), found.pop("uploadedOn")
    assert uploaded.startswith("20")
    assert found == {
        "name": "Grundriß.png",
        "size": len(PNG),
        "mimeType": "image/png",
        "sha256": digest,
        "fullAddress": f"{BASE}/_api/rest/files/{id}",
    }
    assert contents(desk.folder) == [f"{desk.handbook.pk}/{digest[:2]}/{digest}"]


def test_form_and_body_are_the_same_file(desk: FileDesk, architect: str) -> None:
    by_body = desk.upload(architect, b"text", "a.txt")
    by_form = desk.post_form(architect, b"text", "a.txt", "text/plain", other="x").json()["values"][0]
    assert by_form["id"] == by_body["id"]
    assert by_form["mimeType"] == by_body["mimeType"] == "text/plain"


def test_same_content_is_stored_once_and_has_a_row_for_each_name_and_caller(
    desk: FileDesk, architect: str, editor: str
) -> None:
    first = desk.upload(architect)["id"]
    others = [desk.upload(editor)["id"], desk.upload(architect, name="copy.png")["id"]]
    assert desk.upload(architect)["id"] == first
    assert len({first, *others}) == 3
    assert len(contents(desk.folder)) == 1


@pytest.mark.parametrize(
    ("content", "name", "claimed", "found"),
    first_quick(
        [
            (PNG, "a.png", "", "image/png"),
            (PNG, "a", "image/png", "image/png"),
            (PNG, "a", "", "image/png"),
            (PNG, "a.html", "", OCTETS),
            (PNG, "a.png", "text/html", OCTETS),
            (PNG, "a.html", "image/png", OCTETS),
            (b"<script>alert(1)</script>", "a.png", "", OCTETS),
            (b"<script>alert(1)</script>", "a.txt", "text/plain", OCTETS),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "a.svg", "", "image/svg+xml"),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "a", "", OCTETS),
            (b"\xef\xbb\xbf <!doctype html>", "a.html", "", "text/html"),
            (b"plain", "a.txt", "", "text/plain"),
            (b"plain", "a.pdf", "", OCTETS),
            (b"a;b", "a.csv", "text/csv; charset=utf-8", "text/csv"),
            (b"plain \x00", "a.txt", "", OCTETS),
            (b"plain \xc3", "a.txt", "", OCTETS),
            (b"%PDF-1.7", "a.PDF", "application/pdf", "application/pdf"),
            (
                b"PK\x03\x04rest",
                "a.docx",
                "",
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            ),
            (b"PK\x03\x04rest", "a.jpg", "", OCTETS),
            (b"PK\x03\x04rest", "a.zip", "application/x-zip-compressed", "application/zip"),
            (b"a;b", "a.csv", "application/vnd.ms-excel", "text/csv"),
            (b"a;b", "a.xls", "application/vnd.ms-excel", OCTETS),
            (b"MZ\x90\x00", "a.exe", "application/x-msdownload", OCTETS),
            (b"", "a.txt", "", "text/plain"),
        ],
        9,
    ),
)
def test_type_counts_only_if_the_content_confirms_it(
    desk: FileDesk, architect: str, content: bytes, name: str, claimed: str, found: str
) -> None:
    assert desk.upload(architect, content, name, claimed or OCTETS)["mimeType"] == found


def test_content_has_headers_that_let_nothing_run(desk: FileDesk, architect: str) -> None:
    picture = desk.upload(architect, PNG, 'plan "ä".png')
    page = desk.upload(architect, b"<html><script>alert(1)</script>", "page.html")
    shown, downloaded = desk.get(architect, picture["id"]), desk.get(architect, page["id"])
    assert (shown.content, downloaded.content) == (PNG, b"<html><script>alert(1)</script>")
    policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
    for response, type, name in (
        (shown, "image/png", "inline; filename*=utf-8''plan%20%22%C3%A4%22.png"),
        (downloaded, "text/html", 'attachment; filename="page.html"'),
    ):
        assert response["Content-Security-Policy"] == policy
        assert response["X-Content-Type-Options"] == "nosniff"
        assert (response["Content-Type"], response["Content-Disposition"]) == (type, name)
        assert response["Cache-Control"] == "private, no-cache"
        assert response["Accept-Ranges"] == "bytes"


@pytest.mark.parametrize(
    ("wanted", "part", "place"),
    [
        ("bytes=0-3", b"0123", "bytes 0-3/10"),
        ("bytes=7-", b"789", "bytes 7-9/10"),
        ("bytes=-2", b"89", "bytes 8-9/10"),
        ("bytes=-99", b"0123456789", "bytes 0-9/10"),
        ("bytes=4-99", b"456789", "bytes 4-9/10"),
    ],
)
def test_ranges(desk: FileDesk, architect: str, wanted: str, part: bytes, place: str) -> None:
    id = desk.upload(architect, b"0123456789", "a.txt")["id"]
    response = desk.get(architect, id, Range=wanted)
    assert (response.status_code, response.content, response["Content-Range"]) == (206, part, place)
    assert response["Content-Length"] == str(len(part))


@pytest.mark.parametrize("wanted", ["bytes=0-1,4-5", "lines=1-2", "bytes=-", "bytes=5-4", "bytes=a-b"])
def test_other_ranges_get_everything(desk: FileDesk, architect: str, wanted: str) -> None:
    id = desk.upload(architect, b"0123456789", "a.txt")["id"]
    response = desk.get(architect, id, Range=wanted)
    assert (response.status_code, response.content) == (200, b"0123456789")


@pytest.mark.parametrize("wanted", ["bytes=10-", "bytes=99-100", "bytes=-0"])
def test_range_after_the_end(desk: FileDesk, architect: str, wanted: str) -> None:
    id = desk.upload(architect, b"0123456789", "a.txt")["id"]
    response = desk.get(architect, id, Range=wanted)
    assert (response.status_code, response["Content-Range"]) == (416, "bytes */10")
    assert response.json()["message"] == "Range: the file has 10 bytes; the range begins after its end."


def test_entity_tags(desk: FileDesk, architect: str) -> None:
    id = desk.upload(architect, b"0123456789", "a.txt")["id"]
    tag = f'"{hashlib.sha256(b"0123456789").hexdigest()}"'
    assert desk.get(architect, id)["ETag"] == tag
    assert desk.get(architect, id, **{"If-None-Match": f'"x", W/{tag}'}).status_code == 304
    assert desk.get(architect, id, **{"If-None-Match": '"x"'}).status_code == 200
    assert desk.get(architect, id, Range="bytes=0-0", **{"If-Range": tag}).status_code == 206
    assert desk.get(architect, id, Range="bytes=0-0", **{"If-Range": '"x"'}).status_code == 200
    head = desk.api.head(f"{FILES}/{id}", token=architect)
    assert (head.content, head["Content-Length"], head["ETag"]) == (b"", "10", tag)


def test_large_files_are_streamed(desk: FileDesk, architect: str) -> None:
    content = bytes(range(256)) * 2048
    id = desk.upload(architect, content, "a.bin")["id"]
    response = desk.get(architect, id)
    assert (response.content, response.was_streamed) == (content, True)
    part = desk.get(architect, id, Range="bytes=100-400000")
    assert (part.status_code, part.content) == (206, content[100:400001])


@pytest.mark.parametrize("size", [2_000, 600_000])
def test_files_are_not_compressed(desk: FileDesk, architect: str, size: int) -> None:
    content = b'["' + b"x" * size + b'"]'
    id = desk.upload(architect, content, "a.json")["id"]
    response = desk.get(architect, id, **{"Accept-Encoding": "gzip"})
    assert (response["Content-Type"], response.content) == ("application/json", content)
    assert (response["Content-Length"], "Content-Encoding" in response) == (str(len(content)), False)


def test_attached_file_is_read_with_name_size_and_address(desk: FileDesk, architect: str) -> None:
    file = desk.upload(architect)
    (changed,) = desk.attach(architect, {"id": file["id"]}).json()["elements"]
    expected = {
        "address": file["id"],
        "fullAddress": file["fullAddress"],
        "mimeType": "image/png",
        "protocol": "repository",
        "size": len(PNG),
        "title": "plan.png",
    }
    assert changed["attributes"]["images"]["127"] == desk.images(architect) == [expected]
    with tenant_scope(desk.handbook):
        assert VersionFile.objects.filter(file=file["id"], attribute="images").count() == 1
        entries = ElementChange.objects.count()
    # The value as it was read, with wrong facts about the file, or without the new field, changes nothing.
    lie = {**expected, "mimeType": "text/html", "size": 1, "fullAddress": "https://elsewhere.example/"}
    for same in (expected, lie, {key: expected[key] for key in expected if key != "size"}, {"id": file["id"]}):
        assert desk.attach(architect, same).status_code == 200
        assert desk.images(architect) == [expected]
    with tenant_scope(desk.handbook):
        assert ElementChange.objects.exclude(after={}).count() == entries


def test_title_can_differ_from_the_name(desk: FileDesk, architect: str) -> None:
    file = desk.upload(architect)
    desk.attach(architect, {"id": file["id"].upper(), "title": "Ground floor"})
    assert [each["title"] for each in desk.images(architect)] == ["Ground floor"]
    desk.attach(architect, {"address": file["id"], "protocol": "repository", "title": "First floor"})
    assert [each["title"] for each in desk.images(architect)] == ["First floor"]


def test_links_and_files_side_by_side(desk: FileDesk, architect: str) -> None:
    file, link = desk.upload(architect), {"address": "x-1", "fullAddress": "https://docs.example/x", "title": "X"}
    desk.attach(architect, link, {"id": file["id"]})
    assert [each["title"] for each in desk.images(architect)] == ["X", "plan.png"]
    desk.attach(architect, link)
    assert desk.images(architect) == [link]
    with tenant_scope(desk.handbook):
        assert not VersionFile.objects.exists()


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ({"id": "x"}, "a file of this storage needs its id, which the upload of the file returns"),
        ({"id": 3}, "a file of this storage needs its id, which the upload of the file returns"),
        ({"protocol": "repository"}, "a file of this storage needs its id, which the upload of the file returns"),
        ({"id": ID["order"], "size": "3"}, "must contain files with an address; all fields except size must be text"),
        ({"id": ID["order"], "title": 3}, "must contain files with an address; all fields except size must be text"),
        ({"id": ID["order"]}, f"there is no file {ID['order']} in this storage; upload it first"),
    ],
)
def test_wrong_files_are_refused(desk: FileDesk, architect: str, item: dict[str, Any], text: str) -> None:
    before = desk.images(architect)
    response = desk.attach(architect, item)
    assert response.status_code == 422
    assert text in response.json()["data"][0]["error"]
    assert desk.images(architect) == before


def test_file_of_another_storage_cannot_be_reached(desk: FileDesk, architect: str) -> None:
    rival = Storage.objects.get(collection__key="rival", key="handbook")
    admin = token_for(rival, Role.ADMINISTRATOR)
    id = desk.upload(architect)["id"]
    there = f"/rival/handbook/_api/rest/files/{id}"
    assert desk.api.get(there, token=admin).status_code == 404
    assert desk.api.get(f"{FILES}/{id}", token=admin).status_code == 401


def test_only_uploader_and_administrators_read_a_file_that_no_version_has(desk: FileDesk, architect: str) -> None:
    id = desk.upload(architect)["id"]
    for role, status in ((Role.ADMINISTRATOR, 200), (Role.ARCHITECT, 404), (Role.EDITOR, 404), (Role.VIEWER, 404)):
        assert desk.get(token_for(desk.handbook, role), id).status_code == status, role
    assert (desk.get(None, id).status_code, desk.get(architect, id).status_code) == (404, 200)
    other = token_for(desk.handbook, Role.ARCHITECT)
    assert desk.attach(other, {"id": id}).status_code == 422


def test_viewers_read_files_of_published_versions_only(desk: FileDesk, architect: str, editor: str) -> None:
    draft, published = desk.upload(architect)["id"], desk.upload(architect, b"%PDF-", "plan.pdf")["id"]
    desk.attach(architect, {"id": draft})
    with tenant_scope(desk.handbook):
        VersionFile.objects.create(version_id=ID["order-2"], attribute="images", file_id=published)
        VersionFile.objects.create(version_id=ID["order-1"], attribute="images", file_id=draft)
    viewer = token_for(desk.handbook, Role.VIEWER)
    for caller, statuses in ((viewer, (404, 200)), (None, (404, 200)), (editor, (200, 200))):
        assert (desk.get(caller, draft).status_code, desk.get(caller, published).status_code) == statuses
    with tenant_scope(desk.handbook):
        # An attribute that the type does not show.
        VersionFile.objects.filter(file_id=published).update(attribute="secret")
    assert desk.get(viewer, published).status_code == 404


def test_new_version_has_the_files_of_the_old_one(desk: FileDesk, architect: str) -> None:
    from elements.writing.attachments import copy_files

    id = desk.upload(architect)["id"]
    desk.attach(architect, {"id": id})
    with tenant_scope(desk.handbook):
        copy_files([(ID["order-3"], ID["order-2"])], ["other"])
        assert VersionFile.objects.filter(file=id).count() == 2
        copy_files([(ID["order-3"], ID["order-1"])], ["images"])
        assert VersionFile.objects.filter(file=id).count() == 2


def test_viewers_read_the_file_after_the_release(desk: FileDesk) -> None:
    admin, viewer = token_for(desk.handbook, Role.ADMINISTRATOR), token_for(desk.handbook, Role.VIEWER)
    id = desk.upload(admin)["id"]
    desk.attach(admin, {"id": id})
    assert desk.get(viewer, id).status_code == 404
    release = f"/acme/handbook/_api/release/{ID['order']}"
    step = f"{release}/transitions/InProcessToReleased?ignoreWarnings=true"
    assert desk.api.post(step, content_type="application/json", token=admin).status_code == 200
    assert desk.get(viewer, id).content == PNG
    # The next draft has the same file; without it, the published version still has it.
    assert desk.api.post(f"{release}/createversion", content_type="application/json", token=admin).status_code == 200
    with tenant_scope(desk.handbook):
        drafts = VersionFile.objects.filter(file=id).exclude(version_id=UUID(ID["order-3"]))
        assert drafts.count() == 1
    assert desk.get(viewer, id).status_code == 200


def test_deleting_a_draft_lets_its_files_go(desk: FileDesk) -> None:
    admin = token_for(desk.handbook, Role.ADMINISTRATOR)
    desk.attach(admin, {"id": desk.upload(admin)["id"]})
    address = f"/acme/handbook/_api/rest/facets/processes/views/detail/elements/{ID['order-3']}"
    assert desk.api.delete(address, token=admin).status_code == 200
    with tenant_scope(desk.handbook):
        assert (VersionFile.objects.count(), StoredFile.objects.count()) == (0, 1)


def test_uploads_need_a_permission_before_their_body_is_read(desk: FileDesk) -> None:
    viewer = token_for(desk.handbook, Role.VIEWER)
    assert desk.post(viewer, PNG, "a.png").status_code == 403
    assert desk.post(None, PNG, "a.png").status_code == 401
    assert desk.post("wrong", PNG, "a.png").status_code == 401
    assert contents(desk.folder) == []


def test_too_large(desk: FileDesk, architect: str, settings: Settings) -> None:
    settings.FILE_LIMIT = 100
    assert desk.post(architect, bytes(100), "a").status_code == 200
    before = contents(desk.folder)
    text = "The file is larger than 100 bytes, the limit of the installation."
    for response in (
        desk.post(architect, bytes(101), "a"),
        desk.post(architect, bytes(100_000), "a"),
        desk.post_form(architect, bytes(101), "a"),
        desk.post_form(architect, bytes(100_000), "a"),
    ):
        assert (response.status_code, response.json()["message"]) == (413, text)
    assert contents(desk.folder) == before


def test_body_limit_does_not_apply(desk: FileDesk, architect: str, settings: Settings) -> None:
    settings.BODY_LIMIT = 10
    assert desk.upload(architect, bytes(1000), "a")["size"] == 1000


@pytest.mark.parametrize(
    ("body", "type", "text"),
    [
        (b"x", "multipart/form-data", "The form cannot be read: Invalid boundary in multipart: None"),
        (b"--x\r\n\r\n", "multipart/form-data; boundary=x", "The form ends before its last boundary"),
        (b"--x--\r\n", "multipart/form-data; boundary=x", "The form has no file."),
        (
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nabc',
            "multipart/form-data; boundary=x",
            "The form ends before its last boundary; nothing was stored. Send the file again.",
        ),
        (
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nabc\r\n'
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="b.txt"\r\n\r\nabc\r\n--x--\r\n',
            "multipart/form-data; boundary=x",
            "The form has several files 'file'.",
        ),
    ],
)
def test_bad_forms(desk: FileDesk, architect: str, body: bytes, type: str, text: str) -> None:
    response = desk.post(architect, body, type=type)
    assert response.status_code == 400
    assert text in response.json()["message"]
    assert contents(desk.folder) == []


@pytest.mark.parametrize("name", ["", "..", "a/", "  ", "\u202e"])
def test_name_is_required(desk: FileDesk, architect: str, name: str) -> None:
    response = desk.post(architect, b"x", name)
    text = "name: a file needs a name, such as ?name=plan.pdf, or the filename of a form."
    assert (response.status_code, response.json()["message"]) == (422, text)
    assert contents(desk.folder) == []


def test_full_disk(desk: FileDesk, architect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any, **more: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for place in ("os.fsync", "tempfile.NamedTemporaryFile"):
        with monkeypatch.context() as patch:
            patch.setattr(f"storage.files.contents.{place}", fail)
            response = desk.post(architect, PNG, "a.png")
        assert (response.status_code, response["Retry-After"]) == (503, "30")
        assert response.json()["message"] == stored_contents.NO_ROOM
        assert contents(desk.folder) == []


@pytest.mark.parametrize("form", [False, True])
def test_disk_that_becomes_full(desk: FileDesk, architect: str, form: bool) -> None:
    """The limit of the process stands for the disk: the second piece is written in part, and nothing after it."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
    try:
        send = desk.post_form if form else desk.post
        response = send(architect, bytes(400_000), "a.bin")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (response.status_code, response.json()["message"]) == (503, stored_contents.NO_ROOM)
    assert contents(desk.folder) == []


def test_missing_content_is_reported(desk: FileDesk, architect: str) -> None:
    id = desk.upload(architect)["id"]
    (content,) = contents(desk.folder)
    (desk.folder / content).unlink()
    response = desk.get(architect, id)
    assert (response.status_code, response.json()["message"]) == (404, stored_contents.LOST)


def test_idempotency_key(desk: FileDesk, architect: str) -> None:
    headers = {"Idempotency-Key": str(uuid4())}
    first = desk.post(architect, PNG, "a.png", headers=headers)
    again = desk.post(architect, PNG, "a.png", headers=headers)
    assert first.content == again.content
    assert desk.post(architect, b"other", "a.png", headers=headers).status_code == 422


@pytest.mark.long
@pytest.mark.on_cluster
def test_statements_do_not_depend_on_the_number_of_files(desk: FileDesk, architect: str) -> None:
    def counts() -> list[int]:
        found = []
        for act in (lambda: desk.get(architect, file["id"]), lambda: desk.upload(architect)):
            with CaptureQueriesContext(connection) as captured:
                act()
            found.append(len(captured))
        return found

    file = desk.upload(architect)
    desk.attach(architect, {"id": file["id"]})
    before = counts()
    many = [{"id": desk.upload(architect, name=f"{each}.png")["id"]} for each in range(10)]
    with CaptureQueriesContext(connection) as one:
        desk.attach(architect, {"id": file["id"]}, many[0])
    with CaptureQueriesContext(connection) as several:
        desk.attach(architect, {"id": file["id"]}, *many)
    assert len(several) == len(one)
    assert counts() == before


def test_unknown_ids(desk: FileDesk, architect: str) -> None:
    assert desk.get(architect, "x").status_code == 400
    assert desk.get(architect, str(uuid4())).status_code == 404
