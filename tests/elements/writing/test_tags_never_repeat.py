"""Entity tags are never used twice (D204): not after a restore, not after an element is imported again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from elements.models import ElementVersion
from elements.transfer.importing import import_elements
from storage.backup.restoring import restore_storage
from storage.backup.writing import back_up_storage
from storage.models import Storage, StorageRevision
from storage.options import Role
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.transfer_files import guid, line, write
from tests.factories import StorageFactory, token_for

pytestmark = [pytest.mark.django_db, pytest.mark.long]
TAG = guid(1)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    return Path(write(tmp_path / "lines.ndjson", line(1)))


@pytest.fixture
def tags(other_storage: Storage, lines: Path) -> Storage:
    storage = StorageFactory.create(collection="acme", key="tags", template="standard")
    import_elements(storage, str(lines))
    return storage


class TagKeeper:
    """An architect of the storage, whose token is issued again for every storage at the address."""

    def __init__(self, api: ApiClient, storage: Storage) -> None:
        self.api, self.token = api, token_for(storage, Role.ARCHITECT)
        self.address = "/acme/tags/_api/rest/facets/tags/views/detail/elements"

    def rename(self, name: str, tag: str | None = None) -> Any:
        body = json.dumps({"elements": [{"id": TAG, "attributes": {"name": {"1033": name}}}]})
        headers = {"If-Match": tag} if tag else {}
        return self.api.post(
            f"{self.address}/", body, content_type="application/json", headers=headers, token=self.token
        )

    def read(self, tag: str | None = None) -> Any:
        headers = {"If-None-Match": tag} if tag else {}
        return self.api.get(f"{self.address}/{TAG}", headers=headers, token=self.token)


def test_a_tag_from_before_a_restore_does_not_match_a_later_change(
    api: ApiClient, tags: Storage, tmp_path: Path
) -> None:
    client, path = TagKeeper(api, tags), tmp_path / "tags.backup"
    back_up_storage(tags, path)
    lost = client.rename("Lost")["ETag"]
    shown = client.read()["ETag"]
    remove_storage(tags)
    client = TagKeeper(api, restore_storage(path).storage)
    assert client.rename("After the restore").status_code == 200
    refused = client.rename("Overwritten", lost)
    assert refused.status_code == 412, refused.content
    assert client.rename("Overwritten", shown).status_code == 412
    found = client.read(shown)
    assert (found.status_code, found.json()["elements"][0]["attributes"]["name"]["1033"]) == (200, "After the restore")


def test_a_restored_element_matches_the_tag_that_it_had_in_the_backup(
    api: ApiClient, tags: Storage, tmp_path: Path
) -> None:
    client, path = TagKeeper(api, tags), tmp_path / "tags.backup"
    kept = client.rename("Kept")["ETag"]
    back_up_storage(tags, path)
    client.rename("Lost")
    remove_storage(tags)
    client = TagKeeper(api, restore_storage(path).storage)
    assert client.rename("Changed", kept).status_code == 200


def test_an_element_that_is_imported_again_has_a_new_tag(api: ApiClient, tags: Storage, lines: Path) -> None:
    client = TagKeeper(api, tags)
    imported, renamed = client.read()["ETag"], client.rename("Renamed")["ETag"]
    assert api.delete(f"{client.address}/{TAG}", token=client.token).status_code == 200
    lines.write_text(lines.read_text().replace("Element", "Imported"), encoding="utf-8")
    import_elements(tags, str(lines))
    for stale in (imported, renamed):
        assert client.rename("Overwritten", stale).status_code == 412
    assert client.read(imported).status_code == 200
    client.rename("Renamed again")
    assert client.rename("Overwritten", renamed).status_code == 412


def test_revisions_do_not_count(tags: Storage) -> None:
    """The next number must not be known from the last one: a restored database would continue with it."""
    found = []
    for _ in range(3):
        with tenant_scope(tags), connection.cursor() as cursor:
            cursor.execute("UPDATE facets_facet SET position = position")
            cursor.execute("UPDATE elements_elementversion SET revision = DEFAULT")
            found.append(ElementVersion.objects.get(element_id=TAG).revision)
        found.append(StorageRevision.objects.get(pk=tags.pk).configuration_revision)
    assert len(set(found)) == 6
    assert min(abs(one - other) for index, one in enumerate(found) for other in found[:index]) > 1000
