"""JSON Schemas of types: operation 5 accepts what validates and refuses what does not; and the responses themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator, meta

from facets.blueprint.data_types import DataType
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.cycles import STANDARD_CYCLES
from tests.elements.handbook import ID, LINES, TEMPLATE, write_lines
from tests.factories import token_for
from tests.scale import first_quick

pytestmark = pytest.mark.django_db
Body = dict[str, Any]
SCHEMAS = "/acme/typed/_api/schema/types"
PARTS = "/acme/typed/_api/rest/facets/parts/views/detail/elements"
LABEL = {"1033": "Label"}
CHOICES = [
    {"displayNames": {"1031": "Ohne", "1033": "None"}},
    {"key": "low", "displayNames": {"1031": "Niedrig", "1033": "Low"}},
    {"key": "high", "displayNames": {"1031": "Hoch", "1033": "High"}},
]
FILE = {"address": "a1", "title": "Board"}
GOOD: dict[DataType, list[Any]] = {
    DataType.SINGLE_LINE_TEXT: ["", "x", "ü 𝄞 <&>", " kept "],
    DataType.MULTI_LINE_TEXT: ["a\nb\u2028c", "\t"],
    DataType.HTML: ["<p>a</p>", "plain", '<?xml version="1.0"?><ul><li>b</li></ul>'],
    DataType.SELECTION_VALUE: ["low", "high"],
    DataType.MULTI_SELECTION_VALUE: [[], ["low"], ["high", "low"]],
    DataType.BOOLEAN: [True, False],
    DataType.INTEGER: [0, -5, 2**63 - 1, -(2**63)],
    DataType.DECIMAL: [1, 1.5, -0.25, 2**70],
    DataType.DATE: ["2026-12-31", "2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31"],
    DataType.DATE_TIME: ["2026-12-31T13:45:00", "2024-02-29T23:59:59.1234567", "0001-01-01T00:00:00"],
    DataType.URL: ["https://example.org/a?b=c#d", "", "database:x", "mailto:a@example.org", "/data:"],
    DataType.FILES: [[], [FILE], [{**FILE, "fullAddress": "https://example.org", "mimeType": "a/b", "protocol": "x"}]],
}
BAD: dict[DataType, list[Any]] = {
    DataType.SINGLE_LINE_TEXT: [1, True, [], {}, "a\nb", "a\n", "\r", "\u2028", "a\u0085", "\u0000"],
    DataType.MULTI_LINE_TEXT: [1, False, ["a"], "\u0000"],
    DataType.HTML: [1, {"a": "b"}, "a\u0000"],
    DataType.SELECTION_VALUE: ["middle", "", "LOW", 1, ["low"]],
    DataType.MULTI_SELECTION_VALUE: ["low", ["low", "low"], ["middle"], [None], [["low"]]],
    DataType.BOOLEAN: ["true", 1, 0, []],
    DataType.INTEGER: ["1", True, 1.5, 2**63, -(2**63) - 1],
    DataType.DECIMAL: ["1", True, [1]],
    DataType.DATE: ["2026-02-29", "1900-02-29", "2026-13-01", "2026-04-31", "2026-1-1", "2026-12-31\n", "20261231",
                    "0000-01-01", "0000-02-29", "2026-12-31T00:00:00", 20261231],
    DataType.DATE_TIME: ["2026-12-31", "2026-12-31T24:00:00", "2026-12-31T23:60:00", "2026-12-31T23:59:60", "2026-02-29T00:00:00",
                         "2026-12-31T13:45:00Z", "2026-12-31T13:45:00\n", "2026-12-31T13:45:00.12345678", 1],
    DataType.URL: ["javascript:alert(1)", " Java\tScript:x", "data:text/html,x", "a\nb", 1, "\u200bvbscript:x"],
    DataType.FILES: [FILE, [{}], [{"title": "x"}], [{**FILE, "size": 1}], [{"address": 1}], ["a1"],
                     [{"address": "javascript:x"}], [{**FILE, "fullAddress": "data:x"}]],
}  # fmt: skip


def attribute(kind: DataType) -> Body:
    values = {"selectableValues": CHOICES} if kind.has_selectable_values else {}
    return {"displayNames": LABEL, "attribute": {"dataType": kind.value, "isInvariantCulture": True, **values}}


TYPED: Body = {
    "name": "typed",
    "title": "Typed",
    "releaseCycles": STANDARD_CYCLES,
    "cultures": TEMPLATE["cultures"],
    "properties": {
        **TEMPLATE["properties"],
        **{f"a{kind.value}": attribute(kind) for kind in DataType},
        "text": {"displayNames": LABEL, "attribute": {"dataType": "SingleLineText"}},
        "one": {"displayNames": LABEL, "related": {"facet": "users", "relatedTypes": ["user"], "maxOccurrence": 1}},
        "new": {"displayNames": LABEL, "related": {"facet": "parts", "canAddNew": True, "maxOccurrence": 2}},
        "fixed": {"displayNames": LABEL, "related": {"facet": "users", "readOnly": True}},
    },
    "facets": {
        **TEMPLATE["facets"],
        "parts": {
            "displayNames": {"1033": "Parts"},
            "typeName": "Parts",
            "views": {"detail": {"displayNames": LABEL, "key": "Detail", "properties": "all"}},
        },
    },
    "types": {
        **TEMPLATE["types"],
        "part": {
            "facet": "parts", "displayNames": {"1031": "Teil", "1033": "Part"}, "color": "#007ACC", "elementTypeName": "Part",
            "entityTypeName": "Part", "isVersioned": True, "parents": ["box ~ crate"],
            "properties": [*(f"a{kind.value}" for kind in DataType), "text", "stereotype", "validFrom", "changedOn", "one", "new",
                           "fixed", "changedBy"],
        },
        "box ~ crate": {
            "facet": "parts", "displayNames": {"1033": "Box"}, "color": "#007ACC", "elementTypeName": "Box",
            "entityTypeName": "Box", "properties": ["text", "aDate"],
        },
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def typed(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    folder = tmp_path_factory.mktemp("typed")
    template = folder / "template.json"
    template.write_text(json.dumps(TYPED), encoding="utf-8")
    with filled_storage(
        write_lines(folder / "lines.ndjson"), collection="acme", key="typed", template=str(template), anonymous="none"
    ) as storage:
        yield storage


KEPT: dict[str, Body] = {}
"""Schemas that were read before: they stay the same, and checking them takes long."""


@cache
def _validator(schema: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads(schema))


class SchemaClient:
    """Posts elements after validating them against the schema of their type."""

    def __init__(self, storage: Storage, api: ApiClient) -> None:
        self.api, self.token = api, token_for(storage, Role.ADMINISTRATOR)

    @property
    def schema(self) -> Body:
        return self.schema_of("part")

    def schema_of(self, type: str) -> Body:
        if type not in KEPT:
            KEPT[type] = self.ask_for(type)
        return KEPT[type]

    def ask_for(self, type: str) -> Body:
        response = self.api.get(f"{SCHEMAS}/{type}", token=self.token)
        assert response.status_code == 200, response.content
        schema: Body = response.json()
        meta.validate(schema)
        return schema

    def validates(self, element: Body, schema: Body | None = None) -> bool:
        return _validator(json.dumps(schema or self.schema)).is_valid(element)

    def post(self, *elements: Body, address: str = PARTS) -> Any:
        body = {"elements": elements}
        return self.api.post(address, body, content_type="application/json", token=self.token)


@pytest.fixture
def desk(typed: Storage, api: ApiClient) -> SchemaClient:
    return SchemaClient(typed, api)


def part(**attributes: Body) -> Body:
    return {"type": "part", "attributes": attributes}


@pytest.mark.parametrize("kind", first_quick(DataType, 4))
def test_valid_values_are_accepted_and_others_refused(desk: SchemaClient, kind: DataType) -> None:
    good = [part(**{f"a{kind.value}": {"127": value}}) for value in [*GOOD[kind], None]]
    assert [element for element in good if not desk.validates(element)] == []
    response = desk.post(*good)
    assert response.status_code == 200, response.content
    for value in BAD[kind]:
        element = part(**{f"a{kind.value}": {"127": value}})
        assert not desk.validates(element), value
        assert desk.post(element).status_code in (400, 422), value


PERSON = {"id": ID["anna"]}
ELEMENTS: list[tuple[str, Body, bool]] = [
    ("nothing but the type", {"type": "part"}, True),
    ("no type", {"attributes": {}}, False),
    ("another type", {"type": "system"}, False),
    ("the facet", {"type": "part", "facetName": "parts"}, True),
    ("another facet", {"type": "part", "facetName": "it"}, False),
    ("the type and the facet in another letter case", {"type": "PART", "facetName": "Parts"}, True),
    ("the type with a space", {"type": "part "}, False),
    ("the type with an end of line", {"type": "part\n"}, False),
    ("a facet without letters", {"type": "part", "facetName": ""}, False),
    ("the first state", {"type": "part", "state": "inProcess"}, True),
    ("another state", {"type": "part", "state": "released"}, False),
    ("a read-only field", {"type": "part", "setReadOnly": True, "children": 1, "displayNames": None}, True),
    ("an unknown field", {"type": "part", "surprise": 1}, False),
    ("no parts", {"type": "part", "attributes": None, "related": None, "rootPath": None, "stereotype": None}, True),
    ("attributes as a list", {"type": "part", "attributes": []}, False),
    ("an unknown attribute", part(surprise={"127": "x"}), False),
    ("a read-only attribute", part(changedOn={"127": "nonsense"}, version={"127": "9.9"}), True),
    ("an attribute without cultures", part(text="x"), False),  # type: ignore[arg-type]  # that is the point
    ("data cultures", part(text={"1031": "a", "1033": "b"}), True),
    ("no data culture", part(text={"1036": "a"}), False),
    ("127 where the culture matters", part(text={"127": "a"}), False),
    ("a culture where it does not", part(aDate={"1033": "2026-12-31"}), False),
    ("a stereotype", {"type": "part", "stereotype": "x" * 200}, True),
    ("a stereotype that is too long", {"type": "part", "stereotype": "x" * 201}, False),
    ("a stereotype of two lines", {"type": "part", "stereotype": "a\nb"}, False),
    ("a stereotype as an attribute", part(stereotype={"127": "fine"}), True),
    ("a validity", part(validFrom={"127": "2026-01-01T00:00:00"}), True),
    ("no validity", part(validFrom={"127": "tomorrow"}), False),
    ("a reference", {"type": "part", "related": {"one": [PERSON]}}, True),
    ("a reference with more", {"type": "part", "related": {"one": [{**PERSON, "type": "user", "expandUri": "x", "state": 1}]}}, True),
    ("a reference of another type", {"type": "part", "related": {"one": [{"id": ID["erp"], "type": "system"}]}}, False),
    ("a reference in another letter case", {"type": "part", "related": {"one": [{**PERSON, "type": "USER", "facetName": "Users"}]}}, True),
    ("a reference with a letter that is the same", {"type": "part", "related": {"one": [{**PERSON, "type": "u\u017fer"}]}}, True),
    ("too many references", {"type": "part", "related": {"one": [PERSON, {"id": ID["ben"]}]}}, False),
    ("a reference to nothing", {"type": "part", "related": {"one": [{}]}}, False),
    ("a reference by null", {"type": "part", "related": {"one": [{"id": None}]}}, False),
    ("no list of references", {"type": "part", "related": {"one": PERSON}}, False),
    ("an unknown context", {"type": "part", "related": {"surprise": []}}, False),
    ("a read-only context", {"type": "part", "related": {"changedBy": "x", "relBy": 1}}, True),
    ("a new target where none can be", {"type": "part", "related": {"one": [{"type": "user", "attributes": {}}]}}, False),
    ("a new target", {"type": "part", "related": {"new": [{"type": "box ~ crate", "attributes": {"text": {"1033": "n"}}}]}}, True),
    ("a new target in another letter case", {"type": "part", "related": {"new": [{"type": "BOX ~ Crate", "attributes": {}}]}}, True),
    ("a new target with wrong values", {"type": "part", "related": {"new": [{"type": "box ~ crate", "attributes": {"aDate": {"127": "n"}}}]}}, False),
    ("a new target without attributes", {"type": "part", "related": {"new": [{"type": "box ~ crate"}]}}, False),
    ("a new target of another type", {"type": "part", "related": {"new": [{"type": "user", "attributes": {}}]}}, False),
    ("unfiled", {"type": "part", "rootPath": []}, True),
    ("a parent of a wrong type", {"type": "part", "rootPath": [{"id": ID["house"], "type": "processHouse"}]}, False),
    ("a parent of a wrong type in another letter case", {"type": "Part", "rootPath": [{"id": ID["house"], "type": "PROCESSHOUSE"}]}, False),
    ("no GUID", {"id": "x", "type": "part"}, False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("element", "is_right"), first_quick([case[1:] for case in ELEMENTS], 12), ids=[case[0] for case in ELEMENTS]
)
def test_valid_elements_are_accepted_and_others_refused(desk: SchemaClient, element: Body, is_right: bool) -> None:
    assert desk.validates(element) == is_right
    status = desk.post(element).status_code
    assert status == 200 if is_right else status in (400, 409, 422), status


@pytest.mark.long
@pytest.mark.on_cluster
def test_elements_as_read_validate_and_can_be_posted_back(desk: SchemaClient) -> None:
    """All elements of the handbook through all views that show them, as far as they can be changed."""
    schemas = {each["x-type"]["key"]: each for each in desk.api.get(SCHEMAS, token=desk.token).json()["values"]}
    posted = 0
    for facet in ("processes", "it", "users", "cultures"):
        for view in TEMPLATE["facets"][facet]["views"]:
            address = f"/acme/typed/_api/rest/facets/{facet}/views/{view}/elements"
            for element in desk.api.get(address, token=desk.token).json()["elements"]:
                assert desk.validates(element, schemas[element["type"]]), element
                assert desk.post(element, address=address).status_code == 200, element
                posted += 1
    assert posted > len(LINES) / 2


def test_types_that_are_created_elsewhere_can_only_be_changed(desk: SchemaClient) -> None:
    for type in ("task", "authToken"):
        schema = desk.schema_of(type)
        assert not desk.validates({"type": type}, schema)
        assert desk.validates({"id": ID["token"], "type": type}, schema)


def test_the_schema_of_a_type(desk: SchemaClient) -> None:
    """Whole parts of the response, by any spelling of the name."""
    schema = desk.schema_of("PART")
    assert schema == desk.schema
    assert {key: schema[key] for key in ("$schema", "title", "x-displayNames", "x-type", "x-cultures")} == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Part",
        "x-displayNames": {"1031": "Teil", "1033": "Part"},
        "x-type": {
            "key": "part",
            "facet": "parts",
            "isVersioned": True,
            "isArchitectural": False,
            "hasDiagram": False,
            "livesInDiagrams": False,
            "parents": ["box ~ crate"],
            "insertables": [],
            "states": [
                "inProcess", "inReview", "readyForQa", "readyForRelease", "released", "inEffect", "requestToExpire",
                "expired",
            ],
        },
        "x-cultures": {"data": [1031, 1033], "default": 1033, "mandatory": [1033]},
    }  # fmt: skip
    attributes = schema["properties"]["attributes"]["properties"]
    assert attributes["changedOn"] == {
        "title": "Label",
        "x-displayNames": {"1031": "Label", "1033": "Label"},
        "x-dataType": "DateTime",
        "x-isInvariantCulture": True,
        "readOnly": True,
    }
    assert attributes["aSelectionValue"]["properties"]["127"] == {
        "oneOf": [
            {"const": None, "title": "None", "x-displayNames": {"1031": "Ohne", "1033": "None"}},
            {"const": "low", "title": "Low", "x-displayNames": {"1031": "Niedrig", "1033": "Low"}},
            {"const": "high", "title": "High", "x-displayNames": {"1031": "Hoch", "1033": "High"}},
        ]
    }
    contexts = schema["properties"]["related"]["properties"]
    assert contexts["one"] == {
        "title": "Label",
        "x-displayNames": {"1031": "Label", "1033": "Label"},
        "x-facet": "users",
        "x-relatedTypes": ["user"],
        "x-canAddNew": False,
        "type": "array",
        "maxItems": 1,
        "items": {
            "$ref": "#/$defs/reference",
            "properties": {
                "type": {
                    "type": ["string", "null"],
                    "pattern": r"^(?:[uU][sSſ][eE][rR])(?![\s\S])",
                    "examples": ["user"],
                }
            },
            "anyOf": [
                {"required": ["id"], "properties": {"id": {"type": "string"}}},
                {"required": ["versionId"], "properties": {"versionId": {"type": "string"}}},
            ],
        },
    }
    assert contexts["fixed"]["readOnly"] is True


def test_all_types_in_their_order(desk: SchemaClient) -> None:
    answer = desk.api.get(f"{SCHEMAS}/", token=desk.token).json()
    assert [each["x-type"]["key"] for each in answer["values"]] == list(TYPED["types"])
    assert answer["count"] == len(TYPED["types"])
    assert answer["values"][-2] == desk.schema
    posted = desk.api.post(SCHEMAS, content_type="application/json", token=desk.token)
    assert posted.json() == answer
    assert desk.api.post(f"{SCHEMAS}/part/", content_type="application/json", token=desk.token).json() == desk.schema


def test_refusals(desk: SchemaClient, api: ApiClient, other_storage: Storage) -> None:
    assert api.get(SCHEMAS).status_code == 401
    assert api.get(SCHEMAS, token=token_for(other_storage)).status_code == 401
    response = api.get(f"{SCHEMAS}/none", token=desk.token)
    assert (response.status_code, response.json()["message"]) == (404, "There is no type none.")
    response = api.get(f"{SCHEMAS}/parts", token=desk.token)
    assert (response.status_code, response.json()["message"]) == (404, "There is no type parts; similar: part.")
    assert api.get(f"{SCHEMAS}?$select=name", token=desk.token).status_code == 400
    assert api.put(SCHEMAS, token=desk.token).status_code == 405
