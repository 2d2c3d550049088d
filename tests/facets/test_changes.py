"""Changes to a configuration: differences, obstacles, and that everything else stays the same."""

from __future__ import annotations

import json
import threading
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from facets import models
from facets.blueprint.differences import Hazard, describe_differences, hazards
from facets.changing.changes import change_configuration, plan_change
from facets.configuration import settled_configuration
from facets.extension import FacetsExtension, facets_extensions
from facets.rows.reading import read_blueprint
from facets.template_format.reading import read_template
from repository_site.core.database.statements import engine, fetch
from repository_site.core.problems import Conflict, NotFound
from storage.models import Storage, StorageRevision
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_scope
from tests.facets.small_template import SMALL, small_template
from tests.factories import StorageFactory

OLD = read_template(SMALL)


def run(*words: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command(*words, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("changed", "lines"),
    [
        ({}, []),
        ({"types.box.color": "#FFFFFF"}, ["~ types.box.color: #AABBCC -> #FFFFFF"]),
        (
            {"facets.people.displayNames": {"1031": "Leute", "1033": "People"}},
            ["~ facets.people.display_names: {1033: 'People'} -> {1031: 'Leute', 1033: 'People'}"],
        ),
        (
            {"types.Thing.properties.1.related.maxOccurrence": 3},
            ["~ types.Thing.properties.holder.related.max_occurrence: 2 -> 3"],
        ),
        ({"types.person.properties.2": None}, ["- types.person.properties.friends"]),
        (
            {
                "types.person.properties.1": {
                    "key": "age",
                    "displayNames": {"1033": "Age"},
                    "related": {"facet": "people"},
                }
            },
            ["- types.person.properties.age.attribute", "+ types.person.properties.age.related"],
        ),
        ({"types.Thing.insertables": []}, ["~ types.Thing.insertables: [dot] -> nothing"]),
        (
            {"types.person.properties": list(reversed(SMALL["types"]["person"]["properties"]))},
            ["~ types.person.properties: different order"],
        ),
        (
            {"properties.größe.attribute.selectableValues.0.displayNames": {"1033": "Whatever"}},
            [
                "~ types.Thing.properties.größe.attribute.selectable_values.(no key).display_names:"
                " {1033: 'Irrelevant'} -> {1033: 'Whatever'}"
            ],
        ),
        (
            {"types.box.descriptions": {"1033": "A box."}},
            ["~ types.box.descriptions: nothing -> {1033: 'A box.'}"],
        ),
    ],
)
def test_differences_as_lines(changed: dict[str, Any], lines: list[str]) -> None:
    assert describe_differences(OLD, read_template(small_template(**changed))) == lines


def test_additions_and_removals() -> None:
    document = small_template()
    document["facets"]["new"] = document["facets"].pop("people")
    document["types"]["person"]["facet"] = "new"
    for holder in (document["types"]["Thing"]["properties"][1], document["types"]["person"]["properties"][2]):
        holder["related"]["facet"] = "new"
    lines = describe_differences(OLD, read_template(document))
    assert lines[:2] == ["- facets.people", "+ facets.new"]


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"types.box.color": "#FFFFFF"}, []),
        (
            {"types.Thing.hasDiagram": False, "types.Thing.insertables": []},
            [Hazard("the type no longer has a diagram", "Thing")],
        ),
        ({"types.dot.livesInDiagrams": False}, [Hazard("the type starts or stops existing in diagrams only", "dot")]),
        (
            {
                "types.Thing.properties.1": None,
                "facets|things, étc.|views|Tree|typeOverrides": {},
                "validationRules.held": None,
            },
            [Hazard("the property is removed", "Thing", "holder")],
        ),
        (
            {"types.person.properties.1.attribute.dataType": "Decimal"},
            [Hazard("the data type of the attribute changes", "person", "age")],
        ),
        (
            {"types.person.properties.1.attribute.isInvariantCulture": False},
            [Hazard("the attribute changes between one value for all cultures and one per culture", "person", "age")],
        ),
        (
            {"properties.größe.attribute.selectableValues.1": None},
            [Hazard("the selectable value is removed", "Thing", "größe", "s")],
        ),
        (
            {"types.box.isVersioned": True, "types.box.staticState": None},
            [Hazard("the type starts or stops having versions", "box")],
        ),
        (
            {
                "types.person.properties.1": {
                    "key": "age",
                    "displayNames": {"1033": "Age"},
                    "related": {"facet": "people"},
                }
            },
            [Hazard("the property changes between attribute and related context", "person", "age")],
        ),
        (
            {"types.person.properties.2.related.facet": "things, étc."},
            [Hazard("the related context refers to another facet", "person", "friends")],
        ),
    ],
)
def test_hazards(changed: dict[str, Any], found: list[Hazard]) -> None:
    assert hazards(OLD, read_template(small_template(**changed))) == found


