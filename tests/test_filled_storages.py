"""Filled storages are kept for the next module that uses them, and never in the way of another."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pytest_django.plugin import DjangoDbBlocker

from storage.models import Storage
from storage.provisioning.provision import remove_storage
from tests.filled_storages import NEXT_TEST, FilledStorages

pytestmark = pytest.mark.django_db


@pytest.fixture
def session() -> Any:
    """A session whose next module has a fixture with the key of the storage."""
    following = SimpleNamespace(path=Path("test_next.py"), fixturenames=["shelf", "filled_storage"])
    return SimpleNamespace(items=[following], stash={NEXT_TEST: following})


@pytest.fixture
def fill(session: Any, django_db_blocker: DjangoDbBlocker) -> FilledStorages:
    return FilledStorages(session, django_db_blocker)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines.ndjson"
    path.touch()
    return path


def test_the_next_module_gets_the_same_storage(fill: FilledStorages, lines: Path) -> None:
    with fill(lines, key="shelf") as first:
        first.title = "Changed"
    with fill(lines, key="shelf") as second:
        assert (second, second.title) == (first, "shelf")


@pytest.mark.parametrize("changed", ["field", "lines"])
def test_other_content_replaces_it(fill: FilledStorages, lines: Path, changed: str) -> None:
    with fill(lines, key="shelf") as first:
        pass
    lines.write_text("\n" if changed == "lines" else "")
    with fill(lines, key="shelf", **({"title": "Other"} if changed == "field" else {})) as second:
        assert list(Storage.objects.all()) == [second] != [first]


def test_it_is_filled_again_if_it_is_gone(fill: FilledStorages, lines: Path) -> None:
    with fill(lines, key="shelf") as first:
        pass
    remove_storage(first)
    with fill(lines, key="shelf") as second:
        assert list(Storage.objects.all()) == [second] != [first]


@pytest.mark.parametrize("following", [None, [], ["shelf"]])
def test_it_is_removed_if_the_next_module_does_not_use_it(
    fill: FilledStorages, session: Any, lines: Path, following: list[str] | None
) -> None:
    """A module may have a fixture of the same name that creates its own storage."""
    if following is None:
        session.stash[NEXT_TEST] = None
    else:
        session.stash[NEXT_TEST] = SimpleNamespace(path=Path("test_another.py"), fixturenames=following)
        session.items.append(session.stash[NEXT_TEST])
    with fill(lines, key="shelf"):
        assert Storage.objects.count() == 1
    assert Storage.objects.count() == 0
