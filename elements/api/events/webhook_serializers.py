"""Bodies, parameters and responses of webhooks, for decorators and the OpenAPI document."""

from __future__ import annotations

from datetime import timedelta

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from elements.api import query_parameters
from repository_site.core.rest.serializers import BodySerializer, envelope
from storage.models import DeliveryState, EventType, WebhookPayload
from storage.models.webhooks import LONGEST_URL
from storage.options import DEFAULT_OVERLAP
from storage.webhooks.changing import LONGEST_OVERLAP
from storage.webhooks.checking import LONGEST_NAME

OVERLAP, DELIVERIES, STATE = "overlapHours", "deliveries", "state"
MOST_DELIVERIES = 1000
ETAG = [OpenApiParameter("ETag", str, OpenApiParameter.HEADER, response=[200], description="For `If-Match`.")]
DELIVERY_PAGES = [
    *query_parameters.PAGES,
    OpenApiParameter(
        STATE,
        {"type": "string", "enum": DeliveryState.values},
        OpenApiParameter.QUERY,
        description="Only deliveries in this state; `dead` means dead letters.",
    ),
]


class BasicAuthenticationSerializer(BodySerializer):
    username = serializers.CharField(max_length=LONGEST_NAME)
    password = serializers.CharField(
        max_length=LONGEST_NAME, required=False, help_text="Never shown. If a change leaves it out, it stays."
    )


class WebhookFieldsSerializer(BodySerializer):
    events = serializers.ListField(
        child=serializers.ChoiceField(choices=EventType.values), required=False, help_text="Empty for all events."
    )
    facet = serializers.CharField(required=False, allow_null=True, help_text="Only events of this facet.")
    elementType = serializers.CharField(required=False, allow_null=True, help_text="Only events of this type.")
    state = serializers.CharField(
        required=False, allow_null=True, help_text="Only events after which the version is in this state."
    )
    payload = serializers.ChoiceField(
        choices=WebhookPayload.values,
        required=False,
        help_text="`thin` sends the event, `element` adds the element as GET returns it.",
    )
    headers = serializers.DictField(
        child=serializers.CharField(allow_null=True),
        required=False,
        help_text="Fixed headers of every request. Values are never shown; in a change, null keeps a value.",
    )
    basicAuthentication = BasicAuthenticationSerializer(required=False, allow_null=True)
    isEnabled = serializers.BooleanField(required=False)


class NewWebhookSerializer(WebhookFieldsSerializer):
    url = serializers.CharField(max_length=LONGEST_URL, help_text="Address of the receiver, http or https.")


class ChangedWebhookSerializer(WebhookFieldsSerializer):
    url = serializers.CharField(max_length=LONGEST_URL, required=False)


class WebhookSerializer(BodySerializer):
    id = serializers.UUIDField()
    url = serializers.CharField()
    events = serializers.ListField(child=serializers.ChoiceField(choices=EventType.values))
    facet = serializers.CharField(required=False)
    elementType = serializers.CharField(required=False)
    state = serializers.CharField(required=False)
    payload = serializers.ChoiceField(choices=WebhookPayload.values)
    headers = serializers.DictField(
        child=serializers.CharField(allow_null=True), help_text="Names of the headers; the values are always null."
    )
    basicAuthentication = BasicAuthenticationSerializer(required=False)
    isEnabled = serializers.BooleanField()
    disabledReason = serializers.CharField(required=False)
    oldSecretValidUntil = serializers.CharField(
        required=False, help_text="Until then, the secret from before the last rotation signs too."
    )
    createdOn = serializers.CharField()
    createdBy = serializers.CharField(help_text="The caller as in the logs, such as `token:` and the id of the token.")
    changedOn = serializers.CharField()
    changedBy = serializers.CharField()
    secret = serializers.CharField(
        required=False, help_text="Key of the signatures. Only the response that creates it contains it."
    )


WebhooksSerializer = envelope("Webhooks", WebhookSerializer)


class RotationSerializer(BodySerializer):
    overlapHours = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=LONGEST_OVERLAP // timedelta(hours=1),
        help_text=f"Hours for which the old secret still signs. Default: {DEFAULT_OVERLAP // timedelta(hours=1)}.",
    )


class RedeliverySerializer(BodySerializer):
    deliveries = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        max_length=MOST_DELIVERIES,
        help_text="Ids of deliveries. Without it, all dead letters are sent again.",
    )


class WebhookAttemptSerializer(BodySerializer):
    time = serializers.CharField()
    milliseconds = serializers.IntegerField()
    status = serializers.IntegerField(required=False, help_text="Status of the response, if there was one.")
    error = serializers.CharField(required=False)
    answer = serializers.CharField(required=False, help_text="The first bytes of the response.")


class WebhookDeliverySerializer(BodySerializer):
    id = serializers.UUIDField()
    eventId = serializers.UUIDField(help_text="Id of the CloudEvent.")
    type = serializers.CharField()
    subject = serializers.UUIDField(help_text="Messages with the same subject are sent in order.")
    state = serializers.ChoiceField(choices=DeliveryState.values)
    createdOn = serializers.CharField()
    nextAttemptOn = serializers.CharField(required=False)
    endedOn = serializers.CharField(required=False)
    attempts = WebhookAttemptSerializer(many=True)


WebhookDeliveriesSerializer = envelope("WebhookDeliveries", WebhookDeliverySerializer)
