"""Addresses of the release operations and tasks. Transitions and versions have a second address (D1)."""

from django.urls import path

from elements.api.urls import ELEMENT
from release.api.agent_viewset import AgentViewSet
from release.api.hand_over_viewset import HandOverViewSet
from release.api.release_viewset import ReleaseViewSet
from release.api.task_viewset import TaskViewSet
from storage.api.viewset import reads

API = "<str:collectionId>/<str:storageId>/_api"
TASKS = f"{API}/rest/tasks"
TASK = f"{TASKS}/<str:taskId>"

urlpatterns = [
    path(f"{API}/mcp", AgentViewSet.as_view({"post": "create"})),
    path(f"{API}/rest/handover", HandOverViewSet.as_view({"post": "create"})),
    path(f"{API}/rest/handover/<str:bulkId>", HandOverViewSet.as_view(reads("retrieve"))),
    path(f"{API}/rest/handover/<str:bulkId>/stop", HandOverViewSet.as_view({"post": "stop_hand_over"})),
    path(f"{ELEMENT}/lifecycle", ReleaseViewSet.as_view(reads("list_lifecycle"))),
    path(TASKS, TaskViewSet.as_view(reads("list"))),
    path(f"{TASKS}/summary", TaskViewSet.as_view(reads("summarise_tasks"))),
    path(TASK, TaskViewSet.as_view(reads("retrieve"))),
    path(f"{TASK}/accept", TaskViewSet.as_view({"post": "accept_task"})),
    path(f"{TASK}/reject", TaskViewSet.as_view({"post": "reject_task"})),
    path(f"{TASK}/withdraw", TaskViewSet.as_view({"post": "withdraw_task"})),
    path(f"{TASK}/delegate", TaskViewSet.as_view({"post": "delegate_task"})),
]
for prefix, suffix in (("release", ""), ("rest/release", "UnderRest")):
    element = f"{API}/{prefix}/<str:elementId>"
    transition = f"{element}/transitions/<str:transitionId>"
    urlpatterns += [
        path(
            f"{element}/transitions",
            ReleaseViewSet.as_view({**reads("list_transitions"), "post": "list_transitions_by_post"}, id_suffix=suffix),
        ),
        path(transition, ReleaseViewSet.as_view({"post": "apply_transition"}, id_suffix=suffix)),
        path(
            f"{transition}/<str:ignoreWarnings>",
            ReleaseViewSet.as_view({"post": "apply_transition_ignoring_warnings"}, id_suffix=suffix),
        ),
        path(f"{element}/createversion", ReleaseViewSet.as_view({"post": "create_version"}, id_suffix=suffix)),
    ]