def test_removing_or_moving_a_type_is_a_hazard() -> None:
    document = small_template(**{"types.Thing.insertables": []})
    del document["types"]["dot"]
    document["types"]["box"]["facet"] = "people"
    document["types"]["Thing"]["parents"] = []
    document["facets"]["things, étc."]["views"]["Tree"].update(
        types=["Thing"], rootTypes=["Thing"], properties=["name"], typeOverrides={}
    )
    assert hazards(OLD, read_template(document)) == [
        Hazard("the type moves to another facet", "box"),
        Hazard("the type is removed", "dot"),
    ]


@pytest.mark.django_db
def test_a_change_that_would_orphan_content_is_refused(small: Storage, in_use: None) -> None:
    document = small_template(**{"types.person.properties.1": None, "types.box.color": "#FFFFFF"})
    with pytest.raises(Conflict) as caught:
        change_configuration(small, read_template(document))
    assert caught.value.details == ("person.age: the property is removed, but 7 versions have it.",)
    with tenant_scope(small):
        assert read_blueprint() == OLD


@pytest.mark.django_db
def test_a_change_keeps_rows_and_touches_no_other_storage(small: Storage, small_file: Path) -> None:
    twin = StorageFactory.create(collection="rival", key="twin", template=str(small_file))
    with tenant_scope(small):
        kept = models.ElementType.objects.get(key="person").id
    document = small_template(**{"types.person.color": "#FFFFFF", "types.person.properties.2": None})
    new = read_template(document)
    lines = change_configuration(small, new).differences
    assert lines == ["~ types.person.color: #123456 -> #FFFFFF", "- types.person.properties.friends"]
    with tenant_scope(small):
        assert read_blueprint() == new
        assert models.ElementType.objects.get(key="person").id == kept
    with tenant_scope(twin):
        assert read_blueprint() == OLD


@pytest.mark.long
@pytest.mark.on_cluster
@pytest.mark.django_db(transaction=True)
def test_a_change_waits_for_those_who_write_content(small: Storage) -> None:
    """Otherwise it would find nothing in use, and remove a property that a new element has."""
    looked, changed = threading.Event(), threading.Event()

    def look(hazard: Hazard) -> None:
        looked.set()

    def change() -> None:
        change_configuration(small, read_template(small_template(**{"types.person.properties.1": None})))
        changed.set()
        connection.close()

    changing = threading.Thread(target=change)
    with facets_extensions.extended_by(FacetsExtension(describe_use=look)):
        with tenant_scope(small):
            settled_configuration(small)
            changing.start()
            assert not looked.wait(1)
        changing.join()
    assert (looked.is_set(), changed.is_set()) == (True, True)


@pytest.mark.django_db
def test_an_equal_configuration_does_not_change_the_revision(small: Storage) -> None:
    before = StorageRevision.objects.get(pk=small.pk).configuration_revision
    assert change_configuration(small, OLD).differences == []
    assert StorageRevision.objects.get(pk=small.pk).configuration_revision == before


@pytest.mark.django_db
def test_the_previous_release_sees_that_the_configuration_has_changed(small: Storage) -> None:
    """It serves until it is restarted after the migrations, and reads the column of the storage."""
    if engine().is_distributed:
        pytest.skip("The previous release does not run on a distributed database.")
    change_configuration(small, read_template(small_template(**{"types.person.color": "#FFFFFF"})))
    sql = "SELECT configuration_revision FROM storage_storage WHERE id = %s"
    [(revision,)] = fetch(sql, [small.pk])
    assert revision == StorageRevision.objects.get(pk=small.pk).configuration_revision != 0


@pytest.mark.long
@pytest.mark.on_cluster
@pytest.mark.django_db
def test_changing_everything_and_back(small: Storage) -> None:
    """Change from the small template to the standard one and back, which replaces everything."""
    standard = read_template(json.loads(Path("storage/template_files/standard.json").read_text()))
    change_configuration(small, standard)
    with tenant_scope(small):
        assert read_blueprint() == standard
    change_configuration(small, OLD)
    with tenant_scope(small):
        assert read_blueprint() == OLD
        assert models.Property.objects.count() == 3 + 1 + 1 + 3


