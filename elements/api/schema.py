"""Elements and the parameters of their operations, for the OpenAPI document."""

from __future__ import annotations

from django.conf import settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema_field
from rest_framework import serializers

from elements.api.parameters import DEFAULT_PAGE_SIZE, MAX_PAGE
from elements.diagrams.layout import Direction
from elements.filters.parsing import MAX_LENGTH
from elements.locks import Lock
from elements.models import ElementChange as ChangeModel
from elements.permissions import Permission
from elements.reading.assembly.projection import RESOURCES
from elements.schemas.types import DIALECT
from elements.writing.drawing import MAX_INDEX
from elements.writing.inputs import SERVER_ATTRIBUTES, SERVER_CONTEXTS
from repository_site.core.rest.rendering import SVG_TYPE
from repository_site.core.rest.schema import EXACTLY_ONE, MOST_ITEMS

EXACTLY_ONE.update(
    Element=("versionId", "creationId"),
    Reference=("versionId", "creationId"),
    NestedReference=("versionId", "creationId"),
    Elements=("elements", "values"),
    UpdateRequest=("elements", "values"),
)
MOST_ITEMS.update(
    UpdateRequest={"elements": settings.MAX_ELEMENTS, "values": settings.MAX_ELEMENTS},
    ContentToDrawRequest={"values": settings.MAX_ELEMENTS},
)


def _query(name: str, text: str, **kind: object) -> OpenApiParameter:
    return OpenApiParameter(name, {"type": "string", **kind}, OpenApiParameter.QUERY, description=text)


def _number(name: str, text: str, most: int) -> OpenApiParameter:
    return _query(name, text, type="integer", minimum=1, maximum=most)


def _header(name: str, text: str, kind: type = str) -> OpenApiParameter:
    return OpenApiParameter(name, kind, OpenApiParameter.HEADER, description=text, response=[200])


def without(parameters: list[OpenApiParameter]) -> list[OpenApiParameter]:
    """For one method, or one class, of several that take these: it takes none of them."""
    return [OpenApiParameter(each.name, location=each.location, exclude=True) for each in parameters]


_RESOURCE = rf"\s*({'|'.join(RESOURCES)})\s*"
_FILTER = _query(
    "$filter",
    "Only what this expression is true for; see the reference of the filter language.",
    maxLength=MAX_LENGTH,
)
_RESOURCES = _query(
    "$resources",
    f"What to include, separated by commas: {', '.join(RESOURCES)}.",
    pattern=f"^{_RESOURCE}(,{_RESOURCE})*$",
)
_SELECT = _query("$select", "Attributes and related contexts to include, separated by commas.")
_EXPAND = _query("$expandRelated", "Related contexts to expand, separated by commas.")
_PAGE = _number("$page", "Number of the page, from 1.", MAX_PAGE)
_PAGE_SIZE = _number("$pageSize", f"Elements on a page; {DEFAULT_PAGE_SIZE} unless given.", settings.MAX_PAGE_SIZE)
_PAGE_SELECTION_KEY = _query("$pageSelectionKey", "Id of an element or version; its page is answered.", format="uuid")
_PAGE_HEADERS = [
    _header("X-Total-Count", "Of paged answers: how many there are on all pages.", int),
    _header("Link", "Of paged answers: the addresses of the first, previous, next and last page."),
]
WRITTEN = [_header("ETag", "Of an answer with one element: stands for its version, for `If-Match`.")]

ONE = [_FILTER, _RESOURCES, _SELECT, _EXPAND]
PAGES = [_PAGE, _PAGE_SIZE, *_PAGE_HEADERS]
LIST = [*ONE, *PAGES, _PAGE_SELECTION_KEY]
REPORT = [*ONE, *PAGES]
PART = [_FILTER, _SELECT]
FILTER_ONLY = [_FILTER]
SELECT_ONLY = [_SELECT]
RELATED = [_FILTER, _SELECT, _EXPAND]
ONE_RELATED = [_FILTER, _EXPAND]


def attribute_map(*, required: bool = False) -> serializers.DictField:
    values = serializers.DictField(
        child=serializers.JSONField(), help_text="Value by culture id; 127 for every culture."
    )
    return serializers.DictField(child=values, required=required)


class Identified(serializers.Serializer[None]):
    """What is always there of an element."""

    facetName = serializers.CharField()
    id = serializers.UUIDField()
    versionId = serializers.UUIDField(required=False, help_text="Of versioned elements.")
    creationId = serializers.UUIDField(required=False, help_text="Of elements without versions.")
    type = serializers.CharField()
    state = serializers.CharField(required=False)
    stereotype = serializers.CharField(required=False)


class ShapeProperties(serializers.Serializer[None]):
    shapeId = serializers.UUIDField()


