"""The storage app's answers as serializers: they document and check the wire form, they do not walk it."""

from __future__ import annotations

from rest_framework import serializers

from repository_site.core.rest.schema import EXACTLY_ONE
from storage.tenancy.contexts import ContextType

EXACTLY_ONE.update(
    Facet=("displayNames", "displayName"),
    FacetView=("displayNames", "displayName"),
    AdministrationElements=("elements", "values"),
)


class DaylightTransition(serializers.Serializer[None]):
    TimeOfDay = serializers.CharField()
    Month = serializers.IntegerField(min_value=1, max_value=12)
    Week = serializers.IntegerField(min_value=1, max_value=5)
    Day = serializers.IntegerField(min_value=1, max_value=31)
    DayOfWeek = serializers.CharField()
    IsFixedDateRule = serializers.BooleanField()


class AdjustmentRule(serializers.Serializer[None]):
    DateStart = serializers.CharField()
    DateEnd = serializers.CharField()
    DaylightDelta = serializers.CharField()
    BaseUtcOffsetDelta = serializers.CharField()
    DaylightTransitionStart = DaylightTransition()
    DaylightTransitionEnd = DaylightTransition()


class TimeZone(serializers.Serializer[None]):
    Id = serializers.CharField()
    DisplayName = serializers.CharField()
    StandardName = serializers.CharField()
    DaylightName = serializers.CharField()
    BaseUtcOffset = serializers.CharField()
    SupportsDaylightSavingTime = serializers.BooleanField()
    AdjustmentRules = AdjustmentRule(many=True)


class Region(serializers.Serializer[None]):
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


class StorageInfo(serializers.Serializer[None]):
    type = serializers.ChoiceField(choices=[context.value for context in ContextType])
    tenant = serializers.CharField()
    baseTenant = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    apiUrl = serializers.CharField()
    appUrl = serializers.CharField()
    template = serializers.CharField()
    dataCultures = serializers.ListField(child=serializers.IntegerField())
    defaultDataCulture = serializers.IntegerField()
    mandatoryCultures = serializers.ListField(child=serializers.IntegerField())
    optionalCultures = serializers.ListField(child=serializers.IntegerField())
    isValid = serializers.BooleanField()
    region = Region()
    timeZone = TimeZone()


class Facet(serializers.Serializer[None]):
    name = serializers.CharField()
    displayNames = serializers.DictField(child=serializers.CharField(), required=False, help_text="4.0")
    displayName = serializers.CharField(required=False, help_text="Below 4.0.")
    views = serializers.CharField()


class Facets(serializers.Serializer[None]):
    count = serializers.IntegerField()
    values = Facet(many=True)


class FacetView(serializers.Serializer[None]):
    name = serializers.CharField()
    displayNames = serializers.DictField(child=serializers.CharField(), required=False, help_text="4.0")
    displayName = serializers.CharField(required=False, help_text="Below 4.0.")
    isHierarchical = serializers.BooleanField()
    elements = serializers.CharField()


class FacetViews(serializers.Serializer[None]):
    count = serializers.IntegerField()
    values = FacetView(many=True)


class AdministrationElement(serializers.Serializer[None]):
    facetName = serializers.CharField()
    id = serializers.UUIDField()
    creationId = serializers.UUIDField()
    type = serializers.CharField()
    displayNames = serializers.DictField(child=serializers.CharField())
    attributes = serializers.DictField(child=serializers.DictField())


class AdministrationElements(serializers.Serializer[None]):
    count = serializers.IntegerField()
    elements = AdministrationElement(many=True, required=False, help_text="4.0")
    values = AdministrationElement(many=True, required=False, help_text="Below 4.0.")
