"""The compiled configuration: built with one statement, cached by revision, compiled again after any change."""

from __future__ import annotations

import gc
import threading
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from facets import configuration, models
from facets.changing.changes import change_configuration
from facets.checks import check_configuration_triggers
from facets.configuration import configuration_of, forget_configurations
from facets.rows.reading import read_blueprint
from facets.template_format.reading import read_template
from repository_site.core.problems import NotFound
from storage.models import Storage
from storage.tenancy.contexts import read_storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.facets.office_forms import revision
from tests.facets.small_template import SMALL, small_template
from tests.factories import StorageFactory
from tests.scale import first_quick

pytestmark = pytest.mark.django_db
FACETS = "/acme/small/_api/rest/facets"


def fresh(storage: Storage) -> Storage:
    found = read_storage(storage.collection.key, storage.key)
    assert found is not None
    return found


def test_it_is_built_with_one_statement(small: Storage, django_assert_num_queries: Any) -> None:
    storage = fresh(small)
    with tenant_scope(storage):
        # One statement in its own scope: savepoint, scope, statement, previous scope, release.
        with django_assert_num_queries(5):
            first = configuration_of(storage)
        with django_assert_num_queries(0):
            assert configuration_of(storage) is first


def test_the_number_of_statements_does_not_grow(django_assert_num_queries: Any) -> None:
    storage = fresh(StorageFactory.create(key="house", template="standard"))
    with tenant_scope(storage), django_assert_num_queries(5):
        configuration_of(storage)


def test_a_request_with_a_warm_cache_queries_no_configuration_table(
    api: ApiClient, small: Storage, django_assert_num_queries: Any
) -> None:
    api.get(f"{FACETS}/people/views/all of it/config")
    # The storage, the savepoint and its release, the scope and its end.
    with django_assert_num_queries(5):
        api.get(f"{FACETS}/people/views/all of it/config")
    with django_assert_num_queries(5):
        api.get(FACETS)


@pytest.mark.parametrize("model", first_quick([each for each in models.__all__ if each != "PermissionSet"], 6))
def test_any_change_of_any_row_changes_the_revision(small: Storage, other_storage: Storage, model: str) -> None:
    manager = getattr(models, model).objects
    others = revision(other_storage)
    with tenant_scope(small):
        before = revision(small)
        row = manager.first()
        row.position += 1
        row.save()
        assert revision(small) != before
        before = revision(small)
        manager.filter(pk=row.pk).update(position=0)
        assert revision(small) != before
        before = revision(small)
        with connection.cursor() as cursor:
            cursor.execute(f"UPDATE {row._meta.db_table} SET position = 5 WHERE id = %s", [row.pk])
        assert revision(small) != before
    assert revision(other_storage) == others


def test_permission_sets_are_part_of_the_configuration(small: Storage) -> None:
    with tenant_scope(small):
        before = revision(small)
        models.PermissionSet.objects.create(number=1, creation_id=small.id, entries={"show": [str(small.id)]})
        made = revision(small)
        models.PermissionSet.objects.update(mode="stop")
        changed = revision(small)
        models.PermissionSet.objects.all().delete()
        assert len({before, made, changed, revision(small)}) == 4


def test_inserts_and_deletes_change_the_revision(small: Storage) -> None:
    with tenant_scope(small):
        before = revision(small)
        facet = models.Facet.objects.create(name="new", type_name="New")
        made = revision(small)
        facet.delete()
        gone = revision(small)
    assert len({before, made, gone}) == 3


def test_only_the_database_sets_the_revision(small: Storage) -> None:
    """Saving a storage that was read before a change must not write the old revision back."""
    early = Storage.objects.get(pk=small.pk)
    with tenant_scope(small):
        models.Facet.objects.filter(name="people").update(display_names={"1033": "Persons"})
    changed = revision(small)
    early.title = "Another title"
    early.save()
    assert revision(small) == changed


