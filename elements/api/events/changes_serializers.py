"""Parameters and responses of the change feed, for decorators and the OpenAPI document."""

from __future__ import annotations

from django.conf import settings
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers

from elements.api.query import DEFAULT_PAGE_SIZE, PAGE_SIZE
from elements.api.query_parameters import query_parameter
from repository_site.core.rest.serializers import BodySerializer
from storage.models import EventType

AFTER, WAIT = "$after", "$wait"
TYPE, FACET, ELEMENT_TYPE, STATE = "type", "facet", "elementType", "state"
# Proxies give up after 60 seconds.
LONGEST_WAIT = 50


class ChangeEventSerializer(BodySerializer):
    """A CloudEvent 1.0."""

    specversion = serializers.ChoiceField(choices=["1.0"])
    id = serializers.UUIDField(help_text="Id of the event. The same event always has the same id.")
    source = serializers.CharField(help_text="Path of the storage.")  # type: ignore[assignment]  # the name in the response
    type = serializers.ChoiceField(choices=[each.value for each in EventType])
    subject = serializers.UUIDField(help_text="Id of the element, the token, or the storage.")
    time = serializers.DateTimeField(help_text="Time of the change, in UTC.")
    datacontenttype = serializers.ChoiceField(choices=["application/json"])
    data = serializers.DictField(help_text="What has changed; depends on the type.")  # type: ignore[assignment]  # the name in the response


class ChangeFeedSerializer(BodySerializer):
    count = serializers.IntegerField()
    values = ChangeEventSerializer(many=True)
    next = serializers.CharField(
        help_text="Cursor after this page, for `$after`. At the end of the feed it is the cursor of the request."
    )


class GoneProblemSerializer(BodySerializer):
    error = serializers.CharField()


class GoneSerializer(BodySerializer):
    message = serializers.CharField()
    output = serializers.ChoiceField(choices=["dialog"])
    type = serializers.ChoiceField(choices=["error"])
    data = GoneProblemSerializer(many=True)  # type: ignore[assignment]  # the name in the response
    next = serializers.CharField(help_text="The oldest valid cursor.")


GONE = OpenApiResponse(GoneSerializer, "The events after this cursor were deleted; `next` is the oldest valid cursor.")


_TYPES = "|".join(each.value.replace(".", r"\.") for each in EventType)
PARAMETERS = [
    query_parameter(AFTER, "Cursor: `next` of an earlier response. Without it, the feed starts with the oldest event."),
    query_parameter(
        PAGE_SIZE,
        f"Largest number of events in the response. The default is {DEFAULT_PAGE_SIZE}.",
        type="integer",
        minimum=1,
        maximum=settings.MAX_PAGE_SIZE,
    ),
    query_parameter(
        WAIT,
        "Seconds to wait for an event if there is none yet.",
        type="integer",
        minimum=1,
        maximum=LONGEST_WAIT,
    ),
    query_parameter(TYPE, "Types of events, separated by commas.", pattern=rf"^\s*({_TYPES})\s*(,\s*({_TYPES})\s*)*$"),
    query_parameter(FACET, "Names of facets, separated by commas, case-insensitive."),
    query_parameter(ELEMENT_TYPE, "Keys of element types, separated by commas."),
    query_parameter(STATE, "States after the change, separated by commas."),
]
