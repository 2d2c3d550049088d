"""Bodies, parameters and responses of bulk changes, for decorators and the OpenAPI document."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers

from elements.api import query_parameters
from elements.api.element_serializers import PositionField
from elements.api.list_query import IDS as IDS
from elements.api.list_query import MOST_IDS as MOST_IDS
from elements.bulk.operations import MOST_OPERATIONS
from elements.bulk.runs import SMALL
from elements.filters.parsing import MAX_LENGTH
from elements.models import BulkRun
from repository_site.core.rest.serializers import BodySerializer, envelope

ID, FILTER, OPERATIONS, DRY_RUN = "bulkId", "filter", "operations", "dryRun"
REFERENCES = serializers.DictField(
    child=serializers.ListField(child=serializers.JSONField()), required=False, help_text="References by context."
)


class BulkValuesSerializer(BodySerializer):
    attributes = serializers.DictField(required=False, help_text="Values by name and culture; null removes a value.")
    related = REFERENCES


class BulkReferencesSerializer(BodySerializer):
    related = REFERENCES


# `parent` is an attribute of every serializer.
BulkMoveSerializer = type(
    "BulkMove",
    (BodySerializer,),
    {
        "parent": serializers.UUIDField(allow_null=True, help_text="The new parent; null for the top of the tree."),
        "position": PositionField(required=False, allow_null=True),
    },
)


# `from` is a keyword.
BulkHandOverSerializer = type(
    "BulkHandOver",
    (BodySerializer,),
    {
        "from": serializers.UUIDField(help_text="The user who leaves."),
        "to": serializers.UUIDField(help_text="The user who takes over."),
    },
)


class BulkOperationSerializer(BodySerializer):
    """One operation. It has exactly one of these fields, apart from the options of a transition."""

    set = BulkValuesSerializer(required=False)
    clear = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Attributes in all cultures, such as `scope`, or in one, such as `name[1031]`, and contexts.",
    )
    add = BulkReferencesSerializer(required=False)
    remove = BulkReferencesSerializer(required=False)
    move = BulkMoveSerializer(required=False)
    transition = serializers.CharField(required=False, help_text="The id of a transition.")
    comment = serializers.CharField(required=False, help_text="The comment of the transition.")
    ignoreWarnings = serializers.BooleanField(required=False, help_text="Apply the transition despite warnings.")
    createVersion = serializers.BooleanField(required=False, help_text="`true` creates a new version.")
    handOver = BulkHandOverSerializer(
        required=False, help_text="Replaces a user in all contexts and open tasks; requires the role Administrator."
    )
    delete = serializers.BooleanField(required=False, help_text="`true` deletes the element or the draft.")


class BulkSerializer(BodySerializer):
    exactly_one = (FILTER, IDS)
    most_items = {IDS: MOST_IDS, OPERATIONS: MOST_OPERATIONS}

    filter = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MAX_LENGTH,
        help_text="Selects elements from the list of the view, like `$filter`; empty for the whole list.",
    )
    ids = serializers.ListField(child=serializers.UUIDField(), required=False, help_text="Ids of elements.")
    operations = BulkOperationSerializer(many=True, help_text="The operations, in their order.")
    dryRun = serializers.BooleanField(required=False, help_text="`true` only reports what would happen.")


BulkPeopleSerializer = type(
    "BulkPeople",
    (BulkHandOverSerializer,),
    {"dryRun": serializers.BooleanField(required=False, help_text="`true` only reports what would happen.")},
)


class BulkRefusalSerializer(BodySerializer):
    id = serializers.UUIDField(help_text="The element.")
    reasons = serializers.ListField(child=serializers.CharField())


class BulkReportSerializer(BodySerializer):
    id = serializers.UUIDField(required=False, help_text="Missing if a preview was made at once.")
    state = serializers.ChoiceField(choices=BulkRun.State.values)
    dryRun = serializers.BooleanField()
    total = serializers.IntegerField(help_text="Number of selected elements.")
    processed = serializers.IntegerField()
    changed = serializers.IntegerField(help_text="In a preview, the elements that would change.")
    unchanged = serializers.IntegerField(help_text="Elements that are already as requested.")
    refused = serializers.IntegerField()
    reason = serializers.CharField(required=False, help_text="The reason why the run was stopped.")
    createdOn = serializers.CharField()
    finishedOn = serializers.CharField(required=False)
    filter = serializers.CharField(required=False)
    operations = serializers.ListField(child=serializers.JSONField())
    refusals = BulkRefusalSerializer(many=True, help_text="The refused elements of this page, with their reasons.")


BulkReportsSerializer = envelope("BulkReports", BulkReportSerializer)
STARTED = {
    200: OpenApiResponse(BulkReportsSerializer, description=f"At most {SMALL} elements: the report."),
    202: OpenApiResponse(BulkReportsSerializer, description="A job runs; `Location` has the address of its report."),
}
LOCATION = [
    OpenApiParameter("Location", str, OpenApiParameter.HEADER, response=[202], description="The address of the report.")
]
PAGES = query_parameters.PAGES
