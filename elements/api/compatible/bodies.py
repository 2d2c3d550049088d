"""Parameters and responses of the compatible paths, for decorators and the OpenAPI document."""

from __future__ import annotations

from django.conf import settings
from rest_framework import serializers

from elements.api.query import DEFAULT_PAGE_SIZE, MAX_PAGE
from elements.api.query_parameters import PAGE_HEADERS, PAST, number_parameter, query_parameter
from elements.filters.parsing import MAX_LENGTH
from repository_site.core.rest.serializers import BodySerializer

TAG = "compatibility"
FACET, PAGE, PAGE_SIZE = "facet", "page", "pageSize"
DATA_FACET, VIEW, LCID, FILTER, DATA_PAGE, DATA_PAGE_SIZE = "Facet", "View", "Lcid", "Filter", "Page", "PageSize"
_FIRST_PAGE = "Number of the page; the first page is 1."

REPORT = [
    query_parameter(FACET, "Name of a facet. Without it, the report has the elements of all facets."),
    number_parameter(PAGE, _FIRST_PAGE, MAX_PAGE, required=True),
    number_parameter(PAGE_SIZE, f"Elements on a page. The default is {DEFAULT_PAGE_SIZE}.", settings.MAX_PAGE_SIZE),
    *PAST,
    *PAGE_HEADERS,
]
_VIEW = query_parameter(VIEW, "Name of a view of the facet. The default is `detail`.")
_LCID = query_parameter(
    LCID,
    "Id of a data culture. Attributes then have only values in this culture and those of all cultures, and names"
    " without a culture in `Filter` mean these values.",
    type="integer",
    minimum=1,
)
DATA_LIST = [
    query_parameter(DATA_FACET, "Name of a facet.", required=True),
    _VIEW,
    _LCID,
    query_parameter(
        FILTER,
        "Filter expression, such as `name -eq 'Order parts'`; see the reference of the filter language.",
        maxLength=MAX_LENGTH,
    ),
    number_parameter(DATA_PAGE, _FIRST_PAGE, MAX_PAGE),
    number_parameter(
        DATA_PAGE_SIZE,
        f"Elements on a page. The default is {DEFAULT_PAGE_SIZE} if `{DATA_PAGE}` is given.",
        settings.MAX_PAGE_SIZE,
    ),
    *PAST,
    *PAGE_HEADERS,
]
DATA_ONE = [query_parameter(DATA_FACET, "Name of the facet of the element."), _VIEW, _LCID, *PAST]


class DataPropertiesSerializer(BodySerializer):
    name = serializers.CharField(
        allow_blank=True, help_text="In the culture `Lcid`, by default the default culture, or else in another one."
    )
    type = serializers.CharField()
    facetName = serializers.CharField()


class DataValueSerializer(BodySerializer):
    lcid = serializers.IntegerField(help_text="Culture id; 127 means all cultures.")
    value = serializers.JSONField()


class DataAttributeSerializer(BodySerializer):
    key = serializers.CharField()
    values = DataValueSerializer(many=True)


class DataChildSerializer(BodySerializer):
    id = serializers.UUIDField()
    properties = DataPropertiesSerializer()


class DataElementSerializer(DataChildSerializer):
    attributes = DataAttributeSerializer(many=True)
    children = DataChildSerializer(many=True)


class DataValuesSerializer(BodySerializer):
    values = DataElementSerializer(many=True)


class DataElementsSerializer(BodySerializer):
    data = DataValuesSerializer()  # type: ignore[assignment]  # the metaclass makes it a field