class NestedReference(Identified):
    """What an expanded reference refers to itself."""

    attributes = attribute_map()


class Reference(Identified):
    """`related` is there when the reference was expanded; its references have no address."""

    properties = ShapeProperties(required=False)
    expandUri = serializers.CharField(required=False)
    related = serializers.DictField(child=NestedReference(many=True), required=False)


class BelowElement(Identified):
    """With reporting children and content are elements; elsewhere they are references."""

    expandUri = serializers.CharField(required=False)
    attributes = attribute_map()
    related = serializers.DictField(child=Reference(many=True), required=False)


class VersionElement(Identified):
    """With reporting versions are elements; elsewhere they are references."""

    displayNames = serializers.DictField(child=serializers.CharField(), required=False)
    expandUri = serializers.CharField(required=False)
    attributes = attribute_map()
    related = serializers.DictField(child=Reference(many=True), required=False)
    children = BelowElement(many=True, required=False)
    content = BelowElement(many=True, required=False)
    rootPath = Reference(many=True, required=False)


class Element(VersionElement):
    versions = VersionElement(many=True, required=False)


class Elements(serializers.Serializer[None]):
    count = serializers.IntegerField()
    elements = Element(many=True, required=False, help_text="4.0")
    values = Element(many=True, required=False, help_text="Below 4.0.")


class Report(serializers.Serializer[None]):
    count = serializers.IntegerField()
    values = Element(many=True)


ELEMENT_LIST = OpenApiResponse(Elements)
PICTURE_PARAMETERS = [
    OpenApiParameter("cultureId", int, OpenApiParameter.PATH, description="A data culture; names are in it."),
    OpenApiParameter("layoutKey", str, OpenApiParameter.PATH, description=" or ".join(Direction)),
]
PICTURE = {(200, SVG_TYPE): OpenApiResponse(OpenApiTypes.STR, "The diagram as SVG.")}


class AttributeMap(serializers.Serializer[None]):
    count = serializers.IntegerField(help_text="Number of attributes.")
    values = attribute_map(required=True)


class RelatedMap(serializers.Serializer[None]):
    count = serializers.IntegerField(help_text="Number of contexts.")
    values = serializers.DictField(child=Reference(many=True))


class ContentProperties(serializers.Serializer[None]):
    predecessors = Reference(many=True)
    shapeId = serializers.UUIDField()


class ContentElement(Identified):
    properties = ContentProperties()
    attributes = attribute_map(required=True)
    related = serializers.DictField(child=Reference(many=True), required=False)


class Content(serializers.Serializer[None]):
    count = serializers.IntegerField()
    elements = ContentElement(many=True)


class ElementInfo(serializers.Serializer[None]):
    elementTypeName = serializers.CharField()
    entityIds = serializers.ListField(child=serializers.UUIDField())
    entityTypeName = serializers.CharField()
    facetTypeName = serializers.CharField()
    facetViewKey = serializers.CharField()
    hasDiagram = serializers.BooleanField()
    hasEditPermission = serializers.BooleanField()
    id = serializers.UUIDField()
    insertableDynamicTypes = serializers.DictField()
    isCurrentCopyable = serializers.BooleanField()
    isCurrentInsertable = serializers.BooleanField()
    isCurrentMovable = serializers.BooleanField()
    isCurrentRemovable = serializers.BooleanField()
    isReadOnly = serializers.BooleanField()
    isReadOnlyCollection = serializers.BooleanField()
    name = serializers.CharField(allow_blank=True)
    permissions = serializers.ListField(child=serializers.ChoiceField(choices=[each.value for each in Permission]))
    readOnlyCollectionContext = serializers.ChoiceField(choices=[each.value for each in Lock])
    readOnlyContext = serializers.ChoiceField(choices=[each.value for each in Lock])
    rootPath = serializers.ListField(child=serializers.UUIDField())
    shapeId = serializers.UUIDField()
    typeColor = serializers.CharField()
    uid = serializers.CharField()


class ElementInfos(serializers.Serializer[None]):
    count = serializers.IntegerField()
    values = ElementInfo(many=True)


@extend_schema_field({"description": "Of the server: accepted and passed over."})
class ServerOwned(serializers.JSONField):
    def __init__(self) -> None:
        super().__init__(required=False)


@extend_schema_field(
    {
        "type": ["object", "null"],
        "description": "Values by name and culture id; `null` takes a value away. What the server owns is passed over.",
        "patternProperties": {f"^({'|'.join(sorted(SERVER_ATTRIBUTES))})$": {"readOnly": True}},
        "additionalProperties": {"type": "object", "additionalProperties": True},
    }
)
class AttributesToWrite(serializers.DictField):
    """What `attribute_map` describes, for requests."""


