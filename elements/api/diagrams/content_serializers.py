"""Bodies of the operations on diagrams, for the OpenAPI document."""

from __future__ import annotations

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from elements.api.element_serializers import (
    ElementInputSerializer,
    IdentifiedSerializer,
    IgnoredOnWriteField,
    ReferenceSerializer,
    ReferenceToWriteSerializer,
    RelatedToWriteField,
    ShapePropertiesSerializer,
    attribute_map,
)
from elements.diagrams.geometry import FARTHEST
from elements.writing.diagrams.drawing_inputs import MAX_INDEX
from repository_site.core.rest.serializers import BodySerializer


def texts_by_culture(text: str, *, required: bool = False) -> serializers.DictField:
    return serializers.DictField(child=serializers.CharField(allow_blank=True), required=required, help_text=text)


class BoundsSerializer(BodySerializer):
    """Rectangle of a shape or a lane, as drawn. `x` and `y` are its upper left corner."""

    x = serializers.FloatField(min_value=-FARTHEST, max_value=FARTHEST)
    y = serializers.FloatField(min_value=-FARTHEST, max_value=FARTHEST)
    width = serializers.FloatField(min_value=0, max_value=FARTHEST)
    height = serializers.FloatField(min_value=0, max_value=FARTHEST)


class FlowPropertiesSerializer(ShapePropertiesSerializer):
    label = texts_by_culture("Text of the flow by culture id; only with `$details=true`.")  # type: ignore[assignment]  # a field, not the attribute of DRF


class PredecessorSerializer(ReferenceSerializer):
    """Predecessor of a shape, with the flow from it."""

    properties = FlowPropertiesSerializer()


class ContentPropertiesSerializer(BodySerializer):
    """Shape of a diagram. Optional fields are present with `$details=true`, where they have a value."""

    predecessors = PredecessorSerializer(many=True)
    shapeId = serializers.UUIDField()
    bounds = BoundsSerializer(required=False)
    lane = serializers.UUIDField(required=False, help_text="Id of the lane.")
    container = serializers.UUIDField(required=False, help_text="Shape of the sub-process around this one.")
    attachedTo = serializers.UUIDField(required=False, help_text="Shape of the activity that this event belongs to.")


class ContentElementSerializer(IdentifiedSerializer):
    """Shape of a diagram with the element that it shows."""

    properties = ContentPropertiesSerializer()
    attributes = attribute_map(required=True)
    related = serializers.DictField(child=ReferenceSerializer(many=True), required=False)


class LaneSerializer(BodySerializer):
    """Lane or pool of a diagram."""

    id = serializers.UUIDField()
    name = texts_by_culture("Name by culture id.", required=True)
    element = ReferenceSerializer(required=False, help_text="Role or system whose lane this is.")
    parent = serializers.UUIDField(required=False, help_text="Id of the lane or pool around this one.")  # type: ignore[assignment]  # a field, not the attribute of DRF
    isPool = serializers.BooleanField()
    bounds = BoundsSerializer(required=False)


class ContentSerializer(BodySerializer):
    count = serializers.IntegerField()
    elements = ContentElementSerializer(many=True)
    lanes = LaneSerializer(many=True, required=False, help_text="Lanes in their order; only with `$details=true`.")


ITEM_NAME = {
    "oneOf": [
        {"type": "integer", "minimum": 0, "maximum": MAX_INDEX},
        {"type": "string", "format": "uuid"},
    ]
}


@extend_schema_field(ITEM_NAME)
class ItemNameField(serializers.JSONField):
    """Index of an item of the request, or id of an existing shape or lane."""

    def __init__(self, text: str) -> None:
        super().__init__(required=False, allow_null=True, help_text=text)


@extend_schema_field({"type": "array", "items": ITEM_NAME})
class ItemNamesField(ItemNameField):
    """Indexes of items of the request, or ids of existing shapes."""


@extend_schema_field(
    {
        "type": ["object", "null"],
        "additionalProperties": {"type": ["object", "null"], "additionalProperties": {"type": "string"}},
    }
)
class LabelsField(serializers.JSONField):
    """Texts by predecessor and culture."""


class DrawnPartSerializer(BodySerializer):
    """Shape or lane of a request. A missing value stays as it is, and `null` removes it."""

    index = serializers.IntegerField(min_value=0, max_value=MAX_INDEX, help_text="Number of the item in this request.")
    id = serializers.UUIDField(required=False, allow_null=True, help_text="Id of an existing shape or lane.")
    bounds = BoundsSerializer(required=False, allow_null=True)


