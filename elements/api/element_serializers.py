"""Bodies of the operations on elements, for the OpenAPI document."""

from __future__ import annotations

from django.conf import settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema_field
from rest_framework import serializers

from elements.locks import Lock
from elements.models import ElementChange as ChangeModel
from elements.permissions import Permission
from elements.reading.referrers import MOST_DIAGRAMS
from elements.schemas.type_schemas import DIALECT, POSITION
from elements.writing.inputs import SERVER_ATTRIBUTES, SERVER_CONTEXTS
from facets.api.facet_serializers import LayoutSerializer
from repository_site.core.rest.rendering import SVG_TYPE
from repository_site.core.rest.serializers import BodySerializer, envelope


def attribute_map(*, required: bool = False) -> serializers.DictField:
    values = serializers.DictField(
        child=serializers.JSONField(), help_text="Values by culture id; 127 means all cultures."
    )
    return serializers.DictField(child=values, required=required)


def plain_values() -> serializers.DictField:
    return serializers.DictField(
        child=serializers.JSONField(),
        required=False,
        help_text="Plain values by attribute, in place of `attributes`; only with `$culture`.",
    )


class IdentifiedSerializer(BodySerializer):
    """Identity of an element."""

    facetName = serializers.CharField()
    id = serializers.UUIDField()
    versionId = serializers.UUIDField(required=False, help_text="Id of the version; present for versioned types.")
    creationId = serializers.UUIDField(
        required=False, help_text="Usually equals `id`; present for types without versions."
    )
    type = serializers.CharField()
    state = serializers.CharField(required=False)
    stereotype = serializers.CharField(required=False)


class ShapePropertiesSerializer(BodySerializer):
    shapeId = serializers.UUIDField()


class NestedReferenceSerializer(IdentifiedSerializer):
    """Reference below an expanded reference."""

    exactly_one = ("versionId", "creationId")

    attributes = attribute_map()
    values = plain_values()


class ReferenceSerializer(IdentifiedSerializer):
    """Reference to an element. `related` is present if the reference is expanded, `attributes` if the request asks for
    names or other attributes of references."""

    exactly_one = ("versionId", "creationId")

    properties = ShapePropertiesSerializer(required=False)
    expandUri = serializers.CharField(required=False)
    attributes = attribute_map()
    values = plain_values()
    related = serializers.DictField(child=NestedReferenceSerializer(many=True), required=False)


class BelowElementSerializer(IdentifiedSerializer):
    """Child or content of an element: a reference, or the full element in reporting."""

    expandUri = serializers.CharField(required=False)
    attributes = attribute_map()
    values = plain_values()
    related = serializers.DictField(child=ReferenceSerializer(many=True), required=False)


class VersionElementSerializer(IdentifiedSerializer):
    """Version of an element: a reference, or the full version in reporting."""

    displayNames = serializers.DictField(child=serializers.CharField(), required=False)
    displayName = serializers.CharField(
        required=False, help_text="Name of the type, in place of `displayNames`; only with `$culture`."
    )
    expandUri = serializers.CharField(required=False)
    attributes = attribute_map()
    values = plain_values()
    related = serializers.DictField(child=ReferenceSerializer(many=True), required=False)
    children = BelowElementSerializer(many=True, required=False)
    content = BelowElementSerializer(many=True, required=False)
    rootPath = ReferenceSerializer(many=True, required=False)


class ElementSerializer(VersionElementSerializer):
    """Element in one of its versions."""

    exactly_one = ("versionId", "creationId")

    versions = VersionElementSerializer(many=True, required=False)


class ElementsSerializer(BodySerializer):
    exactly_one = ("elements", "values")

    count = serializers.IntegerField()
    elements = ElementSerializer(many=True, required=False, help_text="List of the elements, in version 4.0.")
    values = ElementSerializer(many=True, required=False, help_text="List of the elements, in versions before 4.0.")


ReportSerializer = envelope("Report", ElementSerializer)


ELEMENT_LIST = OpenApiResponse(ElementsSerializer)
DiagramLayoutsSerializer = envelope("DiagramLayouts", LayoutSerializer)
PICTURE = {(200, SVG_TYPE): OpenApiResponse(OpenApiTypes.STR, "The diagram as SVG.")}


class AttributeMapSerializer(BodySerializer):
    count = serializers.IntegerField(help_text="Number of attributes.")
    values = attribute_map(required=True)


class RelatedMapSerializer(BodySerializer):
    count = serializers.IntegerField(help_text="Number of related contexts.")
    values = serializers.DictField(child=ReferenceSerializer(many=True))


class FoundElementSerializer(IdentifiedSerializer):
    """Reference to an element, with its names."""

    exactly_one = ("versionId", "creationId")

    expandUri = serializers.CharField()
    attributes = attribute_map()


class DiagramOfReferrerSerializer(FoundElementSerializer):
    """Element whose diagram shows another one, and the shape that does."""

    properties = ShapePropertiesSerializer()


class ReferrerSerializer(FoundElementSerializer):
    """Element that refers to another one, with its names and the diagrams that show it."""

    context = serializers.CharField(  # type: ignore[assignment]  # the metaclass makes it a field
        help_text="Related context in which the element refers."
    )
    diagrams = DiagramOfReferrerSerializer(
        many=True, required=False, help_text=f"Diagrams that show the element, at most {MOST_DIAGRAMS}."
    )