@extend_schema_field(
    {
        "type": ["object", "null"],
        "description": "A context that is given replaces that context; those of the server are passed over.",
        "patternProperties": {f"^({'|'.join(sorted(SERVER_CONTEXTS))})$": {"readOnly": True}},
        "additionalProperties": {
            "type": "array",
            "items": {"$ref": "#/components/schemas/ReferenceToWriteRequest"},
        },
    }
)
class RelatedToWrite(serializers.DictField):
    """References by context."""


class WithWhatIsRead(serializers.Serializer[None]):
    """What was read may be posted back."""

    id = serializers.UUIDField(required=False, allow_null=True)
    versionId = serializers.UUIDField(required=False, allow_null=True)
    type = serializers.CharField(required=False, allow_null=True, help_text="In any letter case.")
    facetName = serializers.CharField(required=False, allow_null=True, help_text="In any letter case.")
    stereotype = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    attributes = AttributesToWrite(required=False)
    creationId = ServerOwned()
    displayNames = ServerOwned()
    expandUri = ServerOwned()
    children = ServerOwned()
    content = ServerOwned()
    versions = ServerOwned()
    properties = ServerOwned()
    setReadOnly = ServerOwned()


class ReferenceToWrite(WithWhatIsRead):
    """An element by its id or that of one of its versions; or, where new ones can be made, its type and attributes.

    What was read may be posted back: whatever the server owns is accepted and passed over.
    """

    state = ServerOwned()
    related = ServerOwned()
    rootPath = ServerOwned()


class ElementToWrite(WithWhatIsRead):
    """With an id it is changed, without one it is made. What was read may be posted back: whatever the server owns is
    accepted and passed over. `schema/types` has the exact rules of each type."""

    state = serializers.CharField(
        required=False,
        allow_null=True,
        allow_blank=True,
        help_text="When given, as stored: states change by transitions.",
    )
    related = RelatedToWrite(required=False)
    rootPath = ReferenceToWrite(many=True, required=False, allow_null=True, help_text="The first entry is the parent.")


class Update(serializers.Serializer[None]):
    """`elements`, or `values`; with neither a body nor `{}` the operation reads."""

    count = serializers.IntegerField(required=False, allow_null=True, help_text="When given, the number of elements.")
    elements = ElementToWrite(many=True, required=False)
    values = ElementToWrite(many=True, required=False, help_text="As it is called below 4.0.")


class Success(serializers.Serializer[None]):
    message = serializers.CharField()
    output = serializers.ChoiceField(choices=["volatile"])
    type = serializers.ChoiceField(choices=["success"])


class ShapeInfo(serializers.Serializer[None]):
    index = serializers.IntegerField(min_value=0, max_value=MAX_INDEX, help_text="Local to the request.")
    id = serializers.UUIDField(required=False, allow_null=True, help_text="An existing shape to draw on from.")
    predecessors = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_INDEX), required=False, allow_null=True
    )


class ContentItem(serializers.Serializer[None]):
    shapeInfo = ShapeInfo()
    element = ReferenceToWrite(required=False, allow_null=True)


class ContentToDraw(serializers.Serializer[None]):
    count = serializers.IntegerField(required=False, allow_null=True, help_text="When given, the number of values.")
    values = ContentItem(many=True)


class DrawnShape(serializers.Serializer[None]):
    id = serializers.UUIDField()
    index = serializers.IntegerField()


class DrawnContent(serializers.Serializer[None]):
    values = DrawnShape(many=True)


class ElementChange(serializers.Serializer[None]):
    versionId = serializers.UUIDField()
    action = serializers.ChoiceField(choices=[each.value for each in ChangeModel.Action])
    changedOn = serializers.CharField()
    caller = serializers.CharField()
    requestId = serializers.CharField()
    before = serializers.DictField()
    after = serializers.DictField()
    changedBy = Reference(required=False)


class Changes(serializers.Serializer[None]):
    count = serializers.IntegerField()
    values = ElementChange(many=True)


TYPE_SCHEMA = {
    "type": "object",
    "description": "A JSON Schema, draft 2020-12.",
    "properties": {
        "$schema": {"const": DIALECT},
        "title": {"type": "string"},
        "x-type": {"type": "object", "additionalProperties": True},
        "properties": {"type": "object", "additionalProperties": True},
        "$defs": {"type": "object", "additionalProperties": True},
    },
    "required": ["$schema", "title", "x-type", "properties", "$defs"],
    "additionalProperties": True,
}


@extend_schema_field(TYPE_SCHEMA)
class TypeSchema(serializers.JSONField):
    """One of a list."""


class TypeSchemas(serializers.Serializer[None]):
    count = serializers.IntegerField()
    values = serializers.ListField(child=TypeSchema())
