"""Storages without the apps above, and with an extension."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from repository_site.core.extension_point import ExtensionPoint
from storage.access.callers import find_user
from storage.access.tokens import issue_token
from storage.access.user_directory import user_choices, user_names
from storage.backup.contents import kept_models
from storage.extension import StorageExtension, UserDirectory, UserGrant, storage_extensions
from storage.models import Storage
from storage.options import Role
from storage.provisioning.provision import StorageRequest, provision_storage
from storage.provisioning.sizes import measure_storage
from storage.tenancy.contexts import Context, ContextType
from storage.tenancy.scope import tenant_models
from tests.shelves.models import Book, Shelf

USER = UUID(int=42)
VIEWER = UserGrant(frozenset({Role.VIEWER}), is_inactive=False)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test as if no app above were installed."""
    monkeypatch.setattr(storage_extensions, "_factories", [])
    monkeypatch.setattr(storage_extensions, "_made", None)


@pytest.mark.django_db
def test_a_storage_works_without_extensions(storage: Storage, alone: None) -> None:
    issued = issue_token(Context(ContextType.STORAGE, storage.collection, storage), "program", [Role.VIEWER])
    size = measure_storage(storage)
    assert (issued.token.name, size.elements, size.versions) == ("program", 0, 0)
    assert (find_user(storage, USER), user_names(storage, [USER]), user_choices()) == (None, {}, "")
    assert set(kept_models()) == set(tenant_models())


@pytest.mark.django_db
def test_an_extension_adds_users_sections_counts_and_derived_tables(alone: None, tmp_path: Path) -> None:
    template = tmp_path / "books.json"
    cultures = {"data": [1033], "default": 1033, "mandatory": []}
    template.write_text(json.dumps({"name": "b", "title": "B", "cultures": cultures, "shelves": ["top", "bottom"]}))

    def provision(storage: Storage, sections: Mapping[str, Any]) -> None:
        Shelf.objects.bulk_create(Shelf(name=name) for name in sections["shelves"])

    extension = StorageExtension(
        template_sections=frozenset({"shelves"}),
        provision=provision,
        find_user=lambda storage, user: VIEWER if user == USER else None,
        user_directory=UserDirectory(lambda storage, users: dict.fromkeys(users, "Anna"), lambda: "/choices/"),
        counted_models={"elements": Shelf},
        derived_models=(Book,),
    )
    with storage_extensions.extended_by(extension):
        storage = provision_storage(StorageRequest(collection="acme", key="books", template=str(template)))
        assert measure_storage(storage).elements == 2
        assert (find_user(storage, USER), find_user(storage, UUID(int=1))) == (VIEWER, None)
        assert (user_names(storage, [USER]), user_choices()) == ({USER: "Anna"}, "/choices/")
        assert Book not in kept_models()
        assert Shelf in kept_models()
    assert find_user(storage, USER) is None


def test_extensions_are_made_when_they_are_first_needed() -> None:
    made: list[str] = []
    point: ExtensionPoint[str] = ExtensionPoint()

    def factory() -> str:
        made.append("made")
        return "extension"

    point.register(factory)
    assert made == []
    assert [list(point), list(point), made] == [["extension"], ["extension"], ["made"]]
