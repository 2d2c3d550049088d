"""Storages with elements for tests that roll back: created outside any test's transaction and kept between modules.

Creating one takes half a second, and most modules of a folder use the same one. A storage stays if the next module of
the process uses a fixture with the name of its key, such as `handbook`, and is used again if its content is the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils.functional import cached_property
from pytest_django.plugin import DjangoDbBlocker

from elements.transfer.importing import import_elements
from storage.files.contents import remove_contents
from storage.models import Storage
from storage.provisioning.provision import is_unused, remove_storage
from tests.databases import Deleting, delete_storage
from tests.factories import StorageFactory

NOTHING = Path(os.devnull)
"""The file of a storage without elements."""
NEXT_TEST = pytest.StashKey[pytest.Item | None]()
"""The test that the process runs after the current one."""


class FilledStorages:
    """Creates storages from a file of elements and the fields of a StorageRequest."""

    def __init__(self, session: pytest.Session, database: DjangoDbBlocker) -> None:
        self._session, self._database = session, database
        self._kept: list[tuple[str, Storage]] = []
        """Storages that no module uses at present, each with its content."""

    @contextmanager
    def __call__(self, lines: Path, **fields: Any) -> Iterator[Storage]:
        content = _content(lines, fields)
        with self._database.unblock():
            storage = self._take(content) or self._create(lines, fields)
        try:
            yield storage
        finally:
            self._kept.append((content, storage))
            with self._database.unblock():
                self._remove(lambda kept: not self._is_needed(kept.key))

    def _take(self, content: str) -> Storage | None:
        for kept in self._kept:
            if kept[0] == content:
                self._kept.remove(kept)
                # Read again: a test may have changed the object, or truncated all tables.
                return Storage.objects.select_related("collection").filter(pk=kept[1].pk).first()
        return None

    def _create(self, lines: Path, fields: dict[str, Any]) -> Storage:
        self._remove(lambda kept: kept.key == fields["key"])
        storage = StorageFactory.create(**fields)
        try:
            import_elements(storage, str(lines))
        except BaseException:
            remove_storage(storage)
            raise
        return storage

    def _remove(self, is_old: Callable[[Storage], bool]) -> None:
        old = [kept for kept in self._kept if is_old(kept[1])]
        self._kept = [kept for kept in self._kept if kept not in old]
        for _, storage in old:
            if Storage.objects.filter(pk=storage.pk).exists():
                _remove_quickly(storage)

    def _is_needed(self, name: str) -> bool:
        """Return whether the next module has a fixture of this name, and fills storages."""
        following = self._session.stash.get(NEXT_TEST, None)
        return following is not None and (following.path, name) in self._uses

    @cached_property
    def _uses(self) -> set[tuple[Path, str]]:
        found = ((item.path, getattr(item, "fixturenames", ())) for item in self._session.items)
        return {(path, name) for path, names in found if "filled_storage" in names for name in names}


def _remove_quickly(storage: Storage) -> None:
    """Delete the rows as a superuser, which takes a tenth of the time. Inside of a test's transaction, nobody else sees
    the rows."""
    if Deleting.superuser is None or connection.in_atomic_block:
        remove_storage(storage)
        return
    delete_storage(Deleting.superuser, storage.pk)
    with connection.cursor() as cursor:
        # As `remove_storage` does: plans that were made while tables were small would read all dead rows of later ones.
        cursor.execute("DISCARD PLANS")
    remove_contents(storage.pk)
    if is_unused(storage.collection):
        storage.collection.delete()


def _content(lines: Path, fields: dict[str, Any]) -> str:
    """Describe everything that decides about the storage; files by their content."""
    template = Path(fields.get("template", ""))
    described = {**fields, "template": template.read_text() if template.is_file() else template}
    return repr((sorted(described.items()), lines.read_bytes()))
