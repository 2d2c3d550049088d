"""Responses of the storage app, for the OpenAPI document."""

from __future__ import annotations

from rest_framework import serializers

from repository_site.core.rest.serializers import BodySerializer, envelope
from storage.options import MAX_EVENT_DAYS, MAX_PAST_DAYS, MAX_STUCK_AFTER_DAYS, AnonymousAccess
from storage.provisioning.setting_checks import TITLE_LENGTH
from storage.provisioning.storage_input import LONGEST_DESCRIPTION, MOST_CULTURES
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


class ListedStorageSerializer(BodySerializer):
    id = serializers.UUIDField()
    anonymousAccess = serializers.ChoiceField(choices=AnonymousAccess.values)
    apiUrl = serializers.CharField()
    appUrl = serializers.CharField()
    createdOn = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    isValid = serializers.BooleanField()
    name = serializers.CharField(help_text="Id of the storage in addresses.")
    region = serializers.CharField()
    template = serializers.CharField()
    timeZone = serializers.CharField()
    title = serializers.CharField(allow_blank=True)


ListedStoragesSerializer = envelope("ListedStorages", ListedStorageSerializer)


def _cultures(text: str) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.IntegerField(), max_length=MOST_CULTURES, required=False, allow_null=True, help_text=text
    )


def _text(text: str, max_length: int | None = None) -> serializers.CharField:
    return serializers.CharField(
        required=False, allow_null=True, allow_blank=True, help_text=text, max_length=max_length
    )


def _number(text: str, least: int, most: int | None = None) -> serializers.IntegerField:
    return serializers.IntegerField(required=False, allow_null=True, min_value=least, max_value=most, help_text=text)


class NewStorageSerializer(BodySerializer):
    name = serializers.CharField(
        max_length=63, help_text="Id of the storage in addresses: letters, digits, dots, hyphens and underscores."
    )
    title = _text("By default the name.", max_length=TITLE_LENGTH)
    description = _text("For people.", max_length=LONGEST_DESCRIPTION)
    template = _text("Name of a template of the installation, by default `standard`.")
    dataCultures = _cultures("Culture ids (LCID) in their order, by default those of the template.")
    defaultDataCulture = _number("By default the first of `dataCultures`, or that of the template.", 1)
    mandatoryCultures = _cultures("Cultures in which names are required, by default the default culture.")
    region = _text("ISO region, such as `DE`; by default that of the installation.")
    timeZone = _text("Such as `Europe/Berlin`; by default that of the installation.")
    anonymousAccess = serializers.ChoiceField(
        choices=AnonymousAccess.values,
        required=False,
        allow_null=True,
        help_text="Access of callers without a credential, by default `none`.",
    )
    baseTenant = serializers.UUIDField(
        required=False, allow_null=True, help_text="Id of another storage of the collection, the base of this one."
    )
    stuckAfterDays = _number("Days after which an open task counts as stuck.", 1, MAX_STUCK_AFTER_DAYS)
    eventDays = _number("Days for which events are kept.", 1, MAX_EVENT_DAYS)
    pastDays = _number("Days for which former states are kept, for `$asOf`.", 1, MAX_PAST_DAYS)
    quotaElements = _number("Largest number of elements; by default no limit, as for the other quotas.", 0)
    quotaBytes = _number("Largest size in bytes.", 0)
    quotaFiles = _number("Largest number of files.", 0)
    quotaHistory = _number("Largest number of changes in the history.", 0)


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
