"""Texts of files in the search (D446 to D449): who finds what, excerpts, and the life of a text."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from elements.models import SearchFile, SearchPosting, SearchWord, VersionFile
from elements.search.rebuilding import measure_search, rebuild_search
from storage.backup.restoring import restore_storage
from storage.backup.writing import back_up_storage
from storage.files import texts
from storage.files.cleaning import remove_unused_files
from storage.files.texts import note_missing_texts
from storage.housekeeping import forget_and_measure
from storage.models import FileText, Storage, StoredFile
from storage.options import Role
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.file_desk import FileDesk, keep_files_in
from tests.elements.handbook import ID, wire
from tests.elements.office import Office
from tests.factories import token_for
from tests.jobs import run_jobs, waiting_jobs
from tests.storage.text_samples import docx, pdf

pytestmark = pytest.mark.django_db
SEARCH = "/acme/handbook/_api/rest/search"
MANUAL = pdf("Das Getriebe wird geschmiert.", "Torque wrenches are calibrated & stored, see Kapitel 7.")
State = FileText.State


@pytest.fixture
def desk(handbook: Storage, api: ApiClient, settings: Settings, tmp_path: Path) -> FileDesk:
    return FileDesk(handbook, api, keep_files_in(settings, tmp_path / "files"))


def upload(desk: FileDesk, token: str, content: bytes, name: str) -> str:
    """Upload a file, and let the job read it."""
    id: str = desk.upload(token, content, name)["id"]
    assert run_jobs() == ["files.read_texts"]
    return id


def get(desk: FileDesk, text: str, token: str | None = None, storage: str = "handbook") -> Any:
    response = desk.api.get(f"/acme/{storage}/_api/rest/search?q={quote(text)}", token=token)
    assert response.status_code == 200, response.content
    return response.json()


def found(desk: FileDesk, text: str, token: str | None = None) -> list[str]:
    ids = {value: name for name, value in ID.items()}
    return [ids[each.get("versionId", each["id"])] for each in get(desk, text, token)["values"]]


def attach(desk: FileDesk, file: str, version: str, attribute: str = "images") -> None:
    with tenant_scope(desk.handbook):
        VersionFile.objects.create(version_id=ID[version], attribute=attribute, file_id=file)


def test_a_hit_shows_the_place_in_the_file(desk: FileDesk, architect: str) -> None:
    file = upload(desk, architect, MANUAL, "manual.pdf")
    assert get(desk, "getriebe", architect)["values"] == []
    assert desk.attach(architect, {"id": file}).status_code == 200
    (hit,) = get(desk, "calibrate wrench", architect)["values"]
    assert hit["versionId"] == wire("order-3")["versionId"]
    assert hit["excerpt"] == {
        "attribute": "images",
        "culture": 127,
        "text": "Torque <mark>wrenches</mark> are <mark>calibrated</mark> &amp; stored, see Kapitel 7.",
        "file": {"id": file, "name": "manual.pdf"},
    }


def test_words_of_files(desk: FileDesk, architect: str) -> None:
    desk.attach(architect, {"id": upload(desk, architect, MANUAL, "manual.pdf")})
    texts = (
        "getriebe", "getri", "geschmiert wrench", '"torque wrenches"', "torque-wren", "kapitel every",
        "torque -zeppelin", "every calibrated order", '"kapitel 7"', "torque -geschmiert",
    )  # fmt: skip
    assert {text: found(desk, text, architect) for text in texts} == {text: ["order-3"] for text in texts}
    # Words that are not there.
    for text in ("getriebe zeppelin", '"wrenches torque"', '"geschmiert torque"', "getriebe -every", "@getriebe x"):
        assert found(desk, text, architect) == [], text
    # Names are suggested, and words of elements.
    assert "suggestion" not in get(desk, "getreibe", architect)
    assert desk.api.get(f"{SEARCH}/suggestions?q=torque", token=architect).json()["values"] == []


def test_files_rank_after_texts_and_filters_ignore_them(desk: FileDesk, architect: str) -> None:
    desk.attach(architect, {"id": upload(desk, architect, docx("Everything about the crew and Zeppelin"), "a.docx")})
    assert found(desk, "crew", architect) == ["crew", "anna", "order-3"]
    address = "/acme/handbook/_api/rest/facets/processes/views/detail/elements?$filter=Contains(description,'zeppelin')"
    assert desk.api.get(address, token=architect).json()["elements"] == []


def test_viewers_find_files_of_what_they_see(desk: FileDesk, architect: str) -> None:
    file = upload(desk, architect, MANUAL, "manual.pdf")
    desk.attach(architect, {"id": file})
    viewers = (None, token_for(desk.handbook, Role.VIEWER))
    nothing = {"count": 0, "values": [], "facets": {}, "types": {}, "states": {}, "isComplete": True}
    assert [get(desk, "getriebe", token) for token in viewers] == [nothing, nothing]
    attach(desk, file, "order-2")
    assert [found(desk, "getriebe", token) for token in viewers] == [["order-2"], ["order-2"]]
    # An attribute that the caller does not see.
    with tenant_scope(desk.handbook):
        VersionFile.objects.update(attribute="secret")
    assert [get(desk, text, token) for token in viewers for text in ("getriebe", "getriebe invoice")] == [nothing] * 4
    rival = Storage.objects.get(collection__key="rival", key="handbook")
    with tenant_scope(rival):
        assert not SearchFile.objects.exists()
        assert not SearchWord.objects.filter(word__startswith="@").exists()


def test_a_text_that_arrives_later_changes_the_entity_tag(desk: FileDesk, architect: str) -> None:
    file = desk.upload(architect, MANUAL, "manual.pdf")["id"]
    desk.attach(architect, {"id": file})
    first = desk.api.get(f"{SEARCH}?q=getriebe", token=architect)
    assert first.json()["values"] == []
    run_jobs()
    again = desk.api.get(f"{SEARCH}?q=getriebe", token=architect, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.json()["count"]) == (200, 1)


def test_a_content_is_read_once(desk: FileDesk, architect: str, editor: str) -> None:
    upload(desk, architect, MANUAL, "manual.pdf")
    desk.upload(editor, MANUAL, "copy.pdf")
    desk.upload(architect, MANUAL, "manual.pdf")
    assert waiting_jobs() == []
    with tenant_scope(desk.handbook):
        assert FileText.objects.get().state == State.READ
        assert SearchPosting.objects.get(word="@getriebe").versions == [FileText.objects.get().id]


def test_a_removed_file_is_not_found(desk: FileDesk, architect: str) -> None:
    desk.attach(architect, {"id": upload(desk, architect, MANUAL, "manual.pdf")})
    desk.attach(architect)
    assert found(desk, "getriebe", architect) == []
    long_ago = timezone.now() - timedelta(days=8)
    with tenant_scope(desk.handbook):
        StoredFile.objects.update(uploaded_on=long_ago, unused_since=long_ago)
    assert remove_unused_files(desk.handbook) == 1
    with tenant_scope(desk.handbook):
        assert not FileText.objects.exists()
        assert not SearchFile.objects.exists()
    list(rebuild_search(desk.handbook))
    with tenant_scope(desk.handbook):
        assert not SearchPosting.objects.filter(word__startswith="@").exists()


@pytest.mark.long
@pytest.mark.on_cluster
def test_a_rebuild_writes_the_words_of_files(desk: FileDesk, architect: str) -> None:
    before = measure_search(desk.handbook)
    desk.attach(architect, {"id": upload(desk, architect, MANUAL, "manual.pdf")})
    size = measure_search(desk.handbook)
    assert size.attributes > before.attributes
    assert size.index > before.index
    with tenant_scope(desk.handbook):
        SearchFile.objects.update(words="\n nonsense \n")
        SearchPosting.objects.filter(word="@getriebe").delete()
    list(rebuild_search(desk.handbook))
    list(rebuild_search(desk.handbook))
    assert found(desk, "getriebe", architect) == ["order-3"]
    assert found(desk, '"torque wrenches"', architect) == ["order-3"]
    with tenant_scope(desk.handbook):
        assert SearchPosting.objects.filter(word__startswith="@").count() == 12


@pytest.mark.long
@pytest.mark.on_cluster
def test_files_without_a_row_are_noted_at_night(
    desk: FileDesk, architect: str, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    """Files from before this release, and those of a job that has failed."""
    desk.attach(architect, {"id": desk.upload(architect, MANUAL, "manual.pdf")["id"]})
    run_jobs()
    with tenant_scope(desk.handbook):
        FileText.objects.all().delete()
    with django_capture_on_commit_callbacks(execute=True):
        forget_and_measure(desk.handbook)
    assert run_jobs() == ["files.read_texts"]
    assert found(desk, "getriebe", architect) == ["order-3"]
    with django_capture_on_commit_callbacks(execute=True):
        forget_and_measure(desk.handbook)
    assert waiting_jobs() == []


@pytest.mark.long
@pytest.mark.on_cluster
def test_a_backup_has_the_texts(
    desk: FileDesk, architect: str, tmp_path: Path,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:  # fmt: skip
    desk.attach(architect, {"id": upload(desk, architect, MANUAL, "manual.pdf")})
    desk.upload(architect, b"never read", "later.txt")
    path = tmp_path / "handbook.backup"
    back_up_storage(desk.handbook, path)
    run_jobs()
    with django_capture_on_commit_callbacks(execute=True):
        copy = restore_storage(path, ("acme", "copy")).storage
    token = token_for(copy, Role.EDITOR)
    assert get(desk, "getriebe", token, "copy")["count"] == 1
    assert run_jobs() == ["files.read_texts"]
    with tenant_scope(copy):
        assert {*FileText.objects.values_list("state", flat=True)} == {State.READ}
    with django_capture_on_commit_callbacks(execute=True):
        remove_storage(copy)


def test_a_job_goes_on_after_a_problem(
    desk: FileDesk, architect: str, monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:  # fmt: skip
    digests = [desk.upload(architect, content, "a.txt")["sha256"] for content in (b"first", b"second", b"third")]
    (desk.folder / str(desk.handbook.pk) / digests[2][:2] / digests[2]).unlink()
    reading = texts.run_process

    def fail(content: Any) -> texts.ReadText:
        if content.name.endswith(digests[0]):
            raise texts.ProcessFailed("ended")
        return reading(content)

    monkeypatch.setattr(texts, "run_process", fail)
    with pytest.raises(texts.ProcessFailed):
        texts.read_texts(desk.handbook)
    with tenant_scope(desk.handbook):
        assert dict(FileText.objects.values_list("digest", "state")) == {
            digests[0]: State.WAITING, digests[1]: State.READ, digests[2]: State.UNREADABLE,
        }  # fmt: skip
    monkeypatch.undo()
    with django_capture_on_commit_callbacks(execute=True), tenant_scope(desk.handbook):
        note_missing_texts(desk.handbook)
    run_jobs()
    with tenant_scope(desk.handbook):
        assert FileText.objects.get(digest=digests[0]).text == "first"
        assert StoredFile.objects.count() == 3
    # The disk is back, or a newer release reads more.
    (desk.folder / str(desk.handbook.pk) / digests[2][:2] / digests[2]).write_bytes(b"third")
    with django_capture_on_commit_callbacks(execute=True):
        list(rebuild_search(desk.handbook))
    run_jobs()
    with tenant_scope(desk.handbook):
        assert FileText.objects.get(digest=digests[2]).text == "third"


@pytest.mark.long
@pytest.mark.on_cluster
def test_administrators_see_the_files(desk: FileDesk, architect: str) -> None:
    desk.attach(architect, {"id": upload(desk, architect, MANUAL, "manual.pdf")})
    upload(desk, architect, b"%PDF-1.7 damaged", "damaged.pdf")
    desk.upload(architect, b"later", "later.txt")
    office = Office(desk.handbook, Role.ADMINISTRATOR)
    listed = office.page("storage/storedfile/")
    for text in ("manual.pdf", "application/pdf", "Searchable", "Used", "Text cannot be read", "Not read yet"):
        assert text in listed
    chosen = office.page("storage/storedfile/?text=unreadable")
    assert "damaged.pdf" in chosen
    assert "manual.pdf" not in chosen
    assert "Text nicht lesbar" in Office(desk.handbook, Role.ADMINISTRATOR, language="de").page("storage/storedfile/")
    assert Office(desk.handbook, Role.ARCHITECT).get("storage/storedfile/").status_code == 403


def test_the_results_page_names_the_file(desk: FileDesk, architect: str) -> None:
    file = upload(desk, architect, docx("Everything <![CDATA[<about>]]> gearboxes"), "<gear>.docx")
    attach(desk, file, "order-2")
    page = desk.api.get("/acme/handbook/1033/search?q=gearbox").content.decode()
    assert "&lt;gear&gt;.docx: <span>Everything &lt;about&gt; <mark>gearboxes</mark></span>" in page


def test_messages_of_an_upload_in_the_language_of_the_page(desk: FileDesk, architect: str, settings: Settings) -> None:
    settings.FILE_LIMIT = 1000
    texts = [
        desk.post(architect, bytes(1001), "a", headers={"X-Page-Language": language}).json()["message"]
        for language in ("de", "en", "zz")
    ]
    assert texts[0] == "Die Datei ist größer als 1.000 Bytes, die Grenze der Installation."
    assert {*texts[1:]} == {"The file is larger than 1,000 bytes, the limit of the installation."}