def test_a_revision_of_a_failed_transaction_is_never_used_again(small: Storage) -> None:
    def rename(text: str) -> None:
        models.Facet.objects.filter(name="people").update(display_names={"1033": text})

    with pytest.raises(KeyError), tenant_scope(small):
        rename("Ghosts")
        assert dict(configuration_of(fresh(small)).facet("people").facet.display_names) == {1033: "Ghosts"}
        raise KeyError
    with tenant_scope(small):
        rename("Persons")
    assert dict(configuration_of(fresh(small)).facet("people").facet.display_names) == {1033: "Persons"}


def test_the_scope_of_the_caller_does_not_matter(small: Storage, other_storage: Storage) -> None:
    with tenant_scope(other_storage):
        assert [facet.name for facet in configuration_of(fresh(small)).blueprint.facets] == ["things, étc.", "people"]
        assert [facet.name for facet in configuration_of(fresh(other_storage)).blueprint.facets] == ["notes"]


@pytest.mark.one_node("Citus refuses to drop triggers of distributed tables")
@pytest.mark.parametrize(
    "damage",
    [
        "DROP TRIGGER configuration_changed ON facets_layout",
        "ALTER TABLE facets_layout DISABLE TRIGGER configuration_changed",
    ],
)
def test_a_table_without_the_trigger_is_reported(damage: str) -> None:
    assert check_configuration_triggers(None, databases=["default"]) == []
    with connection.cursor() as cursor:
        cursor.execute(damage)
    (problem,) = check_configuration_triggers(None, databases=["default"])
    assert (problem.id, problem.msg) == (
        "facets.E001",
        "facets_layout: changes do not increment the configuration revision.",
    )


def test_the_next_request_sees_a_change(api: ApiClient, small: Storage) -> None:
    assert api.get(FACETS).json()["values"][1]["displayNames"]["1033"] == "People"
    with tenant_scope(small):
        models.Facet.objects.filter(name="people").update(display_names={"1033": "Persons"})
    assert api.get(FACETS).json()["values"][1]["displayNames"]["1033"] == "Persons"
    address = f"{FACETS}/people/views/all of it/config/person"
    assert api.get(address).json()["values"][0]["displayNames"]["1033"] == "Person"
    with tenant_scope(small):
        models.ElementType.objects.filter(key="person").update(display_names={"1033": "Human"})
    assert api.get(address).json()["values"][0]["displayNames"]["1033"] == "Human"


@pytest.mark.django_db(transaction=True)
@pytest.mark.long
def test_readers_never_see_a_half_changed_configuration(small_file: Any) -> None:
    """Readers have an empty cache while other transactions add and remove types."""
    storage = StorageFactory.create(key="busy", template=str(small_file))
    small = read_template(SMALL)
    larger = read_template(
        small_template(
            **{f"types.extra{number}": {**SMALL["types"]["box"], "parents": ["box"]} for number in range(20)}
        )
    )
    stop = threading.Event()
    wrong: list[Any] = []

    def read() -> None:
        while not stop.is_set():
            try:
                with tenant_scope(storage):
                    found = read_blueprint()
            except Exception as problem:
                wrong.append(problem)
            else:
                if found not in (small, larger):
                    wrong.append(found)
        connection.close()

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(6):
        change_configuration(storage, larger)
        change_configuration(storage, small)
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_similar_names_are_suggested(small: Storage) -> None:
    found = configuration_of(small)
    for look_up, message in (
        (lambda: found.facet("peple"), "There is no facet peple; similar: people."),
        (
            lambda: found.facet("people").view("All of"),
            "There is no view All of in the facet people; similar: all of it.",
        ),
        (
            lambda: found.facet("people").view("all of it").type("Persons"),
            "There is no type Persons in the view all of it of the facet people; similar: person.",
        ),
        (lambda: found.facet("x" * 100_000), f"There is no facet {'x' * 100_000}."),
    ):
        with pytest.raises(NotFound) as caught:
            look_up()
        assert caught.value.message == message


