"""Bodies, parameters and responses of permalinks, for decorators and the OpenAPI document."""

from __future__ import annotations

from rest_framework import serializers

from elements.api.query_parameters import PAGES, query_parameter
from elements.filters.parsing import MAX_LENGTH
from elements.models import LinkType
from elements.permalinks import LENGTH
from repository_site.core.rest.serializers import BodySerializer, envelope

ID, LINK_TYPE, ELEMENT = "id", "linkType", "elementId"


class PermalinkTargetSerializer(BodySerializer):
    linkType = serializers.ChoiceField(choices=LinkType.values)
    elementId = serializers.UUIDField(required=False, help_text="The element; only for `ofElement`.")
    versionId = serializers.UUIDField(required=False, help_text="The version; only for `ofVersion`.")
    facetName = serializers.CharField(required=False, help_text="For `ofSelection` and `ofOverview`.")
    viewName = serializers.CharField(required=False, help_text="A view of the facet; without it, the whole facet.")
    filter = serializers.CharField(
        required=False,
        max_length=MAX_LENGTH,
        help_text="Which elements of the facet are selected, in the filter language; only for `ofSelection`.",
    )
    culture = serializers.IntegerField(
        required=False, help_text="Data culture of the page. Without it, the page has the language of its visitor."
    )


class PermalinkSerializer(PermalinkTargetSerializer):
    id = serializers.CharField(max_length=LENGTH)
    url = serializers.CharField(help_text="The short address.")
    createdOn = serializers.CharField()


PermalinksSerializer = envelope("Permalinks", PermalinkSerializer)


LIST = [
    query_parameter(ID, "Only the permalink with this id.", maxLength=LENGTH),
    query_parameter(LINK_TYPE, "Only permalinks of this type.", enum=LinkType.values),
    query_parameter(ELEMENT, "Only permalinks of this element and of its versions.", format="uuid"),
    *PAGES,
]
