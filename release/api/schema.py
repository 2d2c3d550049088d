"""Transitions, the lifecycle log and tasks, for the OpenAPI document."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from elements.api import schema as element_schema
from elements.values.checking import LOCAL_DATE_TIME
from release.api.filters import ALL, ME, TaskFilter
from release.models import LifecycleEntry, Task
from release.steps.log import MAX_COMMENT
from release.tasks.reading import AGES

IGNORE_WARNINGS = OpenApiParameter(
    "ignoreWarnings",
    bool,
    OpenApiParameter.QUERY,
    description="Go on although the validation rules warn; also accepted as a further part of the address.",
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
    *element_schema.PAGES,
]


class Transition(serializers.Serializer[None]):
    transitionId = serializers.CharField()
    sourceState = serializers.CharField()
    targetState = serializers.CharField()


class Transitions(serializers.Serializer[None]):
    count = serializers.IntegerField()
    values = Transition(many=True)


class PostedTransitions(serializers.Serializer[None]):
    count = serializers.IntegerField()
    transitions = Transition(many=True)


class TransitionBody(serializers.Serializer[None]):
    """May be left out."""

    comment = serializers.CharField(
        required=False, allow_null=True, allow_blank=True, max_length=MAX_COMMENT, help_text="For the lifecycle log."
    )
    validUntil = serializers.RegexField(
        rf"^{LOCAL_DATE_TIME.pattern}$",
        required=False,
        allow_null=True,
        help_text="With a request to expire: when it is to end, such as 2026-12-31T00:00:00.",
    )


class LifecycleStep(serializers.Serializer[None]):
    number = serializers.IntegerField()
    step = serializers.ChoiceField(choices=[each.value for each in LifecycleEntry.Step])
    versionId = serializers.UUIDField()
    version = serializers.CharField(help_text="Number of the version after the step.")
    fromState = serializers.CharField(required=False)
    toState = serializers.CharField()
    transitionId = serializers.CharField(required=False)
    changedOn = serializers.CharField()
    caller = serializers.CharField()
    requestId = serializers.CharField(allow_blank=True)
    changedBy = element_schema.Reference(required=False)
    comment = serializers.CharField(required=False)
    ignoredWarnings = serializers.ListField(child=serializers.CharField(), required=False)
    taskId = serializers.UUIDField(required=False)
    assignee = element_schema.Reference(
        required=False, help_text="Whom the task was given to, who was reminded, or on whose behalf somebody decided."
    )


class Lifecycle(serializers.Serializer[None]):
    count = serializers.IntegerField()
    values = LifecycleStep(many=True)


class ReleaseTask(serializers.Serializer[None]):
    id = serializers.UUIDField()
    type = serializers.CharField()
    state = serializers.ChoiceField(choices=[each.value for each in Task.State])
    element = element_schema.Reference()
    transitionId = serializers.CharField()
    sourceState = serializers.CharField()
    targetState = serializers.CharField()
    requestedOn = serializers.CharField()
    requester = serializers.CharField()
    requestedBy = element_schema.Reference(required=False)
    assignee = element_schema.Reference(required=False, help_text="Without one it is for every approver.")
    comment = serializers.CharField(required=False)
    validUntil = serializers.CharField(required=False)
    decidedOn = serializers.CharField(required=False)
    decider = serializers.CharField(required=False)
    decidedBy = element_schema.Reference(required=False)
    decision = serializers.CharField(required=False, help_text="The comment of who decided.")
    isStuck = serializers.BooleanField()
    stuckOn = serializers.CharField(required=False)
    stuckReasons = serializers.ListField(
        child=serializers.ChoiceField(choices=[each.value for each in Task.Stuck]), required=False
    )


class Tasks(serializers.Serializer[None]):
    count = serializers.IntegerField()
    values = ReleaseTask(many=True)


class DecisionBody(serializers.Serializer[None]):
    """May be left out."""

    comment = serializers.CharField(required=False, allow_null=True, allow_blank=True, max_length=MAX_COMMENT)


class DelegationBody(serializers.Serializer[None]):
    assignee = serializers.UUIDField(help_text="The user who is to decide.")
    comment = serializers.CharField(required=False, allow_null=True, allow_blank=True, max_length=MAX_COMMENT)


class TaskCount(serializers.Serializer[None]):
    type = serializers.CharField()
    state = serializers.ChoiceField(choices=[each.value for each in Task.State])
    age = serializers.ChoiceField(choices=AGES)
    count = serializers.IntegerField()
    stuck = serializers.IntegerField()


class TaskSummary(serializers.Serializer[None]):
    count = serializers.IntegerField()
    values = TaskCount(many=True)
