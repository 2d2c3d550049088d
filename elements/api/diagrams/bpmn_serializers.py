"""Bodies of the BPMN operations in the OpenAPI document."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers

from repository_site.core.rest.rendering import XML_TYPE
from repository_site.core.rest.serializers import BodySerializer

BPMN_DOCUMENT = {(200, XML_TYPE): OpenApiResponse(OpenApiTypes.STR, "The BPMN 2.0 document, in UTF-8.")}


class BpmnFormSerializer(serializers.Serializer[object]):
    file = serializers.FileField(help_text="The BPMN 2.0 document.")


BPMN_BODY = {XML_TYPE: OpenApiTypes.STR, "multipart/form-data": BpmnFormSerializer}


class BpmnCountsSerializer(BodySerializer):
    added = serializers.IntegerField()
    changed = serializers.IntegerField()
    removed = serializers.IntegerField()
    kept = serializers.IntegerField()
    lost = serializers.IntegerField()
    unchanged = serializers.IntegerField(help_text="Shapes, flows and lanes that stay as they are.")


class BpmnItemSerializer(BodySerializer):
    kind = serializers.CharField(help_text="Kind of the BPMN element, such as `messageFlow`.")
    bpmnId = serializers.CharField(allow_blank=True, help_text="Id in the document.")
    name = serializers.CharField(allow_blank=True)
    text = serializers.CharField(allow_blank=True, help_text="Details, such as the reason.")


class BpmnImportSerializer(BodySerializer):
    counts = BpmnCountsSerializer()
    added = serializers.ListField(child=serializers.DictField(), help_text="New shapes, flows, lanes and elements.")
    changed = serializers.ListField(child=serializers.DictField())
    removed = serializers.ListField(child=serializers.DictField())
    kept = BpmnItemSerializer(many=True, help_text="Parts that only the stored document has. An export contains them.")
    lost = BpmnItemSerializer(many=True, help_text="Parts that cannot be kept.")