@pytest.mark.django_db
def test_rows_made_by_hand_are_found_by_their_names(small: Storage) -> None:
    """A row from the back office has a random id, which an update from a template must keep."""
    with tenant_scope(small):
        facet = models.Facet.objects.create(name="new", type_name="New", position=9)
        made = models.ElementType.objects.create(
            facet=facet, key="made", color="#111111", element_type_name="Made", entity_type_name="Made", position=9
        )
    document = small_template()
    document["facets"]["new"] = {
        "displayNames": {"1033": "New"},
        "typeName": "New",
        "views": {"v": {"displayNames": {"1033": "V"}, "key": "V", "properties": "all"}},
    }
    document["types"]["made"] = {**document["types"]["box"], "facet": "new"}
    change_configuration(small, read_template(document))
    with tenant_scope(small):
        assert models.ElementType.objects.get(key="made").id == made.id
        assert read_blueprint() == read_template(document)


@pytest.mark.django_db
def test_renamed_rows_do_not_get_the_content_of_their_old_names(small: Storage) -> None:
    """A renamed row keeps its id, which is the id that derives from its old name."""
    with tenant_scope(small):
        models.ElementType.objects.filter(key="person").update(key="human")
        models.Property.objects.filter(key="age").update(key="years")
        models.Facet.objects.filter(name="people").update(name="persons")
        renamed = models.ElementType.objects.get(key="human").id
    document = small_template()
    document["facets"]["persons"] = document["facets"]["people"]
    document["types"]["human"] = {**document["types"]["person"], "facet": "persons"}
    change_configuration(small, read_template(document))
    with tenant_scope(small):
        assert read_blueprint() == read_template(document)
        assert models.ElementType.objects.get(key="human").id == renamed
        assert models.ElementType.objects.get(key="person").id != renamed


@pytest.mark.django_db
def test_types_and_views_swapped_by_hand(small: Storage) -> None:
    with tenant_scope(small):
        for one, other in (("box", "dot"),):
            models.ElementType.objects.filter(key=one).update(key="swap")
            models.ElementType.objects.filter(key=other).update(key=one)
            models.ElementType.objects.filter(key="swap").update(key=other)
        facet = models.Facet.objects.get(name="things, étc.")
        models.FacetView.objects.filter(facet=facet, name="Tree").update(name="swap")
        models.FacetView.objects.filter(facet=facet, name="all of it").update(name="Tree")
        models.FacetView.objects.filter(facet=facet, name="swap").update(name="all of it")
    change_configuration(small, OLD)
    with tenant_scope(small):
        assert read_blueprint() == OLD


@pytest.mark.django_db
def test_renamed_cycles_do_not_get_the_content_of_their_old_names(small: Storage) -> None:
    with tenant_scope(small):
        models.ReleaseCycle.objects.filter(key="slow").update(key="tardy")
        models.CycleState.objects.filter(key="checked").update(key="proofread")
        models.Transition.objects.filter(key="Check").update(key="Proofread")
        models.ValidationRule.objects.filter(key="held").update(key="kept")
        renamed = models.CycleState.objects.get(key="proofread").id
    document = small_template()
    tardy = json.loads(json.dumps(document["releaseCycles"]["slow"]).replace("checked", "proofread"))
    document["releaseCycles"]["tardy"] = tardy
    document["validationRules"]["kept"] = document["validationRules"]["held"]
    document["types"]["Thing"]["releaseCycle"] = "tardy"
    change_configuration(small, read_template(document))
    with tenant_scope(small):
        assert read_blueprint() == read_template(document)
        assert models.CycleState.objects.get(key="proofread").id == renamed


@pytest.mark.django_db
def test_states_transitions_and_rules_swapped_by_hand(small: Storage) -> None:
    with tenant_scope(small):
        for model, one, other in (
            (models.CycleState, "draft", "checked"),
            (models.Transition, "Check", "Publish"),
            (models.ValidationRule, "named", "held"),
        ):
            rows: Any = model._default_manager
            rows.filter(key=one).update(key="swap")
            rows.filter(key=other).update(key=one)
            rows.filter(key="swap").update(key=other)
        assert read_blueprint() != OLD
    change_configuration(small, OLD)
    with tenant_scope(small):
        assert read_blueprint() == OLD


@pytest.mark.django_db
def test_names_of_a_cycle_that_change_their_letter_case(small: Storage) -> None:
    text = json.dumps(SMALL)
    for name in ("slow", "draft", "Check", "named"):
        text = text.replace(f'"{name}":', f'"{name.upper()}":').replace(f': "{name}"', f': "{name.upper()}"')
    # "draft" is a category as well.
    new = read_template(json.loads(text.replace('"category": "DRAFT"', '"category": "draft"')))
    assert (new.cycles[1].key, new.cycles[1].states[0].key, new.rules[0].key) == ("SLOW", "DRAFT", "NAMED")
    change_configuration(small, new)
    with tenant_scope(small):
        assert read_blueprint() == new


