"""Provisioning and removing storages."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction

from repository_site.core.problems import Conflict, Invalid
from storage.extension import StorageExtension, storage_extensions
from storage.models import ApiToken, Storage, StorageCollection, StorageRevision
from storage.provisioning.provision import StorageRequest, provision_storage, remove_storage, tenant_row_counts
from storage.provisioning.templates import load_template, template_names
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.factories import StorageFactory, collection_token, issued_token
from tests.shelves.models import Book, Shelf
from tests.storage.scopes import current_scope

pytestmark = pytest.mark.django_db


def test_the_template_gives_the_defaults() -> None:
    storage = provision_storage(StorageRequest(collection="acme", key="handbook"))
    cultures = storage.culture_set()
    assert (cultures.data, cultures.default, cultures.mandatory, cultures.optional) == (
        (1031, 1033),
        1033,
        (1033,),
        (1031,),
    )
    assert (storage.title, storage.template, storage.region, storage.time_zone, storage.anonymous_access) == (
        "handbook",
        "standard",
        "DE",
        "Europe/Berlin",
        "none",
    )


@pytest.mark.parametrize(
    ("given", "default", "mandatory"),
    [
        ({"cultures": [1036, 1033]}, 1036, (1036,)),
        ({"cultures": [1036, 1033], "default_culture": 1033}, 1033, (1033,)),
        ({"default_culture": 1031}, 1031, (1031,)),
        ({"mandatory_cultures": [1033, 1031]}, 1033, (1031, 1033)),
        ({"mandatory_cultures": []}, 1033, ()),
    ],
)
def test_cultures_of_the_request(given: dict[str, Any], default: int, mandatory: tuple[int, ...]) -> None:
    cultures = StorageFactory.create(**given).culture_set()
    assert (cultures.default, cultures.mandatory) == (default, mandatory)


def test_all_problems_are_reported_and_nothing_is_created() -> None:
    with pytest.raises(Invalid) as caught:
        provision_storage(
            StorageRequest(
                collection="admin",
                key="with space",
                cultures=[1031, 99],
                region="XX",
                time_zone="Mars/Olympus",
                anonymous="write",
                base=uuid.UUID(int=1),
            )
        )
    details = "\n".join(caught.value.details)
    for part in (
        "collection: 'admin' is reserved",
        "storage: 'with space' is not a valid id",
        "cultures: 99 is not a culture id",
        "XX",
        "Mars/Olympus",
        "anonymous access: expected one of none, read, not 'write'",
        "base: no storage has the id 00000000-0000-0000-0000-000000000001",
    ):
        assert part in details
    assert len(caught.value.details) == 7
    assert not StorageCollection.objects.exists()


@pytest.mark.parametrize("key", ["_admin", "_api", "-x", ".x", "x" * 64, "", "a/b", "ä", "Static", "HEALTHZ"])
def test_invalid_ids(key: str) -> None:
    with pytest.raises(Invalid):
        StorageFactory.create(key=key)


@pytest.mark.parametrize("key", ["a", "9", "A.b-c_d", "x" * 63])
def test_valid_ids(key: str) -> None:
    assert StorageFactory.create(key=key).key == key


def test_an_address_is_unique_ignoring_case(storage: Storage) -> None:
    for key in ("handbook", "HandBook"):
        with pytest.raises(Conflict, match="already"):
            StorageFactory.create(key=key)
    with pytest.raises(Conflict, match="in more than case"):
        StorageFactory.create(collection="ACME")
    assert StorageCollection.objects.get(key="acme").storages.count() == 1


@pytest.mark.django_db(transaction=True)
def test_concurrent_provisioning_in_a_new_collection() -> None:
    """Different storages are all created; of equal requests one succeeds and the others get Conflict."""
    StorageFactory.create(collection="warm", key="up")

    def make(number: int) -> str:
        try:
            return StorageFactory.create(collection="new", key=f"s{number % 4}").key
        except Conflict:
            return "conflict"
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        results = sorted(threads.map(make, range(8)))
    assert results == ["conflict"] * 4 + ["s0", "s1", "s2", "s3"]
    assert StorageCollection.objects.get(key="new").storages.count() == 4


def test_a_storage_that_is_removed_during_a_request_is_not_found(api: ApiClient, open_storage: Storage) -> None:
    read = Storage.objects.select_related("collection").get(pk=open_storage.pk)
    remove_storage(open_storage)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("storage.tenancy.contexts.read_storage", lambda *address: read)
        for path in ("info", "facets"):
            assert api.get(f"/acme/open/_api/rest/{path}").status_code == 404


def test_extensions_provision_inside_the_scope_of_the_new_storage() -> None:
    seen: list[tuple[bool, str]] = []

    def provision(storage: Storage, sections: Mapping[str, Any]) -> None:
        seen.append((current_scope() == storage.id, sections["name"]))

    with storage_extensions.extended_by(StorageExtension(provision=provision)):
        StorageFactory.create()
    assert seen == [(True, "plain")]


def test_a_failing_extension_leaves_no_storage_behind() -> None:
    def fail(storage: Storage, sections: Mapping[str, Any]) -> None:
        Shelf.objects.create(name="half")
        raise Invalid("no")

    with storage_extensions.extended_by(StorageExtension(provision=fail)), pytest.raises(Invalid):
        StorageFactory.create()
    assert not Storage.objects.exists()


def test_removing_deletes_the_rows_of_the_storage_only(storage: Storage, other_storage: Storage) -> None:
    for tenant in (storage, other_storage):
        with tenant_scope(tenant):
            shelf = Shelf.objects.create(name="top")
            Book.objects.create(shelf=shelf, title="one")
            Book.objects.create(shelf=shelf, title="two")
        issued_token(tenant)
    assert {"shelves_shelf": 1, "shelves_book": 2}.items() <= tenant_row_counts(storage).items()
    gone = storage.id
    remove_storage(storage)
    assert not StorageRevision.objects.filter(pk=gone).exists()
    # A storage with the same id would see what is left.
    with transaction.atomic():
        with tenant_scope(Storage.objects.create(id=gone, collection=other_storage.collection, key="again")):
            assert (Shelf.objects.count(), Book.objects.count()) == (0, 0)
        transaction.set_rollback(True)
    assert list(Storage.objects.all()) == [other_storage]
    assert list(StorageCollection.objects.all()) == [other_storage.collection]
    assert [token.storage_id for token in ApiToken.objects.all()] == [other_storage.id]
    assert {"shelves_shelf": 1, "shelves_book": 2}.items() <= tenant_row_counts(other_storage).items()


def test_a_collection_stays_while_it_has_storages_or_tokens(storage: Storage, open_storage: Storage) -> None:
    collection_token(storage)
    remove_storage(storage)
    remove_storage(open_storage)
    assert StorageCollection.objects.filter(key="acme").exists()


def test_the_base_of_another_storage_is_not_removed(storage: Storage) -> None:
    StorageFactory.create(base=storage.id)
    with pytest.raises(Conflict, match="is the base of 1 other storage"):
        remove_storage(storage)


def test_every_template_of_the_project_loads() -> None:
    assert "standard" in template_names()
    for name in template_names():
        assert load_template(name).name == name


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON: expecting property name"),
        ("[]", "expected a JSON object at the top level"),
        ('{"name": "x"}', "title: expected a text; cultures: expected an object"),
        ({"name": "", "title": 3, "cultures": {"data": [1033]}}, "name: expected a text; title: expected a text"),
        ({"facetts": {}}, "facetts: unknown section; the sections are cultures, facets"),
        ('{"name": "x", "name": "y"}', "the key 'name' occurs twice"),
        ({"cultures": {"data": "1033"}}, "cultures.data: expected a list of culture ids"),
        (
            {"cultures": {"data": [1033], "defualt": 1033}},
            "cultures.defualt: unknown field; the fields are data, default",
        ),
        ({"name": "x" * 201}, "name: longer than 200 characters"),
        ({"cultures": {"data": [1033], "default": 1031}}, "cultures: the default culture 1031 is not among"),
        ({"cultures": {"data": [1033, 1033]}}, "cultures: a data culture occurs twice"),
    ],
)
def test_invalid_templates_name_the_place(tmp_path: Path, content: Any, message: str) -> None:
    file = tmp_path / "own.json"
    if isinstance(content, dict):
        content = json.dumps({"name": "own", "title": "Own", **content})
    file.write_text(content)
    with pytest.raises(Invalid) as caught:
        load_template(str(file))
    assert message in "; ".join([caught.value.message, *caught.value.details])


def test_unknown_templates(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"There is no template 'fancy'\. Use standard"):
        load_template("fancy")
    with pytest.raises(Invalid, match="cannot be read: No such file"):
        load_template(str(tmp_path / "missing.json"))
