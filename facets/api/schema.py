"""The configuration's answers as serializers, for the OpenAPI document."""

from __future__ import annotations

from rest_framework import serializers

from facets.blueprint.data_types import DataType
from repository_site.core.rest.schema import EXACTLY_ONE

EXACTLY_ONE.update(Property=("attribute", "related"))


def texts() -> serializers.DictField:
    return serializers.DictField(child=serializers.CharField(), help_text="By culture id.")


class SelectableValue(serializers.Serializer[None]):
    key = serializers.CharField(required=False, help_text="Absent for the value that selects nothing.")
    displayNames = texts()
    descriptions = texts()
    tooltips = texts()


class Attribute(serializers.Serializer[None]):
    type = serializers.CharField(help_text="Runtime type of the value, such as System.String.")
    dataType = serializers.ChoiceField(choices=[kind.value for kind in DataType])
    isInvariantCulture = serializers.BooleanField()
    selectableValues = SelectableValue(many=True, required=False)


class Related(serializers.Serializer[None]):
    relatedTypes = serializers.ListField(child=serializers.CharField(), help_text="Empty: every type of the facet.")
    canAddNew = serializers.BooleanField()
    maxOccurrence = serializers.IntegerField()
    readOnly = serializers.BooleanField()
    facet = serializers.CharField()


class Property(serializers.Serializer[None]):
    """Exactly one of `attribute` and `related` is there."""

    key = serializers.CharField()
    displayNames = texts()
    descriptions = texts()
    tooltips = texts()
    attribute = Attribute(required=False)
    related = Related(required=False)


class Layout(serializers.Serializer[None]):
    key = serializers.CharField()
    displayNames = texts()


class ElementType(serializers.Serializer[None]):
    key = serializers.CharField()
    displayNames = texts()
    descriptions = texts()
    properties = Property(many=True)
    layouts = Layout(many=True)


class ElementTypes(serializers.Serializer[None]):
    count = serializers.IntegerField()
    values = ElementType(many=True)