@pytest.mark.django_db
def test_a_new_property_moves_only_its_neighbours(small: Storage) -> None:
    with tenant_scope(small):
        before = dict(models.Property.objects.exclude(type__key="person").values_list("id", "position"))
    new = {"key": "first", "displayNames": {"1033": "First"}, "attribute": {"dataType": "Url"}}
    document = small_template()
    document["types"]["person"]["properties"].insert(0, new)
    change_configuration(small, read_template(document))
    with tenant_scope(small):
        assert dict(models.Property.objects.exclude(type__key="person").values_list("id", "position")) == before


@pytest.mark.django_db
def test_a_removed_storage(small: Storage) -> None:
    remove_storage(small)
    small.pk = small.id = Storage().id
    with pytest.raises(NotFound):
        change_configuration(small, OLD)


@pytest.mark.django_db
def test_planning_changes_nothing(small: Storage) -> None:
    plan = plan_change(small, read_template(small_template(**{"types.box.color": "#FFFFFF"})))
    assert plan.differences == ["~ types.box.color: #AABBCC -> #FFFFFF"]
    with tenant_scope(small):
        assert read_blueprint() == OLD


@pytest.mark.django_db
class TestCommands:
    def test_an_exported_template_provisions_an_equal_configuration(self, small: Storage, tmp_path: Path) -> None:
        out, _ = run("export_template", "acme", "small", "--name", "own", "--title", "Own")
        document = json.loads(out)
        assert (document["name"], document["title"], document["cultures"]) == ("own", "Own", SMALL["cultures"])
        file = tmp_path / "own.json"
        file.write_text(out)
        second = StorageFactory.create(key="second", template=str(file))
        assert second.template == "own"
        with tenant_scope(second):
            assert read_blueprint() == OLD

    def test_update_shows_and_applies(self, small: Storage, tmp_path: Path) -> None:
        file = tmp_path / "changed.json"
        file.write_text(json.dumps(small_template(**{"types.box.color": "#FFFFFF"})))
        line = "~ types.box.color: #AABBCC -> #FFFFFF\n"
        assert run("update_configuration", "acme", "small", str(file), "--dry-run") == (
            line,
            "acme/small: 1 difference; nothing was changed.\n",
        )
        assert run("update_configuration", "acme", "small", str(file)) == (
            line,
            "acme/small: 1 difference applied.\n",
        )
        assert run("update_configuration", "acme", "small", str(file)) == ("", "acme/small: no differences.\n")
        file.write_text(json.dumps(small_template(**{"types.dot.color": "#FFFFFF"})))
        assert run("update_configuration", "acme", "small", str(file)) == (
            "~ types.box.color: #FFFFFF -> #AABBCC\n~ types.dot.color: #000000 -> #FFFFFF\n",
            "acme/small: 2 differences applied.\n",
        )

    def test_update_refuses_in_one_line(self, small: Storage, tmp_path: Path, in_use: None) -> None:
        file = tmp_path / "changed.json"
        file.write_text(json.dumps(small_template(**{"types.person.properties.1": None})))
        for words in ([], ["--dry-run"]):
            with pytest.raises(CommandError) as caught:
                run("update_configuration", "acme", "small", str(file), *words)
            obstacle = "person.age: the property is removed, but 7 versions have it."
            assert obstacle in str(caught.value)
            assert str(caught.value).startswith("The change would orphan stored content. ")
            assert "\n" not in str(caught.value)

    def test_problems_of_a_template_are_reported_with_their_places(self, small: Storage, tmp_path: Path) -> None:
        file = tmp_path / "bad.json"
        file.write_text(json.dumps(small_template(**{"types.box.facet": "usres"})))
        for words in (
            ["update_configuration", "acme", "small", str(file)],
            ["provision_storage", "acme", "new", "--template", str(file)],
        ):
            with pytest.raises(CommandError, match=r'types.box.facet: unknown facet "usres"'):
                run(*words)
        assert not Storage.objects.filter(key="new").exists()

    def test_unknown_storages(self, small: Storage) -> None:
        for words in (["export_template", "acme", "no"], ["update_configuration", "acme", "no", "standard"]):
            with pytest.raises(CommandError, match="There is no storage acme/no"):
                run(*words)
