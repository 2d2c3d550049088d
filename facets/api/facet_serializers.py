"""Type configuration, for the OpenAPI document."""

from __future__ import annotations

from rest_framework import serializers

from facets.blueprint.data_types import DataType
from repository_site.core.rest.serializers import BodySerializer, envelope


def texts() -> serializers.DictField:
    return serializers.DictField(child=serializers.CharField(), help_text="Texts by culture id.")


class SelectableValueSerializer(BodySerializer):
    key = serializers.CharField(required=False, help_text="Absent for the value that means no selection.")
    displayNames = texts()
    descriptions = texts()
    tooltips = texts()


class AttributeSerializer(BodySerializer):
    type = serializers.CharField(help_text="Runtime type of the value, such as System.String.")
    dataType = serializers.ChoiceField(choices=[kind.value for kind in DataType])
    isInvariantCulture = serializers.BooleanField()
    selectableValues = SelectableValueSerializer(many=True, required=False)


class RelatedSerializer(BodySerializer):
    relatedTypes = serializers.ListField(child=serializers.CharField(), help_text="Empty means all types of the facet.")
    canAddNew = serializers.BooleanField()
    maxOccurrence = serializers.IntegerField()
    readOnly = serializers.BooleanField()
    facet = serializers.CharField()


class PropertySerializer(BodySerializer):
    """A property is either an attribute or a related context: exactly one of `attribute` and `related` is present."""

    exactly_one = ("attribute", "related")

    key = serializers.CharField()
    displayNames = texts()
    descriptions = texts()
    tooltips = texts()
    attribute = AttributeSerializer(required=False)
    related = RelatedSerializer(required=False)


class LayoutSerializer(BodySerializer):
    key = serializers.CharField()
    displayNames = texts()


class ElementTypeSerializer(BodySerializer):
    key = serializers.CharField()
    displayNames = texts()
    descriptions = texts()
    properties = PropertySerializer(many=True)
    layouts = LayoutSerializer(many=True)


ElementTypesSerializer = envelope("ElementTypes", ElementTypeSerializer)
