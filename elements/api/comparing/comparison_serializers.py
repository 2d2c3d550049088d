"""Parameters and responses of comparisons, for decorators and the OpenAPI document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from elements.api.element_serializers import FoundElementSerializer, ReferenceSerializer
from elements.api.query_parameters import COMPARED, PAGES, query_parameter
from elements.comparing.comparison import FROM, TO
from elements.comparing.differences import Mark
from elements.comparing.storage_changes import ChangeKind
from repository_site.core.rest.serializers import BodySerializer

WORDS, COMPARE_ADDRESS = "$words", "compareUri"


def sides(name: str, side: Any, **others: Any) -> type[BodySerializer]:
    """Return the serializer of two sides with the component name `name`. A class body cannot have a field `from`."""
    return type(name, (BodySerializer,), {FROM: side(), TO: side(), **others})


class PieceSerializer(BodySerializer):
    """A run of words."""

    mark = serializers.ChoiceField(choices=[Mark.SAME.value, Mark.ADDED.value, Mark.REMOVED.value])
    text = serializers.CharField(trim_whitespace=False)


PiecesSerializer = sides("ComparedWords", lambda: PieceSerializer(many=True))
ValueSerializer = sides(
    "ComparedValue",
    lambda: serializers.JSONField(help_text="`null` if there is no value."),
    words=PiecesSerializer(
        required=False,
        help_text="Both texts as pieces, which make up the whole text; that of markup without its tags. Only with"
        f" `{WORDS}`.",
    ),
)


class ComparedListSerializer(BodySerializer):
    added = FoundElementSerializer(many=True, required=False)
    removed = FoundElementSerializer(many=True, required=False)
    moved = FoundElementSerializer(
        many=True, required=False, help_text="Elements on both sides, in another order. As few as possible."
    )


class ComparedShapePropertiesSerializer(BodySerializer):
    shapeId = serializers.UUIDField()
    container = serializers.UUIDField(required=False, help_text="Shape of the sub-process around it.")
    attachedTo = serializers.UUIDField(required=False, help_text="Shape of the activity that it is attached to.")


class ComparedShapeSerializer(FoundElementSerializer):
    """A shape, and the element that it shows."""

    properties = ComparedShapePropertiesSerializer()


ChangedShapeSerializer = sides("ChangedShape", ComparedShapeSerializer)


class ComparedShapesSerializer(BodySerializer):
    added = ComparedShapeSerializer(many=True, required=False)
    removed = ComparedShapeSerializer(many=True, required=False)
    changed = ChangedShapeSerializer(
        many=True, required=False, help_text="Shapes with another name, or in or at another shape."
    )


class ComparedFlowSerializer(BodySerializer):
    predecessor = ReferenceSerializer()
    shape = ReferenceSerializer()
    label = serializers.DictField(  # type: ignore[assignment]  # the metaclass makes it a field
        child=serializers.CharField(), required=False, help_text="Texts by culture id."
    )


LabelSerializer = sides("ComparedLabel", lambda: serializers.CharField(allow_null=True))


class ChangedFlowSerializer(ComparedFlowSerializer):
    """A flow with another label."""

    label = serializers.DictField(child=LabelSerializer(), help_text="Texts by culture id.")


class ComparedFlowsSerializer(BodySerializer):
    added = ComparedFlowSerializer(many=True, required=False)
    removed = ComparedFlowSerializer(many=True, required=False)
    changed = ChangedFlowSerializer(many=True, required=False)


StateSerializer = sides("ComparedState", serializers.CharField)
PlaceSerializer = sides("ComparedPlace", lambda: FoundElementSerializer(allow_null=True))
ComparisonSerializer = sides(
    "Comparison",
    lambda: FoundElementSerializer(help_text="The version, with its names and its number."),
    state=StateSerializer(required=False),
    place=PlaceSerializer(
        required=False, help_text="The parents, `null` for none or one that the caller must not see."
    ),
    attributes=serializers.DictField(
        child=serializers.DictField(child=ValueSerializer()),
        required=False,
        help_text="Values that differ, by attribute and culture id; 127 means all cultures.",
    ),
    references=serializers.DictField(
        child=ComparedListSerializer(), required=False, help_text="Targets that differ, by related context."
    ),
    children=ComparedListSerializer(required=False),
    shapes=ComparedShapesSerializer(required=False),
    flows=ComparedFlowsSerializer(required=False),
)


class ChangedElementSerializer(FoundElementSerializer):
    """Reference to an element that differs between two times; to a deleted one as of the first time."""

    change = serializers.ChoiceField(choices=[each.value for each in ChangeKind])
    compareUri = serializers.CharField(required=False, help_text="Address of what differs; of changed elements only.")


class ChangedElementsSerializer(BodySerializer):
    count = serializers.IntegerField(help_text="Number of values on this page.")
    values = ChangedElementSerializer(many=True)
    changes = serializers.DictField(
        child=serializers.IntegerField(), help_text="Number of elements by `change`, on all pages."
    )
    isComplete = serializers.BooleanField(
        help_text="Always `true`: a request with more than 20,000 changes between its times gets 422."
    )


_TIME = (
    "ISO 8601, such as `2026-03-01T09:30:00`. Without an offset, the time is local to the time zone of the storage. A"
    " time in the future, or before the record of the storage begins, gets 422"
)
_POINT = f"the id or the number of a version, such as `2.0`, or a time: {_TIME}"
ELEMENT = [
    query_parameter(FROM, f"Old side: {_POINT}.", required=True),
    query_parameter(TO, "New side, like `from`. The default is the version that the caller reads now."),
    query_parameter(WORDS, "`true` adds the differences of texts by word.", type="boolean"),
    *COMPARED,
]
STORAGE = [
    query_parameter(FROM, f"First time: {_TIME}.", required=True),
    query_parameter(TO, "Second time, like `from`. The default is now."),
    *PAGES,
]