def test_names_ignore_letter_case_and_unknown_names_are_reported(small: Storage) -> None:
    storage = fresh(small)
    with tenant_scope(storage):
        compiled = configuration_of(storage)
    assert compiled.facet("PEOPLE").view("ALL OF IT").type("PERSON").type.key == "person"
    for call in (
        lambda: compiled.facet("x"),
        lambda: compiled.facet("people").view("x"),
        lambda: compiled.facet("people").view("all of it").type("x"),
    ):
        with pytest.raises(NotFound):
            call()


def test_it_is_immutable(small: Storage) -> None:
    storage = fresh(small)
    with tenant_scope(storage):
        compiled: Any = configuration_of(storage)
    with pytest.raises(AttributeError):
        compiled.revision = 0
    with pytest.raises(AttributeError):
        compiled.types["box"].color = "#FFFFFF"
    with pytest.raises(TypeError):
        compiled.types["box"] = None


@pytest.mark.parametrize("limit", ["MAX_CACHED", "MAX_DIFFERENT"])
def test_the_cache_is_bounded(
    small: Storage, other_storage: Storage, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(configuration, limit, 1)
    forget_configurations()
    for storage in (fresh(small), fresh(other_storage)):
        with tenant_scope(storage):
            configuration_of(storage)
    assert list(configuration._cache) == [other_storage.id]


def test_answers_are_rendered_once_per_revision(
    api: ApiClient, small: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"{FACETS}/people/views/all of it/config"
    first = api.get(address).content

    def fail(*args: Any) -> None:
        raise AssertionError("rendered again")

    monkeypatch.setattr("facets.rendering._type", fail)
    assert api.get(address).content == first


@pytest.mark.long
@pytest.mark.on_cluster
def test_storages_with_equal_configurations_share_compiled_values(small: Storage) -> None:
    """Storages share compiled values until one of them changes."""
    first, second, third = (StorageFactory.create(key=key, template="standard") for key in ("one", "two", "three"))
    StorageFactory.create(key="four", template="standard", cultures=[1033], default_culture=1033)
    other_cultures = read_storage("acme", "four")
    assert other_cultures is not None
    forget_configurations()
    one, two, other = (configuration_of(fresh(each)) for each in (first, second, other_cultures))
    assert one.types is two.types
    assert one.revision != two.revision
    assert [one.keep("made", object) is each.keep("made", object) for each in (two, other)] == [True, False]
    with tenant_scope(third):
        models.ElementType.objects.update(color="#123456")
    changed = configuration_of(fresh(third))
    assert {each.color for each in changed.types.values()} == {"#123456"}
    assert "#123456" not in {each.color for each in configuration_of(fresh(first)).types.values()}
    assert changed.keep("made", object) is not one.keep("made", object)


def test_the_same_types_with_other_ids_are_another_configuration(small: Storage) -> None:
    first, second = (StorageFactory.create(key=key, template="standard") for key in ("one", "two"))
    forget_configurations()
    blueprint, cultures = configuration_of(fresh(first)).blueprint, configuration_of(fresh(first)).cultures
    ids = dict(configuration_of(fresh(second)).type_ids)
    key, *_ = ids
    other = configuration.compile_configuration(1, cultures, blueprint, {**ids, key: uuid4()})
    same = configuration.compile_configuration(1, cultures, blueprint, ids)
    assert other.type_ids[key] != ids[key]
    assert other.types is not same.types
    assert dict(same.type_ids) == ids


@pytest.mark.long
@pytest.mark.on_cluster
def test_unused_configurations_are_freed_at_once(api: ApiClient) -> None:
    """Server processes run the garbage collector very seldom, so reference cycles would stay in memory."""

    def count() -> int:
        return sum(type(each) is configuration.CompiledView for each in gc.get_objects())

    StorageFactory.create(key="short", template="standard", anonymous="read")
    forget_configurations()
    gc.collect()
    before = count()
    assert (
        api.get("/acme/short/_api/rest/facets/processes/views/detail/elements?$filter=name -eq 'x'").status_code == 200
    )
    gc.collect()  # reference cycles of the request itself
    assert count() > before
    gc.disable()
    try:
        forget_configurations()
        assert count() == before
    finally:
        gc.enable()
