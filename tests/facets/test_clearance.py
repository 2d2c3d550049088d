"""Parts of a configuration for each clearance (D396), the mark of facets (D397), and its migration."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from uuid import UUID

import pytest
from django.db import connection

from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import ElementType, Property
from facets.blueprint.private_content import PRIVATE, TRACES
from facets.clearance import Clearance, clearance_of, visible_to
from facets.configuration import Configuration, compile_blueprint
from facets.models import Facet
from facets.rows.writing import row_id
from facets.template_format.reading import read_template
from facets.template_format.writing import write_template
from storage.localisation.cultures import CultureSet
from storage.models import Storage
from storage.options import Role
from storage.provisioning.templates import load_template
from storage.tenancy.scope import tenant_scope
from tests.factories import StorageFactory

CULTURES = CultureSet((1031, 1033), 1033, (1033,))


def standard(hidden: str = "") -> Configuration:
    blueprint = read_template(load_template("standard").sections)
    facets = tuple(replace(each, for_readers=False) if each.name == hidden else each for each in blueprint.facets)
    ids = {each.key: UUID(row_id("type", each.key)) for each in blueprint.types}
    return compile_blueprint(1, CULTURES, replace(blueprint, facets=facets), ids)


@pytest.mark.parametrize("role", Role)
def test_clearances_of_roles(role: Role) -> None:
    expected = {Role.VIEWER: Clearance.READER, Role.ADMINISTRATOR: Clearance.ADMINISTRATOR}
    assert clearance_of({role}) is expected.get(role, Clearance.COLLEAGUE)
    assert clearance_of({Role.VIEWER, role}) is expected.get(role, Clearance.COLLEAGUE)
    assert clearance_of({Role.ADMINISTRATOR, role}) is Clearance.ADMINISTRATOR


def test_administrators_have_the_whole_configuration_itself() -> None:
    whole = standard()
    assert visible_to(Clearance.ADMINISTRATOR, whole) is whole


def test_a_part_is_made_once_and_has_the_revision_of_its_storage() -> None:
    whole = standard()
    part = visible_to(Clearance.READER, whole)
    assert visible_to(Clearance.READER, whole) is part
    other = visible_to(Clearance.READER, replace(whole, revision=2))
    assert (other.revision, other.types is part.types) == (2, True)


def hidden_properties(whole: Configuration, part: Configuration) -> dict[str, set[str]]:
    found = {}
    for key, type in part.types.items():
        left = {each.key for each in type.properties}
        if missing := {each.key for each in whole.types[key].properties} - left:
            found[key] = missing
    return found


def test_the_part_of_colleagues() -> None:
    whole = standard(hidden="risks")
    part = visible_to(Clearance.COLLEAGUE, whole)
    assert [each.name for each in part.blueprint.facets] == [each.name for each in whole.blueprint.facets]
    assert whole.types.keys() - part.types.keys() == {"authToken"}
    assert part.closed == {str(whole.type_ids["authToken"])} == part.named.keys()
    assert part.types_by_id.keys() == whole.types_by_id.keys()
    assert [view.types for view in part.facet("automation").views.values()] == [{}, {}, {}]
    assert hidden_properties(whole, part) == {"user": set(PRIVATE)}
    assert part.partial == {str(whole.type_ids["user"])}


def test_the_part_of_readers() -> None:
    whole = standard(hidden="risks")
    part = visible_to(Clearance.READER, whole)
    names = [each.name for each in whole.blueprint.facets]
    assert [each.name for each in part.blueprint.facets] == [
        each for each in names if each not in ("automation", "risks")
    ]
    assert whole.types.keys() - part.types.keys() == {"authToken", "risk"}
    assert part.closed == {str(whole.type_ids[key]) for key in ("authToken", "risk")}
    assert (part.named, part.types_by_id.keys() & part.closed) == ({}, set())
    # Contexts that lead to risks are gone with them.
    holders = {key for key, type in whole.types.items() if any(each.key == "risks" for each in type.properties)}
    assert hidden_properties(whole, part) == {
        "user": {*PRIVATE, *TRACES},
        **{key: {"risks"} for key in holders},
    }
    shown = part.facet("users").view("list").types["user"].properties
    assert list(shown) == ["name", "lastName", "firstName", "userGroups", "deputies"]


def test_hidden_texts() -> None:
    """Rights and sign-ins are not texts, unless a configuration says so."""
    whole = standard()
    parts = [visible_to(each, whole) for each in Clearance]
    assert [each.hidden_texts for each in parts] == [frozenset()] * 3

    def texts(property: Property) -> Property:
        assert property.attribute
        return replace(property, attribute=replace(property.attribute, data_type=DataType.SINGLE_LINE_TEXT))

    def noted(type: ElementType) -> ElementType:
        changed = (texts(each) if each.key == "userLastLogin" else each for each in type.properties)
        return replace(type, properties=tuple(changed))

    types = tuple(noted(each) for each in whole.blueprint.types)
    whole = compile_blueprint(1, CULTURES, replace(whole.blueprint, types=types), whole.type_ids)
    users = frozenset({str(whole.type_ids["user"])})
    assert [visible_to(each, whole).hidden_texts for each in Clearance] == [users, users, frozenset()]


def test_templates_contain_the_mark_only_if_it_is_unusual() -> None:
    """`automation` is hidden, unless the template says otherwise."""
    template = load_template("standard")
    document = json.loads(json.dumps(template.sections))
    document["facets"]["automation"].pop("forReaders")
    document["facets"]["risks"]["forReaders"] = False
    first = read_template(document)
    marks = {each.name for each in first.facets if not each.for_readers}
    assert marks == {"automation", "risks"}
    shown = replace(first, facets=tuple(replace(each, for_readers=True) for each in first.facets))
    for blueprint, written in ((first, {"risks": False}), (shown, {"automation": True})):
        exported = write_template("x", "X", template.cultures, blueprint)
        given = {name: each["forReaders"] for name, each in exported["facets"].items() if "forReaders" in each}
        assert given == written
        assert read_template(exported) == blueprint


@pytest.mark.django_db
def test_existing_storages_get_the_mark(other_storage: Storage) -> None:
    migration = import_module("facets.migrations.0004_tokens_not_for_readers")
    storage = StorageFactory.create(key="older", template="standard")
    with tenant_scope(storage):
        before = storage.configuration_revision
        Facet.objects.update(for_readers=True)
    migration.hide(None, SimpleNamespace(connection=connection))
    again = Storage(id=storage.id)
    with tenant_scope(again):
        assert [each.name for each in Facet.objects.filter(for_readers=False)] == ["automation"]
        assert again.configuration_revision != before
    with tenant_scope(other_storage):
        assert not Facet.objects.filter(for_readers=False).exists()
