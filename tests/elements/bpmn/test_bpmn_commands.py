"""`manage.py import_bpmn` and `export_bpmn`: files and folders, one summary, and refused files by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import pytest
from django.core.management import CommandError

from elements.bpmn.document.reading import read
from elements.management.commands import export_bpmn as export_command
from elements.management.commands import import_bpmn as import_command
from elements.models import BpmnSource, Shape
from repository_site.core.problems import NotFound
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.elements.bpmn.conftest import DRAFT, HOUSE_PARENT, RELEASED, BpmnClient
from tests.elements.bpmn.documents import SMALL, definitions
from tests.elements.bpmn.generated import CULTURES, ENGLISH
from tests.elements.bpmn.omg_schema import unordered
from tests.elements.transfer_files import run

pytestmark = pytest.mark.django_db

Children = Callable[[], list[str]]
DEMO = ("demo", "showcase")


def bring_in(*words: object) -> str:
    return run("import_bpmn", *DEMO, *map(str, words))[1]


def take_out(*words: object) -> str:
    return run("export_bpmn", *DEMO, *map(str, words))[1]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.bpmn"
    path.write_text(SMALL)
    return path


@pytest.fixture
def children(client_of_bpmn: BpmnClient) -> Children:
    def names() -> list[str]:
        address = f"/demo/showcase/_api/rest/facets/processes/views/tree/elements/{HOUSE_PARENT}/children"
        response = client_of_bpmn.api.get(address, token=client_of_bpmn.token)
        assert response.status_code == 200, response.json()
        return [each["attributes"]["name"]["1033"] for each in response.json()["elements"]]

    return names


def test_file_replaces_the_diagram_of_an_element(client_of_bpmn: BpmnClient, small: Path) -> None:
    removed = len(client_of_bpmn.content())
    planned = bring_in(small, "--element", DRAFT, "--dry-run")
    assert len(client_of_bpmn.content()) == removed
    done = bring_in(small, "--element", DRAFT)
    assert planned == done.replace("imported", "would be imported")
    assert [each["attributes"]["name"]["1033"] for each in client_of_bpmn.content()] == [
        "Need", "Check stock", "Enough?", "Order", "Done",
    ]  # fmt: skip
    again = bring_in(small, "--element", DRAFT)
    assert again == "1 files imported: 0 added, 0 changed, 0 removed, 10 unchanged, 3 kept, 0 lost.\n"


def test_export_of_one_element_is_a_file(client_of_bpmn: BpmnClient, small: Path, tmp_path: Path) -> None:
    bring_in(small, "--element", DRAFT)
    path = tmp_path / "out.bpmn"
    assert take_out(path, "--element", DRAFT).endswith(f"1 diagrams exported to {path}.\n")
    assert path.read_bytes() == client_of_bpmn.take_out()
    before, after = read(SMALL.encode(), CULTURES, ENGLISH), read(path.read_bytes(), CULTURES, ENGLISH)
    assert unordered(after.model) == unordered(before.model)


def test_export_of_a_storage_is_a_folder(client_of_bpmn: BpmnClient, tmp_path: Path) -> None:
    folder = tmp_path / "all"
    text = take_out(folder, "--lcid", "de")
    files = sorted(folder.iterdir())
    assert text.endswith(f"{len(files)} diagrams exported to {folder}.\n")
    assert len(files) > 1
    for each in files:
        assert each.read_bytes() == client_of_bpmn.take_out(each.stem, lcid=1031)


def test_each_file_of_a_folder_becomes_a_process(
    client_of_bpmn: BpmnClient, tmp_path: Path, children: Children
) -> None:
    before = children()
    (tmp_path / "below").mkdir()
    (tmp_path / "one.bpmn").write_text(SMALL)
    (tmp_path / "below" / "two.XML").write_text(SMALL.replace("Order parts", "Order tools"))
    (tmp_path / "below" / "nameless.bpmn2").write_text(SMALL.replace(' name="Order parts"', ""))
    (tmp_path / "note.txt").write_text("not a model")
    total = "45 added, 3 changed, 0 removed, 0 unchanged, 9 kept, 0 lost.\n"
    assert bring_in(tmp_path, "--below", HOUSE_PARENT, "--dry-run") == f"3 files would be imported: {total}"
    assert children() == before
    assert bring_in(tmp_path, "--below", HOUSE_PARENT) == f"3 files imported: {total}"
    assert children() == [*before, "nameless", "Order tools", "Order parts"]
    again = bring_in(tmp_path, "--below", HOUSE_PARENT)
    assert again == "3 files imported: 0 added, 0 changed, 0 removed, 30 unchanged, 9 kept, 0 lost.\n"
    assert children() == [*before, "nameless", "Order tools", "Order parts"]


def test_dry_run_of_a_new_process_counts_the_diagrams_that_call_it(
    client_of_bpmn: BpmnClient, tmp_path: Path, children: Children
) -> None:
    client_of_bpmn.bring_in(definitions('<process id="P"><callActivity id="Call" calledElement="Billing"/></process>'))
    before, drawn = children(), client_of_bpmn.content()
    path = tmp_path / "billing.bpmn"
    path.write_text(definitions('<process id="Billing" name="Billing"><task id="T"/></process>'))
    total = "2 added, 2 changed, 0 removed, 0 unchanged, 0 kept, 0 lost.\n"
    assert bring_in(path, "--below", HOUSE_PARENT, "--dry-run") == f"1 files would be imported: {total}"
    assert (children(), client_of_bpmn.content()) == (before, drawn)
    assert bring_in(path, "--below", HOUSE_PARENT) == f"1 files imported: {total}"
    assert children() == [*before, "Billing"]


def test_files_of_a_folder_that_call_each_other_are_connected(client_of_bpmn: BpmnClient, tmp_path: Path) -> None:
    calls = {"a": "c", "b": "a", "c": "", "d": "e", "e": "d"}
    for name, called in calls.items():
        inner = f'<callActivity id="Call" calledElement="x:{called}"/>' if called else '<task id="T"/>'
        process = f'<process id="{name}" name="Model {name}">{inner}</process>'
        (tmp_path / f"{name}.bpmn").write_text(definitions(process, ' xmlns:x="urn:example"'))
    (tmp_path / "wrong.bpmn").write_bytes(b"\xff")
    with pytest.raises(CommandError, match="1 of 6 files"):
        bring_in(tmp_path, "--below", HOUSE_PARENT)
    with tenant_scope(Storage.objects.get(collection__key="demo", key="showcase")):
        found = {
            source.processes[0]: [shape.element.type.key for shape in Shape.objects.filter(version=source.version_id)]
            for source in BpmnSource.objects.all()
        }
    linked = ["subProcess"]
    assert found == {"a": linked, "b": linked, "c": ["task"], "d": linked, "e": linked}


def test_wrong_file_is_named_and_the_others_are_imported(
    client_of_bpmn: BpmnClient, tmp_path: Path, children: Children
) -> None:
    before = children()
    (tmp_path / "a.bpmn").write_text("<a>")
    (tmp_path / "b.bpmn").write_text(SMALL)
    (tmp_path / "c.bpmn").write_text(definitions(""))
    with pytest.raises(CommandError, match="2 of 3 files were refused; nothing of them was imported"):
        bring_in(tmp_path, "--below", HOUSE_PARENT)
    assert children() == [*before, "Order parts"]


@pytest.mark.parametrize("module", [import_command, export_command])
def test_progress_is_shown(
    client_of_bpmn: BpmnClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType
) -> None:
    shown: list[tuple[str, int]] = []

    def with_progress(items: Iterable[object], label: str, total: int) -> Iterable[object]:
        shown.append((label, total))
        return items

    monkeypatch.setattr(module, "with_progress", with_progress)
    for name in "ab":
        (tmp_path / f"{name}.bpmn").write_text(SMALL)
    if module is import_command:
        bring_in(tmp_path, "--below", HOUSE_PARENT)
        assert shown == [("Importing", 2)]
    else:
        take_out(tmp_path)
        assert shown == [("Exporting", len([*tmp_path.glob("*-*.bpmn")]))]


WRONG: list[tuple[list[str], str]] = [
    (["--element", DRAFT], "--element needs one file"),
    (["--below", RELEASED, "--type", "role"], "1 of 1 files were refused"),
    (["--below", "nothing"], "1 of 1 files were refused"),
    (["--element", DRAFT, "--lcid", "fr"], "1036 is not a culture of this storage; it has"),
]


def test_wrong_arguments_are_explained(client_of_bpmn: BpmnClient, small: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CommandError, match="has no files"):
        bring_in(tmp_path / "empty", "--below", HOUSE_PARENT)
    with pytest.raises((CommandError, NotFound), match="There is no file or folder"):
        bring_in(tmp_path / "missing", "--below", HOUSE_PARENT)
    for words, text in WRONG[1:]:
        with pytest.raises(CommandError, match=text):
            bring_in(small, *words)
    (tmp_path / "second.bpmn").write_text(SMALL)
    with pytest.raises(CommandError, match=WRONG[0][1]):
        bring_in(tmp_path, *WRONG[0][0])
    with pytest.raises(CommandError, match="cannot be written"):
        take_out(small)


def test_released_version_is_not_changed(client_of_bpmn: BpmnClient, small: Path) -> None:
    before = client_of_bpmn.content(RELEASED)
    with pytest.raises(CommandError, match="1 of 1 files were refused"):
        bring_in(small, "--element", RELEASED)
    assert client_of_bpmn.content(RELEASED) == before
