"""Responses of the storage app, for the OpenAPI document."""

from __future__ import annotations

from rest_framework import serializers

from repository_site.core.rest.serializers import BodySerializer, envelope
from storage.tenancy.contexts import ContextType
from storage.tenancy.nodes import NodeRole


class DaylightTransitionSerializer(BodySerializer):
    TimeOfDay = serializers.CharField()
    Month = serializers.IntegerField(min_value=1, max_value=12)
    Week = serializers.IntegerField(min_value=1, max_value=5)
    Day = serializers.IntegerField(min_value=1, max_value=31)
    DayOfWeek = serializers.CharField()
    IsFixedDateRule = serializers.BooleanField()


class AdjustmentRuleSerializer(BodySerializer):
    DateStart = serializers.CharField()
    DateEnd = serializers.CharField()
    DaylightDelta = serializers.CharField()
    BaseUtcOffsetDelta = serializers.CharField()
    DaylightTransitionStart = DaylightTransitionSerializer()
    DaylightTransitionEnd = DaylightTransitionSerializer()


class TimeZoneSerializer(BodySerializer):
    Id = serializers.CharField()
    DisplayName = serializers.CharField()
    StandardName = serializers.CharField()
    DaylightName = serializers.CharField()
    BaseUtcOffset = serializers.CharField()
    SupportsDaylightSavingTime = serializers.BooleanField()
    AdjustmentRules = AdjustmentRuleSerializer(many=True)


class RegionSerializer(BodySerializer):
    name = serializers.CharField()
    englishName = serializers.CharField()
    displayName = serializers.CharField()
    nativeName = serializers.CharField()
    twoLetterISORegionName = serializers.CharField()
    threeLetterISORegionName = serializers.CharField()
    threeLetterWindowsRegionName = serializers.CharField()
    isMetric = serializers.BooleanField()
    geoId = serializers.IntegerField()
    currencyEnglishName = serializers.CharField()
    currencyNativeName = serializers.CharField()
    currencySymbol = serializers.CharField()
    isoCurrencySymbol = serializers.CharField()


class StorageInfoSerializer(BodySerializer):
    type = serializers.ChoiceField(choices=[context.value for context in ContextType])
    tenant = serializers.CharField(help_text="Id of the storage or of the administrative context.")
    baseTenant = serializers.CharField(help_text="Id of the base storage; a storage without one is its own base.")
    title = serializers.CharField()
    description = serializers.CharField()
    apiUrl = serializers.CharField(help_text="Address of the API, with a trailing slash.")
    appUrl = serializers.CharField(help_text="Address of the storage, with a trailing slash.")
    template = serializers.CharField()
    dataCultures = serializers.ListField(child=serializers.IntegerField(), help_text="Culture ids (LCID).")
    defaultDataCulture = serializers.IntegerField()
    mandatoryCultures = serializers.ListField(child=serializers.IntegerField())
    optionalCultures = serializers.ListField(child=serializers.IntegerField())
    isValid = serializers.BooleanField()
    region = RegionSerializer()
    timeZone = TimeZoneSerializer()


class DisplayNamedSerializer(BodySerializer):
    exactly_one = ("displayNames", "displayName")

    name = serializers.CharField()
    displayNames = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="Names by culture id, in version 4.0."
    )
    displayName = serializers.CharField(
        required=False, help_text="Name in the preferred language of the client, in versions before 4.0."
    )


class FacetSerializer(DisplayNamedSerializer):
    views = serializers.CharField(help_text="Address of the views.")


FacetsSerializer = envelope("Facets", FacetSerializer)


class FacetViewSerializer(DisplayNamedSerializer):
    isHierarchical = serializers.BooleanField()
    elements = serializers.CharField(help_text="Address of the elements.")


FacetViewsSerializer = envelope("FacetViews", FacetViewSerializer)


class AdministrationElementSerializer(BodySerializer):
    facetName = serializers.CharField()
    id = serializers.UUIDField()
    creationId = serializers.UUIDField()
    type = serializers.CharField()
    displayNames = serializers.DictField(child=serializers.CharField())
    attributes = serializers.DictField(child=serializers.DictField())


class AdministrationElementsSerializer(BodySerializer):
    exactly_one = ("elements", "values")

    count = serializers.IntegerField()
    elements = AdministrationElementSerializer(
        many=True, required=False, help_text="List of the elements, in version 4.0."
    )
    values = AdministrationElementSerializer(
        many=True, required=False, help_text="List of the elements, in versions before 4.0."
    )


class NodeSerializer(BodySerializer):
    name = serializers.CharField(help_text="Host and port, as `list_storages --nodes` shows them.")
    pool = serializers.CharField(help_text="Name of the nodes with the same rows: a primary and its replicas.")
    role = serializers.ChoiceField(
        choices=[role.value for role in NodeRole],
        help_text="`unknown` for one of several servers of `DATABASE_URL` that does not answer.",
    )
    host = serializers.CharField(help_text="`localhost` for a server that the service reaches over a socket.")
    port = serializers.IntegerField()
    isAvailable = serializers.BooleanField()
    storages = serializers.IntegerField(min_value=0, help_text="Number of storages whose rows the node has.")
    problem = serializers.CharField(required=False, help_text="Reason why the node is not available.")


NodesSerializer = envelope("Nodes", NodeSerializer)
