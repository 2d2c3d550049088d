"""Elements and the parameters of their operations, for the OpenAPI document."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers

from elements.diagrams.layout import Direction
from elements.locks import Lock
from elements.models import ElementChange as ChangeModel
from elements.permissions import Permission
from elements.reading.projection import RESOURCES
from repository_site.rest.rendering import SVG_TYPE
from repository_site.rest.schema import EXACTLY_ONE

EXACTLY_ONE.update(
    Element=("versionId", "creationId"),
    Reference=("versionId", "creationId"),
    NestedReference=("versionId", "creationId"),
    Elements=("elements", "values"),
)


def _query(name: str, text: str, kind: type = str, **options: object) -> OpenApiParameter:
    return OpenApiParameter(name, kind, OpenApiParameter.QUERY, description=text, **options)  # type: ignore[arg-type]  # passed on


_FILTER = _query("$filter", "Only what this expression is true for; see the reference of the filter language.")
_RESOURCES = _query("$resources", f"What to include, separated by commas: {', '.join(RESOURCES)}.")
_SELECT = _query("$select", "Attributes and related contexts to include, separated by commas.")
_EXPAND = _query("$expandRelated", "Related contexts to expand, separated by commas.")
_PAGE = _query("$page", "Number of the page, from 1.", int)
_PAGE_SIZE = _query("$pageSize", "Elements on a page.", int)
_PAGE_SELECTION_KEY = _query("$pageSelectionKey", "Id of an element or version; its page is answered.")

ONE = [_FILTER, _RESOURCES, _SELECT, _EXPAND]
LIST = [*ONE, _PAGE, _PAGE_SIZE, _PAGE_SELECTION_KEY]
REPORT = [*ONE, _PAGE, _PAGE_SIZE]
PAGES = [_PAGE, _PAGE_SIZE]
PART = [_FILTER, _SELECT]
FILTER_ONLY = [_FILTER]
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
    OpenApiParameter("elementId", str, OpenApiParameter.PATH, description="Id of an element or of a version."),
    OpenApiParameter("cultureId", str, OpenApiParameter.PATH, description="A data culture; names are in it."),
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


class ReferenceToWrite(serializers.Serializer[None]):
    """An element by its id or that of one of its versions; or, where new ones can be made, its type and attributes."""

    id = serializers.UUIDField(required=False)
    versionId = serializers.UUIDField(required=False)
    type = serializers.CharField(required=False)
    facetName = serializers.CharField(required=False)
    stereotype = serializers.CharField(required=False)
    attributes = attribute_map()


class ElementToWrite(ReferenceToWrite):
    """What was read may be posted back: whatever the server owns is accepted and passed over."""

    state = serializers.CharField(required=False)
    related = serializers.DictField(child=ReferenceToWrite(many=True), required=False)
    rootPath = ReferenceToWrite(many=True, required=False)


class Update(serializers.Serializer[None]):
    count = serializers.IntegerField(required=False, help_text="When given, the number of elements.")
    elements = ElementToWrite(many=True, help_text="`values` below 4.0.")


class Success(serializers.Serializer[None]):
    message = serializers.CharField()
    output = serializers.ChoiceField(choices=["volatile"])
    type = serializers.ChoiceField(choices=["success"])


class ShapeInfo(serializers.Serializer[None]):
    index = serializers.IntegerField(min_value=0, help_text="Local to the request.")
    id = serializers.UUIDField(required=False, help_text="An existing shape to draw on from.")
    predecessors = serializers.ListField(child=serializers.IntegerField(), required=False)


class ContentItem(serializers.Serializer[None]):
    shapeInfo = ShapeInfo()
    element = ReferenceToWrite(required=False)


class ContentToDraw(serializers.Serializer[None]):
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
