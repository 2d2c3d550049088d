"""Template documents: valid and invalid ones, round trips, and the content of the standard template."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from elements import derived
from elements.filters.derived_values import DERIVED_ATTRIBUTES as DERIVED_FOR_FILTERS
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Blueprint
from facets.blueprint.derived_properties import DERIVED_ATTRIBUTES, DERIVED_CONTEXTS
from facets.rows.reading import read_blueprint, read_rows
from facets.template_format.reading import read_template
from facets.template_format.writing import write_template
from repository_site.core import environment
from repository_site.core.problems import Invalid
from storage.models import Storage
from storage.provisioning.templates import load_template
from storage.tenancy.scope import tenant_scope
from tests.facets.small_template import SMALL, small_template
from tests.factories import StorageFactory


@cache
def standard() -> Blueprint:
    return read_template(load_template("standard").sections)


def test_the_small_template_as_values() -> None:
    small = read_template(SMALL)
    assert [facet.name for facet in small.facets] == ["things, étc.", "people"]
    thing = small.types[0]
    assert (thing.key, thing.is_versioned, thing.has_diagram, thing.parents, thing.insertables) == (
        "Thing",
        True,
        True,
        ("box",),
        ("dot",),
    )
    assert [each.key for each in thing.properties] == ["name", "größe", "holder"]
    assert thing.properties[1].editable_in_released is True
    tree = small.facets[0].views[1]
    assert [(each.type, each.is_root, each.shows_all, each.properties) for each in tree.types] == [
        ("box", True, False, ("name",)),
        ("Thing", False, False, ("holder",)),
    ]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"types.Thing.facet": "usres"}, 'types.Thing.facet: unknown facet "usres"'),
        (
            {"types.Thing.properties.1.related.facet": "usres"},
            'types.Thing.properties[1].related.facet: unknown facet "usres"',
        ),
        (
            {"types.Thing.properties.1.related.relatedTypes": ["person", "box"]},
            'types.Thing.properties[1].related.relatedTypes[1]: the type "box" is not in the facet "people"',
        ),
        (
            {"types.Thing.properties.1.related.relatedTypes": ["perosn"]},
            'types.Thing.properties[1].related.relatedTypes[0]: unknown type "perosn"',
        ),
        ({"types.Thing.properties.0": "@boht"}, 'types.Thing.properties[0]: unknown property set "boht"'),
        ({"types.box.properties": ["name", "name"]}, 'types.box.properties[1]: the property "name" occurs twice'),
        ({"types.box.properties": ["nmae"]}, 'types.box.properties[0]: unknown property "nmae"'),
        ({"types.box.properties": "name"}, "types.box.properties: expected a list"),
        ({"types.box.color": "#abcdef"}, "types.box.color: '#abcdef' is not a colour; use # and six"),
        ({"types.box.colour": "#ABCDEF"}, "types.box.colour: unknown field; the fields are facet, displayNames"),
        ({"types.box.elementTypeName": None}, "types.box.elementTypeName: is missing"),
        ({"types.box.isVersioned": "yes"}, "types.box.isVersioned: expected true or false"),
        ({"types.box.isVersioned": True}, "types.box.staticState: a versioned type cannot have a static state"),
        (
            {"types.dot.isVersioned": True},
            "types.dot.livesInDiagrams: a type that exists only in diagrams cannot have versions",
        ),
        ({"types.box.parents": ["Box"]}, 'types.box.parents[0]: unknown type "Box"'),
        ({"types.box.parents": [7, "Box"]}, 'types.box.parents[1]: unknown type "Box"'),
        ({"types.box.parents": ["box", "box", "Bxo"]}, 'types.box.parents[2]: unknown type "Bxo"'),
        ({"types|": SMALL["types"]["box"]}, "types.: '' is not a valid name"),
        ({"facets|": SMALL["facets"]["people"]}, "facets.: '' is not a valid name"),
        (
            {"facets|ΑΣ": SMALL["facets"]["people"], "facets|ασ": SMALL["facets"]["people"]},
            'facets.ασ: differs from "ΑΣ" in letter case',
        ),
        (
            {"facets.people.displayNames": {"9" * 5000: "x"}},
            "facets.people.displayNames: '99999999999999999999' is not a culture id",
        ),
        ({"facets.people.displayNames": {"01033": "x"}}, "facets.people.displayNames: '01033' is not a culture id"),
        ({"facets.people.displayNames": {"1013": "x"}}, "facets.people.displayNames: '1013' is not a culture id"),
        ({"viewSets.idle": {"v": {"key": "V"}}}, "viewSets.idle.v.displayNames: expected texts by culture id"),
        ({"viewSets": []}, "viewSets: expected an object"),
        ({"types.box.insertables": [7]}, "types.box.insertables[0]: expected a text"),
        ({"types.box": None}, 'types.Thing.parents[0]: unknown type "box"'),
        ({"types.BOX": SMALL["types"]["box"]}, 'types.BOX: differs from "box" in letter case only'),
        ({"types|a/b": SMALL["types"]["box"]}, "types.a/b: 'a/b' is not a valid name"),
        ({"types|.": SMALL["types"]["box"]}, "types..: '.' is not a valid name"),
        ({"facets| x": SMALL["facets"]["people"]}, "facets. x: ' x' is not a valid name"),
        ({"facets.people.views": "plian"}, 'facets.people.views: unknown view set "plian"'),
        ({"facets.people.views": {}}, "facets.people.views: a facet needs at least one view"),
        ({"facets.people.displayNames": {}}, "facets.people.displayNames: expected texts by culture id"),
        ({"facets.people.displayNames": {"en": "x"}}, "facets.people.displayNames: 'en' is not a culture id"),
        ({"facets.people.displayNames": {"1033": 5}}, "facets.people.displayNames.1033: expected a text"),
        (
            {"viewSets|plain|all of it|properties": "al"},
            'facets.people.views -> viewSets.plain.all of it.properties: expected "all" or a list of property keys',
        ),
        (
            {"viewSets|plain|all of it|isHierarchical": True},
            "facets.people.views -> viewSets.plain.all of it.rootTypes: a hierarchical",
        ),
        (
            {"properties.name.key": "nom"},
            "properties.name.key: remove this field: the name of a shared property is its key",
        ),
        ({"properties.name.displayNames": {"1033": " "}}, "properties.name.displayNames.1033: must not be blank"),
        ({"types.box.insertables": ["dot"]}, "types.box.insertables: only a type with a diagram (hasDiagram) can have"),
        (
            {"types.box.parents": ["person"]},
            'types.box.parents[0]: the type "person" is not in the facet "things, étc."',
        ),
        ({"types.box.entityTypeName": "x" * 101}, "types.box.entityTypeName: is longer than 100 characters"),
        (
            {"types.person.properties.2.key": "age"},
            'types.person.properties[2]: the property "age" is defined twice',
        ),
        (
            {"properties.name.attribute.dataType": "Text"},
            "properties.name.attribute.dataType: unknown data type 'Text'",
        ),
        (
            {"properties.name.related": {"facet": "people"}},
            "properties.name: exactly one of attribute and related is required",
        ),
        ({"properties.name.attribute": None}, "properties.name: exactly one of attribute and related is required"),
        (
            {"properties.name.attribute.selectableValues": []},
            "properties.name.attribute.selectableValues: is not allowed for MultiLineText",
        ),
        (
            {"properties.größe.attribute.selectableValues": None},
            "properties.größe.attribute.selectableValues: is required for SelectionValue",
        ),
        (
            {"properties.größe.attribute.selectableValues.1.key": None},
            "properties.größe.attribute.selectableValues[1]: only one value can be without a key",
        ),
        ({"properties|na,me": SMALL["properties"]["name"]}, "properties.na,me: 'na,me' is not a valid key"),
        ({"properties|1st": SMALL["properties"]["name"]}, "properties.1st: '1st' is not a valid key"),
        ({"propertySets.both": ["name", "gone"]}, 'propertySets.both[1]: unknown property "gone"'),
        ({"types.person.properties.2.related.maxOccurrence": 0}, "types.person.properties[2].related.maxOccurrence"),
        ({"types.person.properties.2.related.maxOccurrence": True}, "types.person.properties[2].related.maxOccurrence"),
        ({"facets": {}}, "facets: a template needs at least one facet"),
        ({"types": []}, "types: expected an object"),
    ],
)
def test_problems_have_their_place(changes: dict[str, Any], problem: str) -> None:
    document = small_template(**changes)
    with pytest.raises(Invalid) as caught:
        read_template(document)
    assert any(detail.startswith(problem) for detail in caught.value.details), caught.value.details


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("types", ["dot", "person"], 'types[1]: this facet has no type "person"'),
        ("rootTypes", ["dot"], 'rootTypes[0]: this view has no type "dot"'),
        ("properties", ["name", "age"], 'properties[1]: none of its types has a property "age"'),
        ("layouts", ["tall"], 'layouts[0]: unknown layout "tall"'),
        ("typeOverrides", {"dot": {}}, 'typeOverrides.dot: this view has no type "dot"'),
        (
            "typeOverrides",
            {"box": {"properties": ["größe"]}},
            "typeOverrides.box.properties[0]: none of its types has a property",
        ),
        ("isHierarchical", False, "rootTypes: only a hierarchical view can have root types"),
        ("key", "", "key: expected a text"),
    ],
)
def test_problems_in_a_view(field: str, value: Any, problem: str) -> None:
    document = small_template()
    document["facets"]["things, étc."]["views"]["Tree"][field] = value
    with pytest.raises(Invalid) as caught:
        read_template(document)
    place = f"facets.things, étc..views.Tree.{problem}"
    assert any(detail.startswith(place) for detail in caught.value.details), caught.value.details


@pytest.mark.parametrize(
    ("key", "definition", "problem"),
    [
        ("version", {"attribute": {"dataType": "Decimal", "isInvariantCulture": True}}, "attribute.dataType: the server derives version, so its data type must be SingleLineText or MultiLineText"),
        ("version", {"attribute": {"dataType": "SingleLineText"}}, "attribute.isInvariantCulture: the server derives version with one value for all cultures"),
        ("stereotype", {"attribute": {"dataType": "Html", "isInvariantCulture": True}}, "attribute.dataType: the server derives stereotype, so its data type must be SingleLineText"),
        ("isReleased", {"attribute": {"dataType": "Integer", "isInvariantCulture": True}}, "attribute.dataType: the server derives isReleased, so its data type must be Boolean"),
        ("validUntil", {"attribute": {"dataType": "Date", "isInvariantCulture": True}}, "attribute.dataType: the server derives validUntil, so its data type must be DateTime"),
        ("changedOn", {"related": {"facet": "people"}}, "related: the server derives changedOn as an attribute"),
        ("gotoUrl", {"attribute": {"dataType": "Url", "isInvariantCulture": True}}, "attribute.isInvariantCulture: the server derives gotoUrl with one value per culture"),
        ("authorNote", {"attribute": {"dataType": "Html"}}, "attribute.dataType: the server derives authorNote, so its data type must be SingleLineText"),
        ("majorVersion", {"attribute": {"dataType": "SingleLineText", "isInvariantCulture": True}}, "attribute.dataType: the server derives majorVersion, so its data type must be Integer"),
        ("releaseHistory", {"attribute": {"dataType": "SingleLineText"}}, "attribute: the server derives releaseHistory as a related context"),
    ],
)  # fmt: skip
def test_derived_properties_have_a_fixed_definition(key: str, definition: Any, problem: str) -> None:
    names = {"displayNames": {"1033": key}}
    for changes, place in (
        ({f"properties.{key}": names | definition}, f"properties.{key}"),
        ({"types.box.properties": [{"key": key} | names | definition]}, "types.box.properties[0]"),
    ):
        with pytest.raises(Invalid) as caught:
            read_template(small_template(**changes))
        assert [each for each in caught.value.details if each.startswith(f"{place}.{problem}")], caught.value.details


@pytest.mark.parametrize("data_type", ["Url", "SingleLineText", "MultiLineText"])
def test_goto_url_can_have_several_data_types(data_type: str) -> None:
    address = {"displayNames": {"1033": "Page"}, "attribute": {"dataType": data_type}}
    read_template(small_template(**{"properties.gotoUrl": address}))


def test_the_derived_properties_are_those_that_elements_derive() -> None:
    assert set(DERIVED_ATTRIBUTES) == DERIVED_FOR_FILTERS
    assert {*derived.CALLERS, derived.RELEASE_HISTORY} == DERIVED_CONTEXTS


def test_all_problems_are_reported_at_once() -> None:
    document = small_template(**{"types.box.color": "red", "types.Thing.facet": "x", "facets.people.typeName": None})
    with pytest.raises(Invalid) as caught:
        read_template(document)
    assert len([text for text in caught.value.details if text.split(":")[0].endswith(("color", "facet", "Name"))]) >= 3


@pytest.mark.parametrize("source", ["small", "standard"])
def test_a_written_template_reads_back_as_an_equal_blueprint(source: str) -> None:
    original = read_template(SMALL) if source == "small" else standard()
    document = write_template("x", "X", load_template("standard").cultures, original)
    assert read_template(json.loads(json.dumps(document))) == original


@pytest.mark.django_db
@pytest.mark.parametrize("source", ["small", "standard"])
def test_rows_read_back_as_an_equal_blueprint(source: str, small_file: Path, other_storage: Storage) -> None:
    template = str(small_file) if source == "small" else "standard"
    storage = StorageFactory.create(key=source, template=template)
    with tenant_scope(storage):
        stored = read_rows()
    original = read_template(SMALL) if source == "small" else standard()
    assert stored.blueprint == original
    assert set(stored.type_ids) == {each.key for each in original.types}
    with tenant_scope(other_storage):
        assert [facet.name for facet in read_blueprint().facets] == ["notes"]


class TestStandardTemplate:
    """The required content of the standard template."""

    def test_types_and_their_facets(self) -> None:
        found = {each.key: each.facet for each in standard().types}
        assert {
            **dict.fromkeys(
                (
                    "processHouse subCategory mainProcess subProcess view evStart evEnd evIntermediate task ruleAnd"
                    " ruleXor ruleOr condition processInterfacePlaceholder"
                ).split(),
                "processes",
            ),
            "product": "products",
            "user": "users",
            "userGroup": "usergroups",
            "configCulture": "cultures",
            "authToken": "automation",
            "tag": "tags",
            "kPI": "kpi",
            "inOut": "inputsoutputs",
            "orgUnit": "organization",
            "system": "it",
            "training": "learning",
            "risk": "risks",
            "requirement": "requirements",
            "knowledgeStructureDocument": "knowledge",
        }.items() <= found.items()

    def test_versioned_types(self) -> None:
        named = "mainProcess subProcess product inOut kPI orgUnit system training risk requirement knowledgeStructureDocument"
        versioned = {each.key for each in standard().types if each.is_versioned}
        assert set(named.split()) <= versioned
        assert (
            versioned & {"processHouse", "subCategory", "view", "task", "user", "userGroup", "configCulture"} == set()
        )
        assert {each.key for each in standard().types if each.static_state == "show"} == {
            "processHouse",
            "subCategory",
            "view",
        }

    def test_required_attributes_and_contexts(self) -> None:
        properties = [each for type in standard().types for each in type.properties]
        attributes = {each.key for each in properties if each.attribute}
        contexts = {each.key for each in properties if each.related}
        assert (
            set(
                (
                    "name description purp scope state1 version validFrom validUntil isReleased relOn"
                    " reasonForRevision changedOn createdOn gotoUrl authorNote processMaturity workshopImages"
                    " stereotype filterInformation firstName lastName roleAdministrator roleAnalyzer roleApprover"
                    " roleArchitect roleEditor roleInactive roleViewer userFirstLogin userLastLogin userLoginCount"
                    " lcid isAvailableForReporting cultureIsDefault id"
                ).split()
            )
            <= attributes
        )
        assert (
            set(
                (
                    "owner author changedBy createdBy qualityManager guidelines hasInput hasOutput kpi"
                    " organizationFilters releaseHistory requirements risks secondarySystemsInput"
                    " secondarySystemsOutput systems tagFilters trainings relBy reviewer secondaryAuthors hasCulture"
                    " hasSecondaryCultures userGroups"
                ).split()
            )
            <= contexts
        )

    def test_general_properties(self) -> None:
        attributes = (
            "name description purp scope stereotype version state1 validFrom validUntil isReleased relOn"
            " reasonForRevision changedOn createdOn gotoUrl authorNote workshopImages"
        )
        contexts = (
            "owner author secondaryAuthors reviewer qualityManager changedBy createdBy relBy releaseHistory"
            " organizationFilters tagFilters"
        )
        of_processes = (
            "processMaturity guidelines hasInput hasOutput kpi requirements risks systems secondarySystemsInput"
            " secondarySystemsOutput trainings"
        )
        above = {"processHouse", "subCategory", "mainProcess", "subProcess", "view"}
        for type in standard().types:
            keys = {each.key for each in type.properties}
            if type.is_versioned or type.key in above:
                assert set(f"{attributes} {contexts}".split()) <= keys, type.key
            if type.key in above:
                assert set(of_processes.split()) <= keys, type.key
            if type.lives_in_diagrams:
                needed = "name description validUntil changedOn createdOn gotoUrl hasInput hasOutput systems"
                assert set(needed.split()) <= keys, type.key

    def test_release_history_stays_in_the_facet(self) -> None:
        for type in standard().types:
            for each in type.properties:
                if each.key == "releaseHistory":
                    assert each.related is not None
                    assert each.related.facet == type.facet

    def test_the_maturity_of_processes(self) -> None:
        (maturity,) = {each for type in standard().types for each in type.properties if each.key == "processMaturity"}
        assert maturity.attribute is not None
        assert [value.key for value in maturity.attribute.selectable_values] == [
            None,
            "defined",
            "implemented",
            "trained",
            "isLived",
            "isMeasured",
            "getsImproved",
        ]

    def test_every_data_type_is_used(self) -> None:
        used = {each.attribute.data_type for type in standard().types for each in type.properties if each.attribute}
        assert used == set(DataType)

    def test_every_text_has_both_languages(self) -> None:
        def names(value: Any) -> Any:
            for part in ("display_names", "messages"):
                if hasattr(value, part):
                    yield value, dict(getattr(value, part))
            for part in (
                "facets views types properties layouts attribute selectable_values cycles states transitions rules"
            ).split():
                inner = getattr(value, part, None)
                for item in inner if isinstance(inner, tuple) else [inner]:
                    if item is not None and not isinstance(item, str):
                        yield from names(item)

        for value, found in names(standard()):
            assert set(found) == {1031, 1033}, value
            assert all(found.values()), value

    def test_the_release_cycle(self) -> None:
        """D21, with states and transitions in the order of the answers."""
        (cycle,) = standard().cycles
        assert [(each.key, each.category) for each in cycle.states] == [
            ("inProcess", "draft"),
            ("inReview", "review"),
            ("readyForQa", "review"),
            ("readyForRelease", "review"),
            ("released", "published"),
            ("inEffect", "published"),
            ("requestToExpire", "published"),
            ("expired", "retired"),
        ]
        assert [(each.key, each.source, each.target, each.task) for each in cycle.transitions] == [
            ("InProcessToInReview", "inProcess", "inReview", ""),
            ("InProcessToReadyForQA", "inProcess", "readyForQa", ""),
            ("InProcessToReadyForRelease", "inProcess", "readyForRelease", ""),
            ("InProcessToReleased", "inProcess", "released", ""),
            ("InProcessToReleasedQA", "inProcess", "released", ""),
            ("InProcessToReleasedExternal", "inProcess", "released", ""),
            ("InReviewToInProcess", "inReview", "inProcess", ""),
            ("InReviewToReadyForQA", "inReview", "readyForQa", ""),
            ("InReviewToReadyForRelease", "inReview", "readyForRelease", ""),
            ("ReadyForQAToInProcess", "readyForQa", "inProcess", ""),
            ("ReadyForQAToReadyForRelease", "readyForQa", "readyForRelease", ""),
            ("ReadyForReleaseToInProcess", "readyForRelease", "inProcess", ""),
            ("ReadyForReleaseToReleased", "readyForRelease", "released", ""),
            ("ReleasedToRequestToExpire", "released", "requestToExpire", "Approve expiry"),
            ("InEffectToRequestToExpire", "inEffect", "requestToExpire", "Approve expiry"),
        ]
        assert cycle.takes_effect == ""
        assert {each.release_cycle for each in standard().types if each.is_versioned} == {cycle.key} == {"standard"}

    def test_the_validation_rules(self) -> None:
        """D22. A version without a name cannot enter review."""
        reviewed = ("inReview", "readyForQa", "readyForRelease", "released")
        assert [
            (each.property, each.severity, each.states, each.transitions, each.per_culture) for each in standard().rules
        ] == [
            ("name", "error", reviewed, (), True),
            ("owner", "warning", ("released",), (), False),
            ("reasonForRevision", "warning", ("released",), (), False),
        ]

    def test_the_tree_of_processes(self) -> None:
        (processes,) = (facet for facet in standard().facets if facet.name == "processes")
        tree = next(view for view in processes.views if view.name == "tree")
        assert tree.is_hierarchical
        assert {each.type for each in tree.types if each.is_root} == {"processHouse", "view"}
        parents = {each.key: set(each.parents) for each in standard().types}
        assert "processHouse" in parents["subCategory"]
        assert "subCategory" in parents["mainProcess"]
        assert "mainProcess" in parents["subProcess"]


def test_the_example_in_the_reference_loads() -> None:
    text = (environment.PROJECT_DIR / "docs/reference/templates.md").read_text(encoding="utf-8")
    examples = [
        block
        for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL)
        if '"facets"' in block and '"name"' in block
    ]
    whole = [json.loads(block) for block in examples if block.lstrip().startswith("{")]
    assert whole
    for document in whole:
        blueprint = read_template(document)
        assert (len(blueprint.facets), len(blueprint.types)) == (2, 3)
        assert (len(blueprint.cycles), len(blueprint.rules)) == (1, 2)