class WantedShapeInfoSerializer(DrawnPartSerializer):
    """Shape of a request that replaces a diagram."""

    predecessors = ItemNamesField("Index of each preceding item, or the id of its shape.")
    labels = LabelsField(
        required=False, help_text='Texts of flows by predecessor and culture, such as `{"0": {"1033": "yes"}}`.'
    )
    lane = ItemNameField("Lane of the shape.")
    container = ItemNameField("Shape of the sub-process around this one.")
    attachedTo = ItemNameField("Shape of the activity that this event belongs to.")


class ShapeInfoSerializer(WantedShapeInfoSerializer):
    """Shape to add to a diagram, or existing shape to connect."""

    replacePredecessors = serializers.BooleanField(
        required=False, allow_null=True, help_text="Whether `predecessors` replaces those of an existing shape."
    )
    removePredecessors = ItemNamesField("Predecessors that an existing shape loses.")


class ElementToDrawSerializer(ElementInputSerializer):
    """Element of a shape: the id of an existing one, or type, attributes and references of a new one."""

    state = IgnoredOnWriteField()
    related = RelatedToWriteField(required=False)
    rootPath = IgnoredOnWriteField()


class ContentItemSerializer(BodySerializer):
    shapeInfo = ShapeInfoSerializer()
    element = ElementToDrawSerializer(required=False, allow_null=True)


class ContentToDrawSerializer(BodySerializer):
    most_items = {"values": settings.MAX_ELEMENTS}

    count = serializers.IntegerField(required=False, allow_null=True, help_text="If present, the number of values.")
    values = ContentItemSerializer(many=True)


class WantedContentItemSerializer(BodySerializer):
    shapeInfo = WantedShapeInfoSerializer()
    element = ElementToDrawSerializer(
        required=False,
        allow_null=True,
        help_text="Element of a new shape, or changed values of the element that an existing shape shows.",
    )


class LaneToWriteSerializer(DrawnPartSerializer):
    """Lane or pool of a request that replaces a diagram."""

    name = serializers.DictField(
        child=serializers.CharField(allow_blank=True), required=False, allow_null=True, help_text="Name by culture id."
    )
    element = ReferenceToWriteSerializer(
        required=False, allow_null=True, help_text="Role or system whose lane this is."
    )
    parent = ItemNameField("Lane or pool around this one: its index, or the id of an existing one.")  # type: ignore[assignment]  # a field, not the attribute of DRF
    isPool = serializers.BooleanField(required=False, allow_null=True)


class ContentToReplaceSerializer(BodySerializer):
    """All shapes of a diagram in their order, and all its lanes."""

    count = serializers.IntegerField(required=False, allow_null=True, help_text="If present, the number of values.")
    values = WantedContentItemSerializer(many=True)
    lanes = LaneToWriteSerializer(
        many=True, required=False, allow_null=True, help_text="All lanes in their order. Without it, the lanes stay."
    )


class DrawnShapeSerializer(BodySerializer):
    id = serializers.UUIDField()
    index = serializers.IntegerField()


class DrawnContentSerializer(BodySerializer):
    values = DrawnShapeSerializer(many=True)


class DiagramNoteSerializer(BodySerializer):
    """Part of a diagram that was added, changed or removed, with its new values, or its old ones if it was removed."""

    kind = serializers.ChoiceField(choices=["shape", "flow", "lane", "element", "bpmn"])
    shapeId = serializers.UUIDField(required=False, help_text="The shape, or the one that a flow leads to.")
    predecessor = serializers.UUIDField(required=False, help_text="The shape that a flow comes from.")
    laneId = serializers.UUIDField(required=False)
    id = serializers.UUIDField(required=False, help_text="Id of an element.")
    type = serializers.CharField(required=False, help_text="Type of an element.")
    element = serializers.UUIDField(required=False, help_text="Element of a shape or a lane.")
    name = texts_by_culture("Name of a lane by culture id.")
    label = texts_by_culture("Text of a flow by culture id.")  # type: ignore[assignment]  # a field, not the attribute of DRF
    bounds = BoundsSerializer(required=False)
    lane = serializers.UUIDField(required=False)
    container = serializers.UUIDField(required=False)
    attachedTo = serializers.UUIDField(required=False)
    parent = serializers.UUIDField(required=False)  # type: ignore[assignment]  # a field, not the attribute of DRF
    isPool = serializers.BooleanField(required=False)
    bpmnId = serializers.CharField(required=False)
    waypoints = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField()), required=False, help_text="Points of a line."
    )


class ReplacedContentSerializer(DrawnContentSerializer):
    """Ids in the order of the request, and the differences from the diagram before."""

    lanes = DrawnShapeSerializer(many=True)
    added = DiagramNoteSerializer(many=True)
    changed = DiagramNoteSerializer(many=True)
    removed = DiagramNoteSerializer(many=True)
