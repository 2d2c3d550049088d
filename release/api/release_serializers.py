"""Parameters and bodies of the release operations and tasks, for the OpenAPI document."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from elements.api.element_serializers import ReferenceSerializer
from elements.api.query_parameters import PAGES
from elements.values.checking import LOCAL_DATE_TIME
from release.api.task_filter import ALL, ME, TaskFilter
from release.models import LifecycleEntry, Task
from release.steps.log import MAX_COMMENT
from release.tasks.reading import AGES
from repository_site.core.rest.serializers import BodySerializer, envelope

IGNORE_WARNINGS = OpenApiParameter(
    "ignoreWarnings",
    bool,
    OpenApiParameter.QUERY,
    description="`true` applies the transition despite warnings; also possible as the last path segment.",
)
_STATE = f"({'|'.join(Task.State.values)})"
_GUID: dict[str, object] = {"type": "string", "format": "uuid"}
_PERSON: dict[str, object] = {"anyOf": [{"type": "string", "enum": [ME, ALL]}, _GUID]}
_TASK_FILTERS: dict[str, dict[str, object]] = {
    "state": {"type": "string", "pattern": f"^{_STATE}(,{_STATE})*$"},
    "type": {"type": "string"},
    "element": _GUID,
    "assignee": _PERSON,
    "requester": _PERSON,
    "stuck": {"type": "string", "enum": ["true", "false"]},
}
TASKS = [
    *(
        OpenApiParameter(name, _TASK_FILTERS[name], OpenApiParameter.QUERY, description=each.extra.get("help_text", ""))
        for name, each in TaskFilter.base_filters.items()
    ),
    *PAGES,
]


class TransitionSerializer(BodySerializer):
    transitionId = serializers.CharField()
    sourceState = serializers.CharField()
    targetState = serializers.CharField()


TransitionsSerializer = envelope("Transitions", TransitionSerializer)


PostedTransitionsSerializer = envelope("PostedTransitions", TransitionSerializer, key="transitions")


class TransitionBodySerializer(BodySerializer):
    """The body is optional."""

    comment = serializers.CharField(
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=MAX_COMMENT,
        help_text="Comment for the lifecycle log.",
    )
    validUntil = serializers.RegexField(
        rf"^{LOCAL_DATE_TIME.pattern}$",
        required=False,
        allow_null=True,
        help_text="End of validity, for a transition that requests expiry, such as 2026-12-31T00:00:00.",
    )


class LifecycleStepSerializer(BodySerializer):
    number = serializers.IntegerField()
    step = serializers.ChoiceField(choices=[each.value for each in LifecycleEntry.Step])
    versionId = serializers.UUIDField()
    version = serializers.CharField(help_text="Number of the version after this step.")
    fromState = serializers.CharField(required=False)
    toState = serializers.CharField()
    transitionId = serializers.CharField(required=False)
    changedOn = serializers.CharField()
    caller = serializers.CharField()
    requestId = serializers.CharField(allow_blank=True)
    changedBy = ReferenceSerializer(required=False)
    comment = serializers.CharField(required=False)
    ignoredWarnings = serializers.ListField(child=serializers.CharField(), required=False)
    taskId = serializers.UUIDField(required=False)
    assignee = ReferenceSerializer(
        required=False, help_text="User or group that the task was assigned to at this step."
    )


LifecycleSerializer = envelope("Lifecycle", LifecycleStepSerializer)


class ReleaseTaskSerializer(BodySerializer):
    id = serializers.UUIDField()
    type = serializers.CharField()
    state = serializers.ChoiceField(choices=[each.value for each in Task.State])
    element = ReferenceSerializer()
    transitionId = serializers.CharField()
    sourceState = serializers.CharField()
    targetState = serializers.CharField()
    requestedOn = serializers.CharField()
    requester = serializers.CharField()
    requestedBy = ReferenceSerializer(required=False)
    assignee = ReferenceSerializer(required=False, help_text="User or group; absent if every approver can decide.")
    comment = serializers.CharField(required=False)
    approvals = serializers.IntegerField(
        required=False, help_text="Number of approvals that the version needs; absent if one is enough."
    )
    validUntil = serializers.CharField(required=False)
    dueOn = serializers.CharField(required=False)
    decidedOn = serializers.CharField(required=False)
    decider = serializers.CharField(required=False)
    decidedBy = ReferenceSerializer(required=False)
    decision = serializers.CharField(required=False, help_text="Comment of the user who decided.")
    isStuck = serializers.BooleanField()
    stuckOn = serializers.CharField(required=False)
    stuckReasons = serializers.ListField(
        child=serializers.ChoiceField(choices=[each.value for each in Task.Stuck]), required=False
    )


TasksSerializer = envelope("Tasks", ReleaseTaskSerializer)


class DecisionBodySerializer(BodySerializer):
    """The body is optional."""

    comment = serializers.CharField(required=False, allow_null=True, allow_blank=True, max_length=MAX_COMMENT)


class DelegationBodySerializer(BodySerializer):
    assignee = serializers.UUIDField(help_text="Id of the user who decides the task.")
    comment = serializers.CharField(required=False, allow_null=True, allow_blank=True, max_length=MAX_COMMENT)


class TaskCountSerializer(BodySerializer):
    type = serializers.CharField()
    state = serializers.ChoiceField(choices=[each.value for each in Task.State])
    age = serializers.ChoiceField(choices=AGES)
    count = serializers.IntegerField()
    stuck = serializers.IntegerField()


TaskSummarySerializer = envelope("TaskSummary", TaskCountSerializer)
