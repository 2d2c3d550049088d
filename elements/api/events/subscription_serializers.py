"""Bodies of the operations on subscriptions, for the OpenAPI document."""

from __future__ import annotations

from rest_framework import serializers

from repository_site.core.rest.serializers import BodySerializer, envelope


class NewSubscriptionSerializer(BodySerializer):
    subtree = serializers.BooleanField(
        required=False, help_text="Whether the subscription includes everything below the element."
    )


class SubscriberSerializer(BodySerializer):
    name = serializers.CharField()
    userId = serializers.UUIDField(required=False, help_text="The user element; accounts without one have none.")
    subtree = serializers.BooleanField()
    since = serializers.CharField(help_text="Date-time of the subscription.")


SubscribersSerializer = envelope("Subscribers", SubscriberSerializer)
