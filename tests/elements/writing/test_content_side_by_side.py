"""Marks of the content from concurrent transactions. In a file of its own, because its transactions are real ones."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from elements.models import ContentMark, ElementVersion
from storage.models import Storage
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_scope
from tests.elements.content_states import state
from tests.factories import StorageFactory


@pytest.mark.django_db(transaction=True)
def test_concurrent_changes_do_not_wait_for_each_other() -> None:
    """Four states: neither change is visible, one is, the other is, both are. All of them differ."""
    storage = StorageFactory.create(collection="acme", key="busy")
    touch(storage)
    first, second = SideWriter(storage), SideWriter(storage)
    seen = [state(storage)]
    first.write()
    second.write()
    assert state(storage) == seen[0]
    for writer in (first, second):
        writer.end()
        assert state(storage) not in seen
        seen.append(state(storage))
    with tenant_scope(storage):
        assert ContentMark.objects.count() == 2
    touch(storage)
    assert state(storage) not in seen
    with tenant_scope(storage):
        assert ContentMark.objects.count() == 1
    remove_storage(storage)


def touch(storage: Storage) -> None:
    with tenant_scope(storage):
        ElementVersion.objects.update(revision=1)


class SideWriter:
    """A transaction of its own, in a thread of its own."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.steps = [threading.Event() for _ in range(4)]
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        wanted, written, ending, ended = self.steps
        wanted.wait(60)
        with tenant_scope(self.storage):
            ElementVersion.objects.update(revision=2)
            written.set()
            ending.wait(60)
        connection.close()
        ended.set()

    def write(self) -> None:
        self._step(0)

    def end(self) -> None:
        self._step(2)
        self.thread.join(60)

    def _step(self, place: int) -> None:
        self.steps[place].set()
        assert self.steps[place + 1].wait(60)