class ReferrersSerializer(BodySerializer):
    count = serializers.IntegerField(help_text="Number of values on this page.")
    values = ReferrerSerializer(many=True)
    contexts = serializers.DictField(
        child=serializers.IntegerField(), help_text="Number of referring elements by context, on all pages."
    )
    isComplete = serializers.BooleanField(
        help_text="`false` if the element has so many references that not all of them were read."
    )


class ElementInfoSerializer(BodySerializer):
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


ElementInfosSerializer = envelope("ElementInfos", ElementInfoSerializer)


@extend_schema_field({"description": "Read-only; ignored on write."})
class IgnoredOnWriteField(serializers.JSONField):
    def __init__(self) -> None:
        super().__init__(required=False)


@extend_schema_field(
    {
        "type": ["object", "null"],
        "description": "Values by attribute and culture id; `null` removes a value. Read-only attributes are ignored.",
        "patternProperties": {f"^({'|'.join(sorted(SERVER_ATTRIBUTES))})$": {"readOnly": True}},
        "additionalProperties": {"type": "object", "additionalProperties": True},
    }
)
class AttributesToWriteField(serializers.DictField):
    """Attributes of a request; `attribute_map` has those of a response."""


@extend_schema_field(
    {
        "type": ["object", "null"],
        "description": (
            "References by related context. The list of a context replaces all its references. Read-only contexts are"
            " ignored."
        ),
        "patternProperties": {f"^({'|'.join(sorted(SERVER_CONTEXTS))})$": {"readOnly": True}},
        "additionalProperties": {
            "type": "array",
            "items": {"$ref": "#/components/schemas/ReferenceToWriteRequest"},
        },
    }
)
class RelatedToWriteField(serializers.DictField):
    """References of a request, by related context."""


@extend_schema_field(
    {
        **POSITION,
        "description": (
            "Place among the children of the parent: a number from 0 on, or the id of a sibling as `before` or"
            " `after`. Without it, an element that gets another parent becomes the last child."
        ),
    }
)
class PositionField(serializers.JSONField):
    """Place of an element of a request among its siblings."""


class ElementInputSerializer(BodySerializer):
    """Fields of an element in a request. Clients can send back an element as they read it."""

    id = serializers.UUIDField(required=False, allow_null=True)
    versionId = serializers.UUIDField(required=False, allow_null=True)
    type = serializers.CharField(required=False, allow_null=True, help_text="Case-insensitive.")
    facetName = serializers.CharField(required=False, allow_null=True, help_text="Case-insensitive.")
    stereotype = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    attributes = AttributesToWriteField(required=False)
    creationId = IgnoredOnWriteField()
    displayNames = IgnoredOnWriteField()
    expandUri = IgnoredOnWriteField()
    children = IgnoredOnWriteField()
    content = IgnoredOnWriteField()
    versions = IgnoredOnWriteField()
    properties = IgnoredOnWriteField()
    setReadOnly = IgnoredOnWriteField()


class ReferenceToWriteSerializer(ElementInputSerializer):
    """Reference to an element by its id or the id of one of its versions. Where the related context allows new
    elements, `type` and `attributes` without an id create one. Read-only fields are ignored."""

    state = IgnoredOnWriteField()
    related = IgnoredOnWriteField()
    rootPath = IgnoredOnWriteField()


class ElementToWriteSerializer(ElementInputSerializer):
    """Element to update (with `id`) or to create (without). Clients can send back an element as they read it: read-only
    fields are ignored. The JSON Schemas at `schema/types` have the exact rules of each type."""

    state = serializers.CharField(
        required=False,
        allow_null=True,
        allow_blank=True,
        help_text="If present, the current state; only transitions change it.",
    )
    related = RelatedToWriteField(required=False)
    rootPath = ReferenceToWriteSerializer(
        many=True, required=False, allow_null=True, help_text="The first item is the parent."
    )

    position = PositionField(required=False, allow_null=True)


class UpdateSerializer(BodySerializer):
    """Elements to update and create. With an empty body or `{}` the operation reads."""

    exactly_one = ("elements", "values")
    most_items = {"elements": settings.MAX_ELEMENTS, "values": settings.MAX_ELEMENTS}

    count = serializers.IntegerField(required=False, allow_null=True, help_text="If present, the number of elements.")
    elements = ElementToWriteSerializer(many=True, required=False)
    values = ElementToWriteSerializer(
        many=True, required=False, help_text="Same as `elements`, in versions before 4.0."
    )


class SuccessSerializer(BodySerializer):
    message = serializers.CharField()
    output = serializers.ChoiceField(choices=["volatile"])
    type = serializers.ChoiceField(choices=["success"])


class ElementChangeSerializer(BodySerializer):
    versionId = serializers.UUIDField()
    action = serializers.ChoiceField(choices=[each.value for each in ChangeModel.Action])
    changedOn = serializers.CharField()
    caller = serializers.CharField()
    requestId = serializers.CharField()
    before = serializers.DictField()
    after = serializers.DictField()
    changedBy = ReferenceSerializer(required=False)


ChangesSerializer = envelope("Changes", ElementChangeSerializer)


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
class TypeSchemaField(serializers.JSONField):
    """Item of the list of schemas."""


class TypeSchemasSerializer(BodySerializer):
    count = serializers.IntegerField()
    values = serializers.ListField(child=TypeSchemaField())
