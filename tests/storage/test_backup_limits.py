"""Backups that expand without end, and content over the limits of the installation, in `restore_storage`."""

from __future__ import annotations

import zipfile
from io import StringIO
from pathlib import Path

import psutil
import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from repository_site.core.problems import Invalid
from storage.backup import restoring
from storage.backup.restoring import read_contents, restore_storage
from storage.backup.writing import back_up_storage
from storage.models import Storage
from storage.provisioning.provision import remove_storage
from tests.api_client import ApiClient
from tests.elements.limited_desk import SYSTEMS, TREE, LimitedDesk, process, system
from tests.factories import StorageFactory

pytestmark = [pytest.mark.long, pytest.mark.django_db]
BLANKS = b" " * 1024 * 1024
MEGABYTE = 1024 * 1024


def bomb(path: Path, name: str, megabytes: int, others: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for other, content in others.items():
            archive.writestr(other, content)
        with archive.open(name, "w", force_zip64=True) as entry:
            for _ in range(megabytes):
                entry.write(BLANKS)
    return path


def test_contents_are_bounded(tmp_path: Path) -> None:
    file = bomb(tmp_path / "blank.backup", "contents.json", 600, {})
    before = psutil.Process().memory_info().rss
    with pytest.raises(Invalid, match=r"contents.json has more than 16,777,216 bytes"):
        restore_storage(file)
    assert psutil.Process().memory_info().rss - before < 100 * MEGABYTE
    with pytest.raises(Invalid, match="more than"):
        read_contents(file)


def test_lines_are_bounded(storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restoring, "MAX_LINE", 3 * MEGABYTE)
    whole = tmp_path / "whole.backup"
    back_up_storage(storage, whole)
    remove_storage(storage)
    with zipfile.ZipFile(whole) as archive:
        names = [each for each in archive.namelist() if each != "elements_element"]
        others = {name: archive.read(name) for name in names}
    file = bomb(tmp_path / "blank.backup", "elements_element", 10, others)
    with pytest.raises(Invalid, match=r"A row of elements_element is longer than 3,145,728 bytes"):
        restore_storage(file)


def test_content_over_limits(api: ApiClient, db: None, settings: Settings, tmp_path: Path) -> None:
    desk = LimitedDesk(StorageFactory.create(collection="acme", key="limited", template="standard"), api)
    [erp] = desk.make(SYSTEMS, system("ERP", "x" * 100))
    [root] = desk.make(TREE, process("root", related={"systems": [{"id": erp}] * 3}))
    [child] = desk.make(TREE, process("child", root))
    file = tmp_path / "over.backup"
    back_up_storage(desk.storage, file)
    remove_storage(desk.storage)
    settings.MAX_REFERENCES = settings.MAX_DEPTH = 1
    settings.MAX_CHILDREN, settings.ATTRIBUTE_BYTES = 0, 50
    with pytest.raises(Invalid) as caught:
        restore_storage(file)
    assert "--over-limits" in caught.value.message
    texts = [text.split(": ", 1)[1] for text in caught.value.details]
    assert texts == [
        "systems: 3 references; the installation allows 1 in a context",
        "1 children; the installation allows 0 for an element",
        "vendor[127]: 102 bytes; the installation allows 50 for an attribute in a culture",
        "the tree would have 2 levels here; the installation allows 1",
    ]
    assert not Storage.objects.exists()
    with pytest.raises(CommandError):
        call_command("restore_storage", str(file), stdout=StringIO(), stderr=StringIO())
    error = StringIO()
    call_command("restore_storage", str(file), "--over-limits", stdout=StringIO(), stderr=error)
    assert error.getvalue().count("over a limit of this installation: ") == 4
    desk.storage = Storage.objects.get()
    assert desk.counts()[0] == 4
    assert child in error.getvalue()
