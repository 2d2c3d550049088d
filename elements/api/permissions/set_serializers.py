"""Bodies of the operations on permission sets, for the OpenAPI document."""

from __future__ import annotations

from rest_framework import serializers

from elements.api.element_serializers import IdentifiedSerializer
from facets.permission_sets import EXTEND, MODES, REPLACE, STOP, Limited
from repository_site.core.rest.serializers import BodySerializer


def permissions() -> serializers.ListField:
    return serializers.ListField(child=serializers.ChoiceField(choices=[each.value for each in Limited]), min_length=1)


class GranteeInputSerializer(BodySerializer):
    id = serializers.UUIDField(help_text="A user or a group.")
    permissions = permissions()


class FacetSetInputSerializer(BodySerializer):
    users = GranteeInputSerializer(many=True, required=False)
    userGroups = GranteeInputSerializer(many=True, required=False)


class PermissionSetInputSerializer(FacetSetInputSerializer):
    mode = serializers.ChoiceField(
        choices=MODES,
        required=False,
        help_text=f"`{EXTEND}` adds to the inherited set, `{REPLACE}` (the default) applies instead of it, and `{STOP}`"
        " ends its limits.",
    )


class GranteeSerializer(IdentifiedSerializer):
    """A user or a group, and the permissions that the set gives to them."""

    expandUri = serializers.CharField()
    permissions = permissions()


class PermissionSetSerializer(BodySerializer):
    id = serializers.UUIDField(allow_null=True, help_text="Null if no set applies.")
    users = GranteeSerializer(many=True)
    userGroups = GranteeSerializer(many=True)
